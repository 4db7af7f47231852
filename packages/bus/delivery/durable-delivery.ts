import { setTimeout as delay } from 'node:timers/promises';
import { BusError, messageOf } from '../errors.ts';
import type { Handler, Message } from '../port.ts';
import { BoundedQueue } from './bounded-queue.ts';
import type { Runnable } from './dispatch-loop.ts';
import type { DeliveryContext } from './live-subscription.ts';

/** A journalled message on its way to a durable subscription. */
export interface Entry {
  readonly position: number;
  readonly message: Message;
  /** True when an earlier process may have begun to handle it. */
  readonly redelivered: boolean;
}

/** Where an engine keeps how far a durable name has come. */
export interface Ledger {
  /** How often handling was begun or failed, as far as recorded. */
  attempts(entry: Entry): Promise<number>;
  record(entry: Entry, attempts: number): Promise<void>;
  /** The entry is done with and needs no redelivery. */
  finish(entry: Entry): void;
  /** Puts the entry among the dead letters. */
  bury(entry: Entry, attempts: number, error: string): Promise<void>;
}

export interface DurableOptions {
  name: string;
  pattern: string;
  group: string | undefined;
  concurrency: number;
  queueLimit: number;
}

export interface RetryPolicy {
  maxAttempts: number;
  /** Before the second attempt; doubled for each further one, up to `longestRetryDelayMs`. */
  delayMs: number;
}

export interface Member {
  readonly handler: Handler;
  readonly plugin: string | undefined;
}

const longestRetryDelayMs = 5000;

/**
 * Hands the entries of one durable name to its members: in order, one at a time (or `concurrency`, or that many for
 * each member of a group), again after a failure, and to the dead letters after the last attempt.
 */
export class DurableDelivery implements Runnable {
  options: DurableOptions;
  readonly #ledger: Ledger;
  readonly #retry: RetryPolicy;
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
    this.#retry = retry;
    this.#ledger = ledger;
    this.#context = context;
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
    this.#handle(entry, member).then(end, (error: unknown) => {
      this.#warn(entry, error, 'A message was left unfinished; it comes again after a restart');
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

  async #handle(entry: Entry, member: Member): Promise<void> {
    const before = entry.redelivered ? await this.#begunBefore(entry) : 0;
    if (before >= this.#retry.maxAttempts) return this.#bury(entry, before, crashWords(before));
    for (let attempt = before + 1; !this.#closing.signal.aborted; attempt += 1) {
      const failure = await this.#attempt(entry, member, attempt);
      if (failure === undefined) return this.#ledger.finish(entry);
      if (attempt >= this.#retry.maxAttempts) return this.#bury(entry, attempt, failure.words);
      await this.#record(entry, attempt);
      await this.#pause(attempt);
    }
  }

  /** Counts the coming attempt before it begins: should it end the process, the next one knows. */
  async #begunBefore(entry: Entry): Promise<number> {
    const before = await this.#recorded(entry);
    if (before < this.#retry.maxAttempts) await this.#record(entry, before + 1);
    return before;
  }

  async #recorded(entry: Entry): Promise<number> {
    try {
      return await this.#ledger.attempts(entry);
    } catch (error) {
      this.#warn(entry, error, 'The number of attempts could not be read');
      return 0;
    }
  }

  /** A count that cannot be kept only means that the message may get more attempts. */
  async #record(entry: Entry, attempts: number): Promise<void> {
    try {
      await this.#ledger.record(entry, attempts);
    } catch (error) {
      this.#warn(entry, error, 'The number of attempts was not kept');
    }
  }

  #warn({ message }: Entry, error: unknown, words: string): void {
    const details = { durable: this.options.name, messageId: message.id, err: error };
    this.#context.logger.warn(details, words);
  }

  async #attempt(entry: Entry, member: Member, attempt: number): Promise<{ words: string } | undefined> {
    try {
      await member.handler(entry.message, { attempt, signal: this.#context.signal });
      return undefined;
    } catch (error) {
      this.#report(entry, member, attempt, error);
      return { words: messageOf(error) };
    }
  }

  #report(entry: Entry, member: Member, attempt: number, error: unknown): void {
    const { name, pattern } = this.options;
    const buried = attempt >= this.#retry.maxAttempts;
    const { message } = entry;
    this.#context.failures.report({
      message,
      pattern,
      plugin: member.plugin,
      error,
      attempt,
      durable: name,
      buried,
    });
  }

  /** Never gives up before the dead letter is stored, unless the bus stops: then the entry is redelivered. */
  async #bury(entry: Entry, attempts: number, words: string): Promise<void> {
    for (let round = 1; !this.#closing.signal.aborted; round += 1) {
      try {
        await this.#ledger.bury(entry, attempts, words);
        return this.#ledger.finish(entry);
      } catch (error) {
        this.#warn(entry, error, 'A dead letter could not be stored; trying again');
        if (error instanceof BusError && error.code === 'stopped') return;
        await this.#pause(round);
      }
    }
  }

  async #pause(round: number): Promise<void> {
    const milliseconds = Math.min(this.#retry.delayMs * 2 ** (round - 1), longestRetryDelayMs);
    try {
      await delay(milliseconds, undefined, { signal: this.#closing.signal });
    } catch (error) {
      if (!this.#closing.signal.aborted) throw error;
    }
  }
}

function crashWords(attempts: number): string {
  return `The process ended ${attempts} times while handling this message.`;
}
