import type { BusLogger, Delivery, Handler, Message, QueuePolicy } from '../port.ts';
import { BoundedQueue } from './bounded-queue.ts';
import type { DispatchLoop, Runnable } from './dispatch-loop.ts';
import type { FailureReporter } from './failure-reporter.ts';

/** What all subscriptions of a bus share. */
export interface DeliveryContext {
  loop: DispatchLoop;
  failures: FailureReporter;
  logger: BusLogger;
  /** Aborted when the bus stops waiting for handlers. */
  signal: AbortSignal;
  /** What handlers of subscriptions without a cursor are given. */
  firstDelivery: Delivery;
  live: LiveCounters;
}

/** Sums over all subscriptions without a cursor. */
interface LiveCounters {
  queued: number;
  running: number;
  dropped: number;
}

export interface LiveLimits {
  readonly concurrency: number;
  readonly queueLimit: number;
  readonly policy: QueuePolicy;
}

export interface LiveOptions {
  pattern: string;
  handler: Handler;
  plugin: string | undefined;
  /** Shared by all that have the same. */
  limits: LiveLimits;
}

const logEveryMs = 10_000;

/**
 * A subscription without a cursor: a bounded queue in memory, each message tried once.
 * There may be very many, most of them quiet, so what only busy ones need is made when they need it.
 */
export class LiveSubscription implements Runnable {
  readonly #pattern: string;
  readonly #handler: Handler;
  readonly #plugin: string | undefined;
  readonly #limits: LiveLimits;
  readonly #context: DeliveryContext;
  #queue: BoundedQueue<Message> | undefined = undefined;
  #drops: { sinceLog: number; loggedAt: number } | undefined = undefined;
  #running = 0;
  #scheduled = false;
  #closed = false;

  constructor({ pattern, handler, plugin, limits }: LiveOptions, context: DeliveryContext) {
    this.#pattern = pattern;
    this.#handler = handler;
    this.#plugin = plugin;
    this.#limits = limits;
    this.#context = context;
  }

  deliver(message: Message): void {
    if (this.#closed) return;
    this.#queue ??= new BoundedQueue(this.#limits.queueLimit);
    if (this.#queue.push(message)) this.#context.live.queued += 1;
    else this.#overflow(this.#queue, message);
    this.#schedule();
  }

  run(budget: number): boolean {
    for (let left = budget; left > 0 && this.#canStart(); left -= 1) this.#startNext();
    this.#scheduled = this.#canStart();
    return this.#scheduled;
  }

  /** Forgets what waits; handlers at work end by themselves. False when it was closed before. */
  close(): boolean {
    if (this.#closed) return false;
    this.#closed = true;
    this.#context.live.queued -= this.#queue?.clear().length ?? 0;
    return true;
  }

  #canStart(): boolean {
    return this.#running < this.#limits.concurrency && this.#queue !== undefined && this.#queue.length > 0;
  }

  #schedule(): void {
    if (this.#scheduled || !this.#canStart()) return;
    this.#scheduled = true;
    this.#context.loop.add(this);
  }

  #startNext(): void {
    const message = this.#queue?.shift();
    if (message === undefined) return;
    this.#context.live.queued -= 1;
    try {
      const result = this.#handler(message, this.#context.firstDelivery);
      if (result !== undefined) this.#follow(result, message);
    } catch (error) {
      this.#fail(message, error);
    }
  }

  #follow(result: Promise<void>, message: Message): void {
    this.#count(1);
    const end = () => {
      this.#count(-1);
      this.#schedule();
    };
    result.then(end, (error: unknown) => {
      this.#fail(message, error);
      end();
    });
  }

  #count(change: number): void {
    this.#running += change;
    this.#context.live.running += change;
  }

  #fail(message: Message, error: unknown): void {
    const [pattern, plugin] = [this.#pattern, this.#plugin];
    this.#context.failures.report({ message, pattern, plugin, error, attempt: 1 });
  }

  #overflow(queue: BoundedQueue<Message>, message: Message): void {
    if (this.#limits.policy === 'drop-oldest') {
      queue.shift();
      queue.push(message);
    }
    this.#context.live.dropped += 1;
    this.#drops ??= { sinceLog: 0, loggedAt: Number.NEGATIVE_INFINITY };
    this.#drops.sinceLog += 1;
    this.#logDrops(this.#drops);
  }

  /** One line at first, then at most one each ten seconds. */
  #logDrops(drops: { sinceLog: number; loggedAt: number }): void {
    const now = performance.now();
    if (now - drops.loggedAt < logEveryMs) return;
    const { queueLimit, policy } = this.#limits;
    const details = {
      pattern: this.#pattern,
      plugin: this.#plugin,
      queueLimit,
      policy,
      dropped: drops.sinceLog,
    };
    this.#context.logger.warn(details, 'A slow subscriber lost messages: its queue is full');
    drops.loggedAt = now;
    drops.sinceLog = 0;
  }
}
