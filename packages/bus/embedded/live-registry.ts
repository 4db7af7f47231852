import { LiveGroup } from '../delivery/live-group.ts';
import { type DeliveryContext, type LiveOptions, LiveSubscription } from '../delivery/live-subscription.ts';
import type { Message, Subscription } from '../port.ts';
import type { TopicIndex } from '../topics/topic-index.ts';

/** Takes the messages of a pattern; the position is 0 for those that are not journalled. */
export interface Sink {
  deliver(message: Message, position: number): void;
}

/** The subscriptions without a cursor. */
export class LiveRegistry {
  readonly #index: TopicIndex<Sink>;
  readonly #context: DeliveryContext;
  readonly #groups = new Map<string, LiveGroup>();
  #size = 0;

  constructor(index: TopicIndex<Sink>, context: DeliveryContext) {
    this.#index = index;
    this.#context = context;
  }

  get size(): number {
    return this.#size;
  }

  add(options: LiveOptions, group: string | undefined): Subscription {
    const subscription = new LiveSubscription(options, this.#context);
    const { pattern } = options;
    this.#size += 1;
    if (group === undefined) this.#index.add(pattern, subscription);
    else this.#join(pattern, group, subscription);
    const unsubscribe = async () => this.#remove(pattern, group, subscription);
    return { pattern, unsubscribe, forget: unsubscribe };
  }

  #join(pattern: string, group: string, member: LiveSubscription): void {
    const key = `${group} ${pattern}`;
    const known = this.#groups.get(key);
    const members = known ?? new LiveGroup();
    members.join(member);
    if (known !== undefined) return;
    this.#groups.set(key, members);
    this.#index.add(pattern, members);
  }

  #remove(pattern: string, group: string | undefined, subscription: LiveSubscription): void {
    if (!subscription.close()) return;
    this.#size -= 1;
    if (group === undefined) this.#index.remove(pattern, subscription);
    else this.#leave(pattern, group, subscription);
  }

  #leave(pattern: string, group: string, member: LiveSubscription): void {
    const key = `${group} ${pattern}`;
    const members = this.#groups.get(key);
    members?.leave(member);
    if (members === undefined || !members.empty) return;
    this.#groups.delete(key);
    this.#index.remove(pattern, members);
  }
}
