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
  counters: { dropped: number };
}

export interface LiveOptions {
  pattern: string;
  handler: Handler;
  concurrency: number;
  queueLimit: number;
  policy: QueuePolicy;
  plugin: string | undefined;
}

const logEveryMs = 10_000;

/** A subscription without a cursor: a bounded queue in memory, each message tried once. */
export class LiveSubscription implements Runnable {
  readonly #options: LiveOptions;
  readonly #context: DeliveryContext;
  readonly #queue: BoundedQueue<Message>;
  readonly #delivery: Delivery;
  #running = 0;
  #scheduled = false;
  #closed = false;
  #droppedSinceLog = 0;
  #loggedAt = Number.NEGATIVE_INFINITY;

  constructor(options: LiveOptions, context: DeliveryContext) {
    this.#options = options;
    this.#context = context;
    this.#queue = new BoundedQueue(options.queueLimit);
    this.#delivery = Object.freeze({ attempt: 1, signal: context.signal });
  }

  get queued(): number {
    return this.#queue.length;
  }

  get idle(): boolean {
    return this.#running === 0 && this.#queue.length === 0;
  }

  deliver(message: Message): void {
    if (this.#closed) return;
    if (!this.#queue.push(message)) this.#overflow(message);
    this.#schedule();
  }

  run(budget: number): boolean {
    for (let left = budget; left > 0 && this.#canStart(); left -= 1) this.#startNext();
    this.#scheduled = this.#canStart();
    return this.#scheduled;
  }

  /** Forgets what waits; handlers at work end by themselves. */
  close(): void {
    this.#closed = true;
    this.#queue.clear();
  }

  #canStart(): boolean {
    return this.#running < this.#options.concurrency && this.#queue.length > 0;
  }

  #schedule(): void {
    if (this.#scheduled || !this.#canStart()) return;
    this.#scheduled = true;
    this.#context.loop.add(this);
  }

  #startNext(): void {
    const message = this.#queue.shift();
    if (message === undefined) return;
    try {
      const result = this.#options.handler(message, this.#delivery);
      if (result !== undefined) this.#follow(result, message);
    } catch (error) {
      this.#fail(message, error);
    }
  }

  #follow(result: Promise<void>, message: Message): void {
    this.#running += 1;
    const end = () => {
      this.#running -= 1;
      this.#schedule();
    };
    result.then(end, (error: unknown) => {
      this.#fail(message, error);
      end();
    });
  }

  #fail(message: Message, error: unknown): void {
    const { pattern, plugin } = this.#options;
    this.#context.failures.report({ message, pattern, plugin, error, attempt: 1 });
  }

  #overflow(message: Message): void {
    if (this.#options.policy === 'drop-oldest') {
      this.#queue.shift();
      this.#queue.push(message);
    }
    this.#context.counters.dropped += 1;
    this.#droppedSinceLog += 1;
    this.#logDrops();
  }

  /** One line at first, then at most one each ten seconds. */
  #logDrops(): void {
    const now = performance.now();
    if (now - this.#loggedAt < logEveryMs) return;
    const { pattern, plugin, queueLimit, policy } = this.#options;
    const details = { pattern, plugin, queueLimit, policy, dropped: this.#droppedSinceLog };
    this.#context.logger.warn(details, 'A slow subscriber lost messages: its queue is full');
    this.#loggedAt = now;
    this.#droppedSinceLog = 0;
  }
}
