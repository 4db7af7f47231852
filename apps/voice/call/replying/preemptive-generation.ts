import type { Reply } from './reply.ts';

const mostPerUserTurn = 4;
/** Once so many were started, only what seems whole gets another: pauses to think leave some for the end of the turn. */
const mostForUnfinished = 2;
const transcriptChanged = 'the transcript has changed';

/** A reply that is generated before the end of the caller's turn is certain; at most one at a time. */
export class PreemptiveGeneration {
  readonly #onDiscarded: (reason: string) => void;
  #reply: Reply | undefined;
  #started = 0;

  constructor(onDiscarded: (reason: string) => void) {
    this.#onDiscarded = onDiscarded;
  }

  get current(): Reply | undefined {
    return this.#reply;
  }

  /** Starts one, unless there is one to the same text or too many were thrown away. */
  start(text: string, seemsWhole: boolean, create: () => Reply): void {
    const most = seemsWhole ? mostPerUserTurn : mostForUnfinished;
    if (this.#reply?.text === text || this.#started >= most) return;
    this.cancel(transcriptChanged);
    this.#started += 1;
    this.#reply = create();
  }

  /** The one to this text, if there is one; any other is cancelled. */
  take(text: string): Reply | undefined {
    const reply = this.#reply;
    if (reply?.text !== text) this.cancel(transcriptChanged);
    this.#reply = undefined;
    return reply?.text === text ? reply : undefined;
  }

  cancel(reason: string): void {
    if (this.#reply === undefined) return;
    this.#reply.abandon();
    this.#reply = undefined;
    this.#onDiscarded(reason);
  }

  /** The next user turn may start as many again. */
  renew(): void {
    this.#started = 0;
  }
}
