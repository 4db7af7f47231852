import type { DurableOptions, Entry, Member, RetryPolicy } from '../delivery/attempts.ts';
import { DurableDelivery } from '../delivery/durable-delivery.ts';
import type { DeliveryContext } from '../delivery/live-subscription.ts';
import { checkSameDurable } from '../delivery/requests.ts';
import { BusError, unknownDurable } from '../errors.ts';
import { decodeMessage } from '../message.ts';
import type { Message, Subscription } from '../port.ts';
import type { TopicIndex } from '../topics/topic-index.ts';
import type { Sink } from './appender.ts';
import type { CursorSaver } from './cursor-saver.ts';
import type { Page } from './journal/message-table.ts';
import type { Cursor } from './journal/progress-table.ts';
import type { JournalThread } from './journal/thread.ts';

const pageSize = 500;

const readAgainMs = 1000;

/**
 * So many entries after a start may have been begun by a former process. Each is counted before it begins, and that
 * takes longer than it takes to save the cursor behind the one before it: should one end the process, it is known which.
 */
const suspectEntries = 100;

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

  deliveries(): DurableDelivery[] {
    return [...this.#feeds.values()].map(({ delivery }) => delivery);
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
    if (position === undefined) throw unknownDurable(name);
  }

  /** Saves all cursors and gives the names in use. */
  checkpoint(): string[] {
    const used = [...this.#feeds.values()].filter((feed) => feed.delivery.members > 0);
    for (const feed of used) feed.checkpoint();
    return used.map((feed) => feed.name);
  }

  /** Drops names that the journal has forgotten. */
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

interface FeedContext {
  delivery: DeliveryContext;
  retry: RetryPolicy;
  journal: JournalThread;
  saver: CursorSaver;
  /** The last position that was handed to all feeds. */
  committed(): number;
}

/**
 * Brings journalled messages to one durable name. As long as its queue has room, messages come straight from their
 * publishers; when it falls behind, the rest waits in the journal and is read from there until it has caught up.
 */
class DurableFeed {
  readonly delivery: DurableDelivery;
  readonly #context: FeedContext;
  /** Offered and not finished, in rising order. */
  readonly #outstanding = new Set<number>();
  /** Everything up to here was offered or is not for this name. Not kept while live: then it is all. */
  #scanned: number;
  #live = false;
  #reading = false;
  #moving = false;
  /** Counts the times the feed was set to another position; pages read before are void. */
  #generation = 0;
  /** Entries that a former process may have begun. */
  #suspects: number;

  constructor(options: DurableOptions, cursor: Cursor, context: FeedContext) {
    this.#context = context;
    this.#scanned = cursor.position;
    this.#suspects = cursor.created ? 0 : suspectEntries;
    const { delivery, retry } = context;
    this.delivery = new DurableDelivery(options, retry, this.#ledger(), delivery, () => this.refill());
  }

  get name(): string {
    return this.delivery.options.name;
  }

  /** A message that was just journalled. */
  deliver(message: Message, position: number): void {
    if (!this.#live || this.#offer(message, position)) return;
    this.#live = false;
    this.#scanned = position - 1;
  }

  /** Reads on when the feed is behind and there is room. */
  refill(): void {
    if (this.#live || this.#reading || this.#moving) return;
    if (this.delivery.members === 0 || this.delivery.room === 0) return;
    if (this.#scanned >= this.#context.committed()) this.#live = true;
    else void this.#read();
  }

  /** Stops taking messages until `resume`; gives back what no handler has begun. */
  pause(): void {
    this.#generation += 1;
    if (this.#live) this.#scanned = this.#context.committed();
    this.#live = false;
    const [firstWaiting, ...others] = this.delivery.reset();
    if (firstWaiting === undefined) return;
    for (const { position } of [firstWaiting, ...others]) this.#outstanding.delete(position);
    this.#scanned = firstWaiting.position - 1;
  }

  resume(options: DurableOptions): void {
    this.delivery.options = options;
    this.refill();
  }

  /** Pauses for a move of the cursor: what handlers at work finish meanwhile does not count. */
  detach(): void {
    this.#moving = true;
    this.pause();
    this.#outstanding.clear();
    this.#context.saver.drop(this.name);
  }

  /** Goes on from the position, or where it was when it could not be moved. */
  moveTo(position: number | undefined): void {
    this.#moving = false;
    if (position !== undefined) this.#scanned = position;
    this.refill();
  }

  /** Saves how far the feed is, also past messages that are not for it. */
  checkpoint(): void {
    if (!this.#moving) this.#context.saver.save(this.name, this.#cursor());
  }

  #cursor(): number {
    const [first] = this.#outstanding;
    if (first !== undefined) return first - 1;
    return this.#live ? this.#context.committed() : this.#scanned;
  }

  /** What is finished while something before it is still at work is noted by itself: the cursor cannot pass yet. */
  #finish(position: number): void {
    if (!this.#outstanding.delete(position)) return;
    const cursor = this.#cursor();
    if (position > cursor) this.#context.saver.saveFinished(this.name, cursor, position);
    else this.checkpoint();
  }

  #offer(message: Message, position: number): boolean {
    if (!this.delivery.offer({ position, message, redelivered: this.#suspects > 0 })) return false;
    this.#suspects = Math.max(0, this.#suspects - 1);
    this.#outstanding.add(position);
    return true;
  }

  async #read(): Promise<void> {
    this.#reading = true;
    const generation = this.#generation;
    try {
      while (generation === this.#generation && !this.#live && this.#wantsMore()) {
        const page = await this.#nextPage();
        if (generation === this.#generation) this.#take(page);
      }
    } catch (error) {
      const details = { durable: this.name, err: error };
      this.#context.delivery.logger.error(details, 'failed to read journal; retrying');
      setTimeout(() => this.refill(), readAgainMs).unref();
    }
    this.#reading = false;
    if (generation !== this.#generation) this.refill();
  }

  #wantsMore(): boolean {
    return this.delivery.room * 2 >= this.delivery.options.queueLimit;
  }

  #nextPage(): Promise<Page> {
    const { pattern, name } = this.delivery.options;
    const limit = Math.min(pageSize, this.delivery.room);
    return this.#context.journal.call('readForward', this.#scanned, pattern, name, limit);
  }

  #take(page: Page): void {
    for (const [position, body] of page.found) {
      if (!this.#offer(decodeMessage(body), position)) return;
      this.#scanned = position;
    }
    this.#scanned = page.scannedTo;
    this.#live = this.#scanned >= this.#context.committed();
  }

  #ledger() {
    const { journal } = this.#context;
    return {
      attempts: ({ position }: Entry) => journal.call('attempts', this.name, position),
      record: ({ position }: Entry, attempts: number) =>
        journal.call('record', this.name, position, attempts),
      bury: ({ position, message }: Entry, attempts: number, error: string) =>
        journal.call('bury', this.name, position, attempts, error, JSON.stringify(message)),
      finish: ({ position }: Entry) => this.#finish(position),
    };
  }
}
