import type { ToolOutcome } from '../../delivery/delivery.ts';
import type { Reply } from './reply.ts';

interface Telling {
  outcome: ToolOutcome;
  done(heard: boolean): void;
  /** Set while it is being told. */
  reply: Reply | undefined;
}

/** Results of tools that wait to be told, one after the other. */
export class Outcomes {
  #waiting: Telling[] = [];

  /** `done` says whether any of it was heard. */
  add(outcome: ToolOutcome, done: (heard: boolean) => void): void {
    this.#waiting.push({ outcome, done, reply: undefined });
  }

  /** The reply that tells the next one, if any waits. */
  next(create: (outcome: ToolOutcome) => Reply): Reply | undefined {
    const [first] = this.#waiting;
    if (first === undefined) return undefined;
    first.reply = create(first.outcome);
    return first.reply;
  }

  /** A reply was heard to its end. */
  over(reply: Reply): void {
    if (this.#waiting[0]?.reply === reply) this.#waiting.shift()?.done(reply.wasHeard);
  }

  /** The caller has taken the turn: none is told now. */
  interrupted(): void {
    for (const { reply, done } of this.#waiting.splice(0)) done(reply?.wasHeard === true);
  }
}
