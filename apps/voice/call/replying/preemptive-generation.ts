import type { DecisionLog } from '../turns/decisions.ts';
import { wordsIn } from '../turns/short-phrase.ts';
import type { Reply } from './reply.ts';

const mostPerUserTurn = 4;
/** Once so many were started, only what seems whole gets another: pauses to think leave some for the end of the turn. */
const mostForUnfinished = 2;
const transcriptChanged = 'the transcript has changed';

/** What speaks for a reply before the turn has ended. */
export type DraftReason = 'seems whole' | 'may be all that is said';

/** A reply that is generated before the end of the caller's turn is certain; at most one at a time. */
export class PreemptiveGeneration {
  readonly #decisions: Pick<DecisionLog, 'note'>;
  #reply: Reply | undefined;
  #started = 0;

  constructor(decisions: Pick<DecisionLog, 'note'>) {
    this.#decisions = decisions;
  }

  /** The one to this text, if there is one. */
  find(text: string): Reply | undefined {
    return this.#reply !== undefined && isSameQuestion(this.#reply.text, text) ? this.#reply : undefined;
  }

  /** Starts one, unless there is one to the same text or too many were thrown away. */
  start(text: string, why: DraftReason, create: () => Reply): void {
    const most = why === 'seems whole' ? mostPerUserTurn : mostForUnfinished;
    if (this.find(text) !== undefined || this.#started >= most) return;
    this.cancel(transcriptChanged);
    this.#started += 1;
    this.#decisions.note('draft', `"${text}" ${why}`);
    this.#reply = create();
  }

  /** The one to this text, if there is one; any other is cancelled. */
  take(text: string): Reply | undefined {
    const reply = this.find(text);
    if (reply === undefined) this.cancel(transcriptChanged);
    this.#reply = undefined;
    return reply;
  }

  cancel(reason: string): void {
    if (this.#reply === undefined) return;
    this.#reply.abandon();
    this.#reply = undefined;
    this.#decisions.note('draft-discarded', reason);
  }

  /** The next user turn may start as many again. */
  renew(): void {
    this.#started = 0;
  }
}

/** The same words, asked or said: a recogniser changes its mind about commas and capitals. */
function isSameQuestion(left: string, right: string): boolean {
  const asks = (text: string) => /\p{Po}*[?？؟]\p{Po}*$/u.test(text.trim());
  return asks(left) === asks(right) && wordsIn(left).join(' ') === wordsIn(right).join(' ');
}
