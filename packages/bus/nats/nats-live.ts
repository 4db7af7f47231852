import type { Msg } from '@nats-io/transport-node';
import { type DeliveryContext, type LiveOptions, LiveSubscription } from '../delivery/live-subscription.ts';
import type { Subscription } from '../port.ts';
import type { DurableTopics } from '../topics/topic-index.ts';
import type { Connection } from './connection.ts';
import { filterOf, onlyFor, readMessage } from './resources.ts';

const rememberedIds = 2000;

/** The subscriptions without a cursor: plain NATS subscriptions, whose groups are NATS queue groups. */
export class NatsLive {
  readonly #connection: Connection;
  readonly #prefix: string;
  readonly #durableTopics: DurableTopics;
  readonly #context: DeliveryContext;
  #size = 0;

  constructor(
    connection: Connection,
    prefix: string,
    durableTopics: DurableTopics,
    context: DeliveryContext,
  ) {
    this.#connection = connection;
    this.#prefix = prefix;
    this.#durableTopics = durableTopics;
    this.#context = context;
  }

  get size(): number {
    return this.#size;
  }

  async add(options: LiveOptions, group: string | undefined): Promise<Subscription> {
    const { pattern } = options;
    const subscription = new LiveSubscription(options, this.#context);
    this.#size += 1;
    const receive = this.#receiver(subscription);
    const source = this.#connection.nats.subscribe(filterOf(this.#prefix, pattern), {
      ...(group === undefined ? {} : { queue: group }),
      callback: (error, message) => (error === null ? receive(message) : this.#lost(pattern, error)),
    });
    await this.#connection.flush();
    const unsubscribe = async () => {
      if (!subscription.close()) return;
      this.#size -= 1;
      source.unsubscribe();
    };
    return { pattern, unsubscribe, forget: unsubscribe };
  }

  /** A journalled message can come twice, when its publisher had to send it again: the second is left out. */
  #receiver(subscription: LiveSubscription): (received: Msg) => void {
    const seen = new RecentSet<string>(rememberedIds);
    return (received) => {
      if (onlyFor(received) !== undefined) return;
      const message = readMessage(received, this.#context.logger);
      if (message === undefined) return;
      if (this.#durableTopics.has(message.topic)) {
        if (seen.has(message.id)) return;
        seen.add(message.id);
      }
      subscription.deliver(message);
    };
  }

  #lost(pattern: string, error: Error): void {
    this.#context.logger.error({ pattern, err: error }, 'NATS ended subscription');
  }
}

/** Remembers the last so many items it was given. */
export class RecentSet<Item> {
  readonly #limit: number;
  readonly #items = new Set<Item>();

  constructor(limit: number) {
    this.#limit = limit;
  }

  has(item: Item): boolean {
    return this.#items.has(item);
  }

  add(item: Item): void {
    this.#items.add(item);
    if (this.#items.size <= this.#limit) return;
    for (const oldest of this.#items) {
      this.#items.delete(oldest);
      return;
    }
  }

  clear(): void {
    this.#items.clear();
  }
}
