// Our own rather than p-queue or p-limit: those neither bound how many may wait nor let a holder lend its slot.
import { formatDuration, TimeoutError } from './deadline.ts';

/** Too many wait already. */
export class QueueFullError extends Error {
  override readonly name = 'QueueFullError';
  readonly code = 'queue_full';
}

export interface ConcurrencyLimiterOptions {
  /** How many run at once; `Infinity` for no limit. */
  limit: number;
  /** How many may wait; the next is rejected with a QueueFullError. Default: 10,000. */
  maxWaiting?: number;
}

export interface AcquireOptions {
  /** Stops waiting; the promise rejects with its reason. */
  signal?: AbortSignal | undefined;
  /** Rejects with a TimeoutError after waiting this long. */
  timeoutMs?: number | undefined;
  /** Goes before all who wait without it. */
  isFirst?: boolean;
}

/** The right to run, held until `release`. */
export interface Slot {
  /** Passes the slot to the longest waiter. Safe to call twice. */
  release(): void;
  /**
   * Gives the slot to others while its holder waits for something, then takes one again before all newcomers. A holder whose
   * signal fires meanwhile goes on at once, above the limit.
   */
  lend<Result>(wait: () => Promise<Result>, signal?: AbortSignal): Promise<Result>;
}

type Waiter = () => void;

/** Lets a number of tasks run at once; the others wait in order. */
export class ConcurrencyLimiter {
  readonly #limit: number;
  readonly #maxWaiting: number;
  readonly #first = new Set<Waiter>();
  readonly #rest = new Set<Waiter>();
  #running = 0;
  #idle: PromiseWithResolvers<void> | undefined;

  constructor({ limit, maxWaiting = 10_000 }: ConcurrencyLimiterOptions) {
    this.#limit = limit;
    this.#maxWaiting = maxWaiting;
  }

  get running(): number {
    return this.#running;
  }

  get waiting(): number {
    return this.#first.size + this.#rest.size;
  }

  get isFull(): boolean {
    return this.#running >= this.#limit;
  }

  get isIdle(): boolean {
    return this.#running === 0 && this.waiting === 0;
  }

  async run<Result>(work: () => Result | Promise<Result>, options?: AcquireOptions): Promise<Result> {
    await this.#enter(options ?? {});
    try {
      return await work();
    } finally {
      this.#leave();
    }
  }

  /** Resolves when it is this caller's turn. The holder must release the slot. */
  async acquire(options: AcquireOptions = {}): Promise<Slot> {
    await this.#enter(options);
    return this.#hold();
  }

  /** As `acquire`, without a wait; undefined when there is no free slot. */
  tryAcquire(): Slot | undefined {
    if (this.isFull) return undefined;
    this.#force();
    return this.#hold();
  }

  #hold(): Slot {
    return new HeldSlot(
      (again) => this.#enter(again),
      () => this.#leave(),
      () => this.#force(),
    );
  }

  /** Resolves when nothing runs and nothing waits. */
  async idle(): Promise<void> {
    while (!this.isIdle) {
      this.#idle ??= Promise.withResolvers();
      await this.#idle.promise;
    }
  }

  async #enter({ signal, timeoutMs, isFirst = false }: AcquireOptions): Promise<void> {
    signal?.throwIfAborted();
    if (!this.isFull) return this.#force();
    if (!isFirst && this.waiting >= this.#maxWaiting)
      throw new QueueFullError(`${this.#running} run and ${this.waiting} wait already; try again later`);
    await this.#wait(isFirst ? this.#first : this.#rest, signal, timeoutMs);
  }

  #force(): void {
    this.#running += 1;
  }

  /** Hands the slot straight to the next waiter, so that nobody can overtake it. */
  #leave(): void {
    const queue = this.#first.size > 0 ? this.#first : this.#rest;
    const [next] = queue;
    if (next !== undefined && this.#running <= this.#limit) {
      queue.delete(next);
      next();
      return;
    }
    this.#running -= 1;
    if (!this.isIdle) return;
    this.#idle?.resolve();
    this.#idle = undefined;
  }

  #wait(queue: Set<Waiter>, signal: AbortSignal | undefined, timeoutMs: number | undefined): Promise<void> {
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const end = (settle: () => void) => {
      queue.delete(enter);
      clearTimeout(timer);
      signal?.removeEventListener('abort', abort);
      settle();
    };
    const enter = () => end(resolve);
    const abort = () => end(() => reject(signal?.reason));
    const expire = () =>
      end(() =>
        reject(new TimeoutError(`none of ${this.#running} ended within ${formatDuration(timeoutMs ?? 0)}`)),
      );
    const timer = timeoutMs === undefined ? undefined : setTimeout(expire, timeoutMs);
    queue.add(enter);
    signal?.addEventListener('abort', abort, { once: true });
    return promise;
  }
}

