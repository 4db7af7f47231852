import type { ToolOutcome } from '../../delivery/delivery.ts';
import type { Reply } from './reply.ts';

/** A tool's result that came after its turn, and waits to be announced. */
interface LateResult {
  outcome: ToolOutcome;
  /** Reports whether any of it was heard. */
  done(heard: boolean): void;
  /** Set while a reply announces it. */
  reply?: Reply;
}

/** Results of tools that came late, announced one after the other. */
export class LateResults {
  readonly #waiting: LateResult[] = [];

  add(outcome: ToolOutcome, done: (heard: boolean) => void): void {
    this.#waiting.push({ outcome, done });
  }

  /** A reply that announces the next one; undefined if none waits. */
  announceNext(create: (outcome: ToolOutcome) => Reply): Reply | undefined {
    const [late] = this.#waiting;
    if (late !== undefined) late.reply = create(late.outcome);
    return late?.reply;
  }

  /** The reply is over, which may have announced one. */
  finish(reply: Reply): void {
    if (this.#waiting[0]?.reply === reply) this.#waiting.shift()?.done(reply.wasHeard);
  }

  /** The bot was stopped: what was not heard is announced another time. */
  drop(): void {
    for (const late of this.#waiting.splice(0)) late.done(late.reply?.wasHeard === true);
  }
}
