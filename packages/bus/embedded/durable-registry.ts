import type { DurableOptions, Member } from '../delivery/attempts.ts';
import { checkSameDurable } from '../delivery/subscribe-options.ts';
import { BusError } from '../errors.ts';
import type { Message, Subscription } from '../port.ts';
import type { TopicIndex } from '../topics/topic-index.ts';
import { DurableFeed, type FeedContext } from './durable-feed.ts';
import type { Sink } from './live-registry.ts';

/** The durable names that were subscribed to since the start, each with its feed. */
export class DurableRegistry {
  readonly #index: TopicIndex<Sink>;
  readonly #context: FeedContext;
  /** Kept when the last subscriber leaves: handlers at work still finish on it. */
  readonly #feeds = new Map<string, DurableFeed>();
  #closed = false;

  constructor(index: TopicIndex<Sink>, context: FeedContext) {
    this.#index = index;
    this.#context = context;
  }

  get size(): number {
    return [...this.#feeds.values()].reduce((sum, feed) => sum + feed.delivery.members, 0);
  }

  get queued(): number {
    return [...this.#feeds.values()].reduce((sum, feed) => sum + feed.delivery.queued, 0);
  }

  get idle(): boolean {
    return [...this.#feeds.values()].every((feed) => feed.delivery.idle);
  }

  async add(options: DurableOptions, member: Member): Promise<Subscription> {
    const cursor = await this.#context.journal.call('openCursor', options.name);
    const feed = this.#feeds.get(options.name) ?? new DurableFeed(options, cursor, this.#context);
    if (feed.delivery.members > 0) checkSameDurable(feed.delivery.options, options);
    else this.#attach(feed, options);
    feed.delivery.join(member);
    feed.refill();
    return {
      pattern: options.pattern,
      unsubscribe: async () => this.#leave(feed, member),
      forget: () => this.#forget(feed, member),
    };
  }

  /** Hands a replayed dead letter to its name alone, if it has a subscriber now; otherwise it waits in the journal. */
  deliverTo(name: string, message: Message, position: number): void {
    this.#feeds.get(name)?.deliver(message, position);
  }

  async moveCursor(name: string, after: number): Promise<void> {
    const feed = this.#feeds.get(name);
    feed?.detach();
    let position: number | undefined;
    try {
      position = await this.#context.journal.call('moveCursor', name, after);
    } finally {
      feed?.moveTo(position);
    }
    if (position === undefined) throw unknownName(name);
  }

  /** Saves all cursors and gives the names in use. */
  checkpoint(): string[] {
    const used = [...this.#feeds.values()].filter((feed) => feed.delivery.members > 0);
    for (const feed of used) feed.checkpoint();
    return used.map((feed) => feed.name);
  }

  /** Lets go of names that the journal has forgotten. */
  drop(names: readonly string[]): void {
    for (const name of names) this.#feeds.delete(name);
  }

  /** Starts no handler any more. */
  close(): void {
    this.#closed = true;
    for (const feed of this.#feeds.values()) feed.delivery.close();
  }

  #attach(feed: DurableFeed, options: DurableOptions): void {
    if (this.#closed) throw new BusError('stopped', 'The bus has stopped: nothing can subscribe any more.');
    this.#feeds.set(feed.name, feed);
    this.#index.add(options.pattern, feed);
    feed.resume(options);
  }

  #leave(feed: DurableFeed, member: Member): void {
    if (!feed.delivery.leave(member) || feed.delivery.members > 0) return;
    this.#index.remove(feed.delivery.options.pattern, feed);
    feed.pause();
    feed.checkpoint();
  }

  async #forget(feed: DurableFeed, member: Member): Promise<void> {
    this.#leave(feed, member);
    if (feed.delivery.members > 0) return;
    feed.detach();
    this.#feeds.delete(feed.name);
    await this.#context.journal.call('forgetCursor', feed.name);
  }
}

function unknownName(name: string): BusError {
  return new BusError('durable_unknown', `No durable subscription has the name ${JSON.stringify(name)}.`);
}
