import type { Message } from '../port.ts';
import type { LiveSubscription } from './live-subscription.ts';

/** Subscriptions of one pattern and group: each message goes to the next of them in turn. */
export class LiveGroup {
  readonly #members: LiveSubscription[] = [];
  #next = 0;

  get empty(): boolean {
    return this.#members.length === 0;
  }

  join(member: LiveSubscription): void {
    this.#members.push(member);
  }

  leave(member: LiveSubscription): void {
    this.#members.splice(this.#members.indexOf(member), 1);
  }

  deliver(message: Message): void {
    this.#next = (this.#next + 1) % this.#members.length;
    this.#members[this.#next]?.deliver(message);
  }
}
