import type { AnswerEvent } from './completion.ts';

/**
 * What whoever waits should know beside the answer: that the call is tried again, that the model takes no tools, that
 * earlier messages were summarised. It is sent as reasoning once the answer has begun: a failure before that has a
 * status of its own, which a frame would cost it.
 */
export class CallNotes {
  #held: AnswerEvent[] = [];
  #hasBegun = false;

  /** What can be sent now. */
  add(text: string): AnswerEvent[] {
    this.#held.push({ type: 'reasoning-delta', text: `${text}\n` });
    return this.#hasBegun ? this.begin() : [];
  }

  /** Call it before the first piece of the answer: what was held goes first. */
  begin(): AnswerEvent[] {
    this.#hasBegun = true;
    return this.#held.splice(0);
  }
}
