import type { DurableOptions, Member } from '../delivery/durable-delivery.ts';
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
  readonly #feeds = new Map<string, Promise<DurableFeed>>();
  /** Those with subscribers, or with handlers at work. */
  readonly #open = new Set<DurableFeed>();
  #closed = false;

  constructor(index: TopicIndex<Sink>, context: FeedContext) {
    this.#index = index;
    this.#context = context;
  }

  get size(): number {
    return [...this.#open].reduce((sum, feed) => sum + feed.delivery.members, 0);
  }

  get queued(): number {
    return [...this.#open].reduce((sum, feed) => sum + feed.delivery.queued, 0);
  }

  get idle(): boolean {
    return [...this.#open].every((feed) => feed.delivery.idle);
  }

  async add(options: DurableOptions, member: Member): Promise<Subscription> {
    const feed = await this.#feed(options);
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
    for (const feed of this.#open) if (feed.name === name) feed.deliver(message, position);
  }

  async moveCursor(name: string, after: number): Promise<void> {
    const feed = await this.#feeds.get(name);
    feed?.detach();
    const position = await this.#context.journal.call('moveCursor', name, after);
    if (position === undefined) throw unknownName(name);
    feed?.moveTo(position);
  }

  /** Saves all cursors and gives the names in use. */
  checkpoint(): string[] {
    for (const feed of this.#open) feed.checkpoint();
    return [...this.#open].filter((feed) => feed.delivery.members > 0).map((feed) => feed.name);
  }

  drop(names: readonly string[]): void {
    for (const name of names) this.#feeds.delete(name);
  }

  /** Starts no handler any more. */
  close(): void {
    this.#closed = true;
    for (const feed of this.#open) feed.delivery.close();
  }

  async #feed(options: DurableOptions): Promise<DurableFeed> {
    const known = this.#feeds.get(options.name);
    if (known !== undefined) return known;
    const opening = this.#openFeed(options);
    this.#feeds.set(options.name, opening);
    opening.catch(() => this.#feeds.delete(options.name));
    return opening;
  }

  async #openFeed(options: DurableOptions): Promise<DurableFeed> {
    const cursor = await this.#context.journal.call('openCursor', options.name, options.pattern);
    return new DurableFeed(options, cursor, this.#context);
  }

  #attach(feed: DurableFeed, options: DurableOptions): void {
    if (this.#closed) throw new BusError('stopped', 'The bus has stopped: nothing can subscribe any more.');
    this.#open.add(feed);
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
    this.#open.delete(feed);
    this.#feeds.delete(feed.name);
    await this.#context.journal.call('forgetCursor', feed.name);
  }
}

function unknownName(name: string): BusError {
  return new BusError('durable_unknown', `No durable subscription has the name ${JSON.stringify(name)}.`);
}
