import { setTimeout as delay } from 'node:timers/promises';
import {
  type AttemptContext,
  type DurableOptions,
  type Entry,
  handleEntry,
  type Ledger,
  type Member,
  type RetryPolicy,
} from './attempts.ts';
import { BoundedQueue, type DeliveryContext, type Runnable } from './live-subscription.ts';

const checkEveryMs = 5;

/**
 * Hands the entries of one durable name to its members: in order, one at a time, or `concurrency`, or that many to
 * each member of a group.
 */
export class DurableDelivery implements Runnable {
  options: DurableOptions;
  readonly #attempts: AttemptContext;
  readonly #context: DeliveryContext;
  readonly #refill: () => void;
  readonly #queue: BoundedQueue<Entry>;
  readonly #closing = new AbortController();
  readonly #running = new Map<Member, number>();
  #total = 0;
  #scheduled = false;

  constructor(
    options: DurableOptions,
    retry: RetryPolicy,
    ledger: Ledger,
    context: DeliveryContext,
    refill: () => void,
  ) {
    this.options = options;
    this.#context = context;
    const closing = this.#closing.signal;
    this.#attempts = { options: () => this.options, ledger, retry, delivery: context, closing };
    this.#refill = refill;
    this.#queue = new BoundedQueue(options.queueLimit);
  }

  get room(): number {
    return this.#closing.signal.aborted ? 0 : this.#queue.room;
  }

  get queued(): number {
    return this.#queue.length;
  }

  /** Handlers that could start beyond those for what waits already. */
  get free(): number {
    const { concurrency, group } = this.options;
    const capacity = group === undefined ? concurrency : concurrency * this.#running.size;
    return Math.max(0, capacity - this.#total - this.#queue.length);
  }

  get members(): number {
    return this.#running.size;
  }

  /** No handler is at work. */
  get idle(): boolean {
    return this.#total === 0;
  }

  join(member: Member): void {
    this.#running.set(member, 0);
    this.#schedule();
  }

  /** False when it has left already. */
  leave(member: Member): boolean {
    return this.#running.delete(member);
  }

  /** Takes an entry if there is room. */
  offer(entry: Entry): boolean {
    if (this.#closing.signal.aborted || !this.#queue.push(entry)) return false;
    this.#schedule();
    return true;
  }

  /** Gives back what waits; handlers at work go on. */
  reset(): Entry[] {
    return this.#queue.clear();
  }

  /** Starts nothing any more; what waits, or waits for its next attempt, is left to be redelivered. */
  close(): void {
    this.#closing.abort();
    this.#queue.clear();
  }

  run(budget: number): boolean {
    for (let left = budget; left > 0 && this.#queue.length > 0; left -= 1) {
      const member = this.#freeMember();
      if (member === undefined) break;
      this.#start(member);
    }
    this.#refillWhenLow();
    this.#scheduled = this.#queue.length > 0 && this.#freeMember() !== undefined;
    return this.#scheduled;
  }

  #refillWhenLow(): void {
    if (this.#queue.length * 2 <= this.#queue.limit) this.#refill();
  }

  #schedule(): void {
    if (this.#scheduled || this.#queue.length === 0 || this.#freeMember() === undefined) return;
    this.#scheduled = true;
    this.#context.loop.add(this);
  }

  /** The member with the fewest handlers at work, unless all that may work do. */
  #freeMember(): Member | undefined {
    const { concurrency, group } = this.options;
    if (group === undefined && this.#total >= concurrency) return undefined;
    let best: Member | undefined;
    let least = concurrency;
    for (const [member, running] of this.#running) {
      if (running >= least) continue;
      best = member;
      least = running;
    }
    return best;
  }

  #start(member: Member): void {
    const entry = this.#queue.shift();
    if (entry === undefined) return;
    this.#count(member, 1);
    const end = () => {
      this.#count(member, -1);
      this.#schedule();
      this.#refillWhenLow();
    };
    handleEntry(entry, member, this.#attempts).then(end, (error: unknown) => {
      const details = { durable: this.options.name, messageId: entry.message.id, err: error };
      this.#context.logger.error(details, 'failed to finish message; redelivered after restart');
      end();
    });
  }

  /** A member that ran now is asked last next time, so that members take turns. */
  #count(member: Member, change: number): void {
    this.#total += change;
    const running = this.#running.get(member);
    if (running === undefined) return;
    if (change > 0) this.#running.delete(member);
    this.#running.set(member, running + change);
  }
}

/** Waits until nothing is at work any more; false when that took too long. */
export async function drained(idle: () => boolean, timeoutMs: number): Promise<boolean> {
  const deadline = performance.now() + timeoutMs;
  while (!idle()) {
    if (performance.now() > deadline) return false;
    await delay(checkEveryMs);
  }
  return true;
}
