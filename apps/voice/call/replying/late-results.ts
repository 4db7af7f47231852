import type { ToolOutcome } from '../../delivery/delivery.ts';
import type { Reply } from './reply.ts';

interface LateResult {
  outcome: ToolOutcome;
  done(heard: boolean): void;
  /** Set while a reply announces it. */
  reply: Reply | undefined;
}

/** Results of tools that wait to be announced, one after the other. */
export class LateResults {
  #waiting: LateResult[] = [];

  /** `done` reports whether any of it was heard. */
  add(outcome: ToolOutcome, done: (heard: boolean) => void): void {
    this.#waiting.push({ outcome, done, reply: undefined });
  }

  /** The reply that announces the next one, if any waits. */
  next(create: (outcome: ToolOutcome) => Reply): Reply | undefined {
    const [first] = this.#waiting;
    if (first === undefined) return undefined;
    first.reply = create(first.outcome);
    return first.reply;
  }

  onFinished(reply: Reply): void {
    if (this.#waiting[0]?.reply === reply) this.#waiting.shift()?.done(reply.wasHeard);
  }

  /** The caller has taken the turn: all of them are given back. */
  onInterruption(): void {
    for (const { reply, done } of this.#waiting.splice(0)) done(reply?.wasHeard === true);
  }
}