/** One reason for all: creating an error for each slot costs a stack trace. */
const over = new DOMException('The slot was released.', 'AbortError');

class HeldSlot implements Slot {
  readonly #enter: (options: AcquireOptions) => Promise<void>;
  readonly #leave: () => void;
  readonly #force: () => void;
  /** Only for one that waits to be taken again: most are released before, and an abort costs more than the rest. */
  #waiting: AbortController | undefined;
  #isReleased = false;
  #isHeld = true;
  #lends = 0;

  constructor(enter: (options: AcquireOptions) => Promise<void>, leave: () => void, force: () => void) {
    this.#enter = enter;
    this.#leave = leave;
    this.#force = force;
  }

  release(): void {
    this.#isReleased = true;
    this.#waiting?.abort(over);
    this.#giveBack();
  }

  async lend<Result>(wait: () => Promise<Result>, signal?: AbortSignal): Promise<Result> {
    this.#lends += 1;
    this.#giveBack();
    try {
      return await wait();
    } finally {
      this.#lends -= 1;
      if (this.#lends === 0) await this.#takeAgain(signal);
    }
  }

  async #takeAgain(signal: AbortSignal | undefined): Promise<void> {
    if (this.#isReleased) return;
    this.#waiting ??= new AbortController();
    const released = this.#waiting.signal;
    const either = signal === undefined ? released : AbortSignal.any([released, signal]);
    const isIn = await this.#enter({ signal: either, isFirst: true }).then(
      () => true,
      () => false,
    );
    if (!isIn && !released.aborted) this.#force();
    this.#isHeld = isIn || !released.aborted;
    if (released.aborted) this.#giveBack();
  }

  #giveBack(): void {
    if (this.#isHeld) this.#leave();
    this.#isHeld = false;
  }
}

/** Runs one task at a time. */
export class Mutex extends ConcurrencyLimiter {
  constructor({ maxWaiting }: { maxWaiting?: number } = {}) {
    super({ limit: 1, ...(maxWaiting !== undefined && { maxWaiting }) });
  }
}

/** Runs the tasks of a key one after the other (or `limit` at once), while those of other keys go on. */
export class KeyedQueue {
  readonly #options: ConcurrencyLimiterOptions;
  readonly #limiters = new Map<string, ConcurrencyLimiter>();

  /** The bounds hold for each key. */
  constructor({ limit = 1, ...options }: Partial<ConcurrencyLimiterOptions> = {}) {
    this.#options = { limit, ...options };
  }

  /** Keys that have a task running or waiting. */
  get size(): number {
    return this.#limiters.size;
  }

  async run<Result>(
    key: string,
    work: () => Result | Promise<Result>,
    options?: AcquireOptions,
  ): Promise<Result> {
    const release = await this.acquire(key, options);
    try {
      return await work();
    } finally {
      release();
    }
  }

  /** Resolves when it is this caller's turn, with the function that ends it. */
  async acquire(key: string, options?: AcquireOptions): Promise<() => void> {
    const limiter = this.#limiters.get(key) ?? new ConcurrencyLimiter(this.#options);
    this.#limiters.set(key, limiter);
    const slot = await limiter.acquire(options).catch((error: unknown) => {
      this.#forget(key, limiter);
      throw error;
    });
    return () => {
      slot.release();
      this.#forget(key, limiter);
    };
  }

  running(key: string): number {
    return this.#limiters.get(key)?.running ?? 0;
  }

  waiting(key: string): number {
    return this.#limiters.get(key)?.waiting ?? 0;
  }

  /** Resolves when nothing runs and nothing waits. */
  async idle(): Promise<void> {
    while (this.#limiters.size > 0)
      await Promise.all([...this.#limiters.values()].map((limiter) => limiter.idle()));
  }

  #forget(key: string, limiter: ConcurrencyLimiter): void {
    if (limiter.isIdle && this.#limiters.get(key) === limiter) this.#limiters.delete(key);
  }
}
