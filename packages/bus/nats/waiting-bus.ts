import { setTimeout as delay } from 'node:timers/promises';
import { errorMessage, untilAborted } from '@trunkline/std';
import { BusError } from '../errors.ts';
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
import type { NatsSettings } from './options.ts';

const firstPauseMs = 250;
const longestPauseMs = 10_000;

export interface WaitingSettings {
  open(): Promise<Bus>;
  /** What the first try gave. */
  opened?: Bus;
  /** Why the first try failed. */
  failure?: unknown;
  /** From then on nothing waits for an election longer than the real bus does. */
  started?: Promise<unknown>;
  /** Whether only the operator can help. */
  isFinal?(error: unknown): boolean;
  settings: Pick<NatsSettings, 'publishTimeoutMs' | 'maxPending'>;
  logger: BusLogger;
}

/** Whether it helps to try again: nothing but the operator changes credentials and settings. */
export function isWorthWaiting(error: unknown): boolean {
  return error instanceof BusError && (error.code === 'connection_failed' || error.code === 'engine_failed');
}

/** Errors of JetStream itself come as they are. */
function mayPass(error: unknown): boolean {
  return !(error instanceof BusError) || error.code === 'unavailable' || isWorthWaiting(error);
}

/**
 * A bus whose servers need not be usable yet. It tries on, with growing pauses; then everything goes to the real one.
 * Subscriptions, leases and memories wait for that, and for elections until the service has started; publishers and readers
 * wait for a limited time.
 */
export class WaitingBus implements Bus {
  readonly #settings: WaitingSettings;
  readonly #stopping = new AbortController();
  readonly #opening: Promise<Bus>;
  #bus: Bus | undefined;
  #problem: string;
  #waiting = 0;
  #isStarted = false;
  /** Subscriptions and memories that NATS refuses for now. */
  #refused = 0;

  constructor(settings: WaitingSettings) {
    this.#settings = settings;
    const { opened, failure, started, logger } = settings;
    void started?.then(() => {
      this.#isStarted = true;
    });
    this.#bus = opened;
    this.#problem = opened === undefined ? errorMessage(failure) : '';
    if (opened === undefined) logger.warn({ err: failure }, 'waiting for NATS');
    this.#opening = opened === undefined ? this.#open() : Promise.resolve(opened);
    // Whoever waits sees the failure; without anybody it must not count as unhandled.
    this.#opening.catch(() => undefined);
  }

  async publish(draft: Draft): Promise<Published> {
    return await (this.#bus ?? (await this.#soon())).publish(draft);
  }

  isHeard(topic: string): boolean {
    return this.#bus?.isHeard(topic) ?? true;
  }

  async subscribe(pattern: string, handler: Handler, options?: SubscribeOptions): Promise<Subscription> {
    return await this.#patiently((bus) => bus.subscribe(pattern, handler, options));
  }

  async request(topic: string, payload: unknown, options: RequestOptions): Promise<Message> {
    return await (this.#bus ?? (await this.#soon())).request(topic, payload, options);
  }

  async history(query?: HistoryQuery): Promise<HistoryEntry[]> {
    return await this.#now().history(query);
  }

  async deadLetters(): Promise<DeadLetter[]> {
    return await this.#now().deadLetters();
  }

  async replay(target: ReplayTarget): Promise<void> {
    await this.#now().replay(target);
  }

  async lease(name: string, options: LeaseOptions): Promise<Lease> {
    return await this.#patiently((bus) => bus.lease(name, options));
  }

  async memory(name: string, options: MemoryOptions): Promise<Memory> {
    return await this.#patiently((bus) => bus.memory(name, options));
  }

  status(): BusStatus {
    if (this.#bus !== undefined)
      return { ...this.#bus.status(), ...(this.#refused > 0 && { problem: this.#problem }) };
    return {
      engine: 'nats',
      connected: false,
      subscriptions: 0,
      queued: 0,
      pending: this.#waiting,
      dropped: 0,
      problem: this.#problem,
    };
  }

  async probe(): Promise<void> {
    await this.#now().probe();
  }

  async cluster(): Promise<BusCluster> {
    return await this.#now().cluster();
  }

  async stop(): Promise<void> {
    this.#stopping.abort();
    await this.#opening.catch(() => undefined);
    await this.#bus?.stop();
  }

  async #open(): Promise<Bus> {
    const { logger, open } = this.#settings;
    const { signal } = this.#stopping;
    for (let pause = firstPauseMs; ; pause = Math.min(pause * 2, longestPauseMs)) {
      await delay(pause, undefined, { signal }).catch(() => undefined);
      if (signal.aborted) throw new BusError('stopped', 'The bus stopped before NATS could be reached.');
      try {
        this.#bus = await open();
        logger.info({}, 'NATS reached');
        return this.#bus;
      } catch (error) {
        const words = errorMessage(error);
        if (words !== this.#problem) logger.warn({ err: error }, 'waiting for NATS');
        this.#problem = words;
      }
    }
  }

  /** A cluster that has just come may have no leaders for a while. What no retry can help is thrown. */
  async #patiently<Result>(ask: (bus: Bus) => Promise<Result>): Promise<Result> {
    const bus = await this.#opening;
    const { isFinal, logger } = this.#settings;
    const { signal } = this.#stopping;
    let isRefused = false;
    try {
      for (let pause = firstPauseMs; ; pause = Math.min(pause * 2, longestPauseMs)) {
        try {
          return await ask(bus);
        } catch (error) {
          if (signal.aborted)
            throw new BusError('stopped', 'The bus stopped before NATS was ready.', { cause: error });
          if (this.#isStarted || isFinal?.(error) || !mayPass(error)) throw error;
          this.#problem = errorMessage(error);
          logger.warn({ err: error }, 'NATS is not ready; retrying');
          if (!isRefused) this.#refused += 1;
          isRefused = true;
        }
        await delay(pause, undefined, { signal }).catch(() => undefined);
      }
    } finally {
      if (isRefused) this.#refused -= 1;
    }
  }

  /** The real bus, if it can be used now. */
  #now(): Bus {
    return this.#bus ?? raise(this.#unavailable());
  }

  /** The real bus, if it can be used in the time that a publisher waits. */
  async #soon(): Promise<Bus> {
    const { publishTimeoutMs, maxPending } = this.#settings.settings;
    if (this.#waiting >= maxPending) {
      const words = `${maxPending} messages wait for NATS already. ${this.#problem}`;
      throw new BusError('overloaded', words);
    }
    this.#waiting += 1;
    const timeout = AbortSignal.timeout(publishTimeoutMs);
    try {
      return await untilAborted(this.#opening, timeout);
    } catch (error) {
      throw timeout.aborted ? this.#unavailable() : error;
    } finally {
      this.#waiting -= 1;
    }
  }

  #unavailable(): BusError {
    return new BusError('unavailable', this.#problem);
  }
}

function raise(error: Error): never {
  throw error;
}
