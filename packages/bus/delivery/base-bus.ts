import { BusError } from '../errors.ts';
import type { Settings } from '../options.ts';
import type {
  Bus,
  BusCluster,
  BusLogger,
  BusStatus,
  DeadLetter,
  Draft,
  Handler,
  HistoryEntry,
  HistoryQuery,
  Lease,
  LeaseOptions,
  Memory,
  MemoryOptions,
  Message,
  Published,
  ReplayTarget,
  RequestOptions,
  SubscribeOptions,
  Subscription,
} from '../port.ts';
import type { DurableTopics } from '../topics/topic-index.ts';
import type { DurableOptions, Member, RetryPolicy } from './attempts.ts';
import { type DurableDelivery, drained } from './durable-delivery.ts';
import {
  type DeliveryContext,
  DispatchLoop,
  FailureReporter,
  type LiveOptions,
} from './live-subscription.ts';
import { checkSubscription, Requests } from './requests.ts';

export interface BusSetup {
  settings: Settings;
  durableTopics: DurableTopics;
  logger: BusLogger;
}

/** The subscriptions without a cursor. */
interface LiveSubscriptions {
  readonly size: number;
  add(options: LiveOptions, group: string | undefined): Subscription | Promise<Subscription>;
}

/** The durable names that were subscribed to since the start. */
interface DurableSubscriptions {
  deliveries(): DurableDelivery[];
  add(options: DurableOptions, member: Member): Promise<Subscription>;
  /** Starts no handler any more. */
  close(): void;
}

/** What both engines do alike: subscriptions, requests, status, and the order of a stop. */
export abstract class BaseBus implements Bus {
  protected readonly setup: BusSetup;
  protected readonly delivery: DeliveryContext;
  protected readonly retry: RetryPolicy;
  readonly #abort = new AbortController();
  readonly #requests = new Requests(this);
  readonly #maintenance: NodeJS.Timeout;
  #stopping: Promise<void> | undefined;
  #stopped = false;

  protected abstract readonly engine: BusStatus['engine'];
  protected abstract readonly live: LiveSubscriptions;
  protected abstract readonly durable: DurableSubscriptions;

  constructor(setup: BusSetup) {
    const { settings, logger } = setup;
    const { signal } = this.#abort;
    this.setup = setup;
    this.retry = { maxAttempts: settings.maxAttempts, delayMs: settings.retryDelayMs };
    this.delivery = {
      loop: new DispatchLoop(),
      failures: new FailureReporter((draft) => this.publish(draft), logger),
      logger,
      signal,
      firstDelivery: Object.freeze({ attempt: 1, signal, stopping: signal, begin: async () => undefined }),
      live: { queued: 0, running: 0, dropped: 0 },
    };
    this.#maintenance = setInterval(() => void this.maintain(), settings.maintainEveryMs).unref();
  }

  abstract publish(draft: Draft): Promise<Published>;
  abstract isHeard(topic: string): boolean;
  abstract history(query?: HistoryQuery): Promise<HistoryEntry[]>;
  abstract deadLetters(): Promise<DeadLetter[]>;
  abstract replay(target: ReplayTarget): Promise<void>;
  abstract lease(name: string, options: LeaseOptions): Promise<Lease>;
  abstract memory(name: string, options: MemoryOptions): Promise<Memory>;
  abstract probe(): Promise<void>;
  abstract cluster(): Promise<BusCluster>;

  /** Messages whose publishers are not answered yet. */
  protected abstract get pending(): number;
  protected abstract get connected(): boolean;
  /** Saves cursors and removes what is too old; never rejects. */
  protected abstract maintain(): Promise<void>;
  /** Resolves with false if handlers were still running at the deadline, in milliseconds of `performance.now()`. */
  protected abstract drain(deadline: number): Promise<boolean>;
  /** Closes the engine after all handlers have ended or were given up. */
  protected abstract close(): Promise<void>;

  async subscribe(pattern: string, handler: Handler, options: SubscribeOptions = {}): Promise<Subscription> {
    this.checkRunning();
    const checked = checkSubscription(pattern, handler, options);
    if (checked.kind === 'live') return this.live.add(checked.live, checked.group);
    this.setup.durableTopics.checkCovers(pattern);
    return this.durable.add(checked.durable, checked.member);
  }

  request(topic: string, payload: unknown, options: RequestOptions): Promise<Message> {
    return this.#requests.request(topic, payload, options);
  }

  status(): BusStatus {
    const { live, delivery } = this;
    const deliveries = this.durable.deliveries();
    const sum = (count: (each: DurableDelivery) => number) =>
      deliveries.reduce((total, each) => total + count(each), 0);
    return {
      engine: this.engine,
      connected: !this.#stopped && this.connected,
      subscriptions: live.size + sum(({ members }) => members),
      queued: delivery.live.queued + sum(({ queued }) => queued),
      pending: this.pending,
      dropped: delivery.live.dropped,
    };
  }

  stop(): Promise<void> {
    this.#stopping ??= this.#stop();
    return this.#stopping;
  }

  protected checkRunning(): void {
    if (this.#stopped)
      throw new BusError('stopped', 'The bus has stopped: nothing can be published or subscribed.');
  }

  /** Waits until no handler runs and no publisher waits; false when that took too long. */
  protected drained(deadline: number): Promise<boolean> {
    return drained(() => this.isIdle, deadline - performance.now());
  }

  protected get isIdle(): boolean {
    const { queued, running } = this.delivery.live;
    const isQuiet = queued === 0 && running === 0 && this.pending === 0;
    return isQuiet && this.durable.deliveries().every(({ idle }) => idle);
  }

  /** Durable subscriptions begin nothing new; the others empty their queues, and what handlers publish is still accepted. */
  async #stop(): Promise<void> {
    clearInterval(this.#maintenance);
    this.durable.close();
    if (!(await this.drain(performance.now() + this.setup.settings.drainTimeoutMs)))
      this.setup.logger.warn(this.status(), 'bus stopped with handlers running');
    this.#stopped = true;
    this.#abort.abort();
    await this.close();
  }
}
