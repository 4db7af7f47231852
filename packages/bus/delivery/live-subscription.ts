import { errorMessage } from '@trunkline/std';
import type { BusLogger, Delivery, Draft, Handler, Message, QueuePolicy } from '../port.ts';

export const errorTopic = 'system.error';

/** Turns in one go before timers and sockets get theirs, and handlers started in one turn. */
const turnsPerSlice = 100;

const handlersPerTurn = 50;

export interface Runnable {
  /** Starts at most `budget` handlers and says whether more could start at once. */
  run(budget: number): boolean;
}

/**
 * Starts handlers after the turn in which something was published, never inside it:
 * a handler that publishes returns before the next one starts, so nothing nests, and a flood leaves room for I/O.
 */
export class DispatchLoop {
  #ready: Runnable[] = [];
  #next = 0;
  #scheduled = false;

  add(runnable: Runnable): void {
    this.#ready.push(runnable);
    if (this.#scheduled) return;
    this.#scheduled = true;
    queueMicrotask(this.#drain);
  }

  readonly #drain = (): void => {
    try {
      for (let turn = 0; turn < turnsPerSlice && this.#next < this.#ready.length; turn += 1) this.#turn();
    } finally {
      this.#ready.splice(0, this.#next);
      this.#next = 0;
      this.#scheduled = this.#ready.length > 0;
      if (this.#scheduled) setImmediate(this.#drain);
    }
  };

  /** A subscription with more to do queues up again behind the others. */
  #turn(): void {
    const runnable = this.#ready[this.#next];
    this.#next += 1;
    if (runnable?.run(handlersPerTurn)) this.#ready.push(runnable);
  }
}

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
    this.#context.logger.warn(details, 'subscriber queue full; messages dropped');
    drops.loggedAt = now;
    drops.sinceLog = 0;
  }
}

/** Subscriptions of one pattern and group: each message goes to the next of them in turn. */
export class LiveGroup {
  readonly #members: LiveSubscription[] = [];
  #next = 0;

  get empty(): boolean {
    return this.#members.length === 0;
  }

  join(member: LiveSubscription): void {
    this.#members.push(member);
  }

  leave(member: LiveSubscription): void {
    this.#members.splice(this.#members.indexOf(member), 1);
  }

  deliver(message: Message): void {
    this.#next = (this.#next + 1) % this.#members.length;
    this.#members[this.#next]?.deliver(message);
  }
}

/** A first-in first-out queue that holds at most `limit` items. */
export class BoundedQueue<Item extends object> {
  readonly limit: number;
  #items: Item[] = [];
  /** Items before this one were taken. */
  #head = 0;

  constructor(limit: number) {
    this.limit = limit;
  }

  get length(): number {
    return this.#items.length - this.#head;
  }

  get room(): number {
    return this.limit - this.length;
  }

  /** False when the queue is full. */
  push(item: Item): boolean {
    if (this.length >= this.limit) return false;
    this.#items.push(item);
    return true;
  }

  shift(): Item | undefined {
    const item = this.#items[this.#head];
    if (item === undefined) return undefined;
    this.#head += 1;
    if (this.#head * 2 >= this.#items.length) this.#items = this.clear();
    return item;
  }

  /** Empties the queue and gives what was in it, in order. */
  clear(): Item[] {
    const left = this.#items.slice(this.#head);
    this.#items = [];
    this.#head = 0;
    return left;
  }
}

interface Failure {
  message: Message;
  pattern: string;
  plugin: string | undefined;
  error: unknown;
  attempt: number;
  durable?: string;
  /** True when the message was given up and lies among the dead letters. */
  buried?: boolean;
}

/** Reports failed handlers in the log, and as `system.error` unless the failed message was one. */
export class FailureReporter {
  readonly #publish: (draft: Draft) => Promise<unknown>;
  readonly #logger: BusLogger;

  constructor(publish: (draft: Draft) => Promise<unknown>, logger: BusLogger) {
    this.#publish = publish;
    this.#logger = logger;
  }

  report(failure: Failure): void {
    const { message, error } = failure;
    const details = describe(failure);
    this.#logger.error({ ...details, err: error }, 'subscriber failed');
    if (message.topic === errorTopic) return;
    this.#publish({
      topic: errorTopic,
      correlationId: message.correlationId,
      parentId: message.id,
      payload: { ...details, error: errorMessage(error) },
    }).catch((publishError: unknown) => {
      this.#logger.error({ ...details, err: publishError }, `failed to publish ${errorTopic}`);
    });
  }
}

function describe({ message, pattern, plugin, attempt, durable, buried }: Failure) {
  return {
    source: 'bus',
    ...(plugin === undefined ? {} : { plugin }),
    pattern,
    topic: message.topic,
    messageId: message.id,
    attempt,
    ...(durable === undefined ? {} : { durable }),
    ...(buried === undefined ? {} : { buried }),
  };
}
