import { type Bus, type Message, matchesTopic, type Subscription } from '@trunkline/bus';
import type { Logger } from '@trunkline/config';
import type { Principal } from '@trunkline/identity';
import { type Clock, systemClock } from '@trunkline/schedule';
import { errorMessage, KeyedQueue } from '@trunkline/std';
import { StorageError } from '@trunkline/storage';
import type { Delivery } from '../../api-types.ts';
import { onBehalf } from '../../core/messages.ts';
import { pause } from '../../core/timers.ts';
import type { DeliveryStore } from './delivery-store.ts';

export interface OutboxSettings {
  bus: Bus;
  store: DeliveryStore;
  logger: Logger;
  /** The pause after the first failure; later ones are longer. */
  retryMs: number;
  clock?: Clock;
}

export interface Outlet {
  surface: string;
  patterns: readonly string[];
  send: Send;
}

/** The pauses between attempts, as multiples of the first. */
const pauses = [1, 3, 9, 27, 60];
const attemptMs = 60_000;
const longestWaitMs = 15 * 60_000;
const atOnce = 16;

/** Delivers outbound messages, retries where that may help, and records the result of each. */
export class Outbox {
  readonly #settings: OutboxSettings;
  readonly #clock: Clock;
  /** Messages of one topic are sent in order. */
  readonly #queue = new KeyedQueue();
  readonly #outlets = new Map<string, Outlet>();
  readonly #stopping = new AbortController();

  constructor(settings: OutboxSettings) {
    this.#settings = settings;
    this.#clock = settings.clock ?? systemClock;
  }

  /** Starts to deliver what the outlet subscribes to; returns a function that ends it. */
  async open(outlet: Outlet): Promise<() => Promise<void>> {
    const { bus } = this.#settings;
    const { surface } = outlet;
    this.#outlets.set(surface, outlet);
    const subscriptions: Subscription[] = [];
    for (const [index, pattern] of outlet.patterns.entries()) {
      const durable = `${surface}-out-${index}`;
      const options = { durable, group: durable, concurrency: atOnce, plugin: surface };
      const carry = (message: Message, { signal }: { signal: AbortSignal }) =>
        this.#carry(outlet, message, signal);
      subscriptions.push(await bus.subscribe(pattern, carry, options));
    }
    for (const message of this.#settings.store.replays(surface)) this.#carryAgain(outlet, message);
    return async () => {
      this.#outlets.delete(surface);
      for (const subscription of subscriptions) await subscription.unsubscribe();
    };
  }

  isOpen(surface: string): boolean {
    return this.#outlets.has(surface);
  }

  /** Whether an outlet here can deliver it. */
  canDeliver(delivery: Delivery): boolean {
    return this.#outletOf(delivery) !== undefined;
  }

  /** False when there is no such failed delivery, or its surface is off. */
  replay(id: string): boolean {
    const { store } = this.#settings;
    const [delivery, message] = [store.get(id), store.messageOf(id)];
    if (message === undefined || delivery?.state !== 'failed') return false;
    const outlet = this.#outletOf(delivery);
    if (outlet === undefined) return false;
    store.requeue(id, outlet.surface);
    this.#carryAgain(outlet, message);
    return true;
  }

  /** The one of its name, unless that delivers other topics; one without topics takes whatever was recorded for it. */
  #outletOf({ surface, topic }: Delivery): Outlet | undefined {
    const delivers = ({ patterns }: Outlet) => patterns.some((pattern) => matchesTopic(pattern, topic));
    const named = this.#outlets.get(surface);
    if (named !== undefined && (named.patterns.length === 0 || delivers(named))) return named;
    return [...this.#outlets.values()].find(delivers);
  }

  /** The bus redelivers what this interrupts; replays stay in the store. */
  async stop(): Promise<void> {
    this.#stopping.abort();
    await this.#queue.idle();
  }

  #carryAgain(outlet: Outlet, message: Message): void {
    this.#carry(outlet, message, this.#stopping.signal).catch((error: unknown) =>
      this.#settings.logger.warn({ err: error, deliveryId: message.id }, 'replay of delivery interrupted'),
    );
  }

  #carry(outlet: Outlet, message: Message, stopping: AbortSignal): Promise<void> {
    const signal = AbortSignal.any([stopping, this.#stopping.signal]);
    return this.#queue.run(`${outlet.surface} ${message.topic}`, () =>
      this.#deliver(outlet, message, signal),
    );
  }

  /** Returns when the delivery has ended; throws only when the switchboard stops, so that the bus delivers it again. */
  async #deliver({ surface, send }: Outlet, message: Message, stopping: AbortSignal): Promise<void> {
    const { store } = this.#settings;
    // A record that stands from before may be of an attempt that a crash cut off.
    const isKnown = store.get(message.id) !== undefined;
    const { state, attempts } = await this.#recorded(() => store.open(surface, message), stopping);
    if (state !== 'queued') return;
    for (let attempt = attempts; ; attempt += 1) {
      const isRepeat = isKnown || attempt > attempts;
      const failure = await this.#attempt(send, { message, isRepeat }, stopping);
      if (failure === undefined) return await this.#settle(message, 'sent', stopping);
      stopping.throwIfAborted();
      await this.#recorded(() => store.attempted(message.id, failure.message), stopping);
      const wait = this.#pauseAfter(failure, attempt);
      if (wait === undefined) return await this.#settle(message, 'failed', stopping, failure);
      await pause(wait, this.#clock, stopping);
    }
  }

  /** Undefined: give up. */
  #pauseAfter({ permanent, retryAfterMs = 0 }: DeliveryError, attempt: number): number | undefined {
    const factor = pauses[attempt];
    if (permanent || factor === undefined || retryAfterMs > longestWaitMs) return undefined;
    return Math.max(retryAfterMs, factor * this.#settings.retryMs);
  }

  async #attempt(
    send: Send,
    { message, isRepeat }: Pick<DeliveryAttempt, 'message' | 'isRepeat'>,
    stopping: AbortSignal,
  ): Promise<DeliveryError | undefined> {
    const { store } = this.#settings;
    const signal = AbortSignal.any([stopping, AbortSignal.timeout(attemptMs)]);
    const done = store.get(message.id)?.references ?? [];
    const unrecorded: string[] = [];
    const arrived = (reference: string) => {
      if (unrecorded.length > 0 || !this.#tried(() => store.arrived(message.id, reference)))
        unrecorded.push(reference);
    };
    try {
      await send({ message, signal, isRepeat, done, arrived });
      return undefined;
    } catch (error) {
      if (error instanceof DeliveryError) return error;
      return new DeliveryError(errorMessage(error), { cause: error });
    } finally {
      for (const reference of unrecorded)
        await this.#recorded(() => store.arrived(message.id, reference), stopping);
    }
  }

  /** Waits while the disk is full: unrecorded parts would be sent again. */
  async #recorded<Result>(write: () => Result, stopping: AbortSignal): Promise<Result> {
    for (;;) {
      const tried = this.#tried(write);
      if (tried !== undefined) return tried.result;
      await pause(this.#settings.retryMs, this.#clock, stopping);
    }
  }

  /** Undefined when the disk is full. */
  #tried<Result>(write: () => Result): { result: Result } | undefined {
    try {
      return { result: write() };
    } catch (error) {
      if (!(error instanceof StorageError) || error.code !== 'disk_full') throw error;
      this.#settings.logger.error({ err: error }, 'failed to record delivery; retrying');
      return undefined;
    }
  }

  async #settle(
    message: Message,
    state: 'sent' | 'failed',
    stopping: AbortSignal,
    failure?: DeliveryError,
  ): Promise<void> {
    const { store, logger } = this.#settings;
    const { id } = message;
    await this.#recorded(() => store.settle(id, state), stopping);
    const delivery = store.get(id);
    if (failure !== undefined) {
      const { surface, topic } = delivery ?? {};
      logger.error({ err: failure, deliveryId: id, surface, topic }, 'failed to deliver message');
    }
    if (delivery !== undefined) await this.#tell(delivery, onBehalf(message, 'switchboard'));
  }

  async #tell(delivery: Delivery, principal: Principal): Promise<void> {
    const { id, surface, topic, correlationId, state, error, references } = delivery;
    const payload = { id, surface, topic, state, references, ...(state === 'failed' && { error }) };
    await this.#settings.bus.publish({
      topic: `delivery.${state}.${surface}`,
      payload,
      correlationId,
      parentId: id,
      principal,
    });
  }
}

/** A delivery attempt as the surface sees it. */
export interface DeliveryAttempt {
  message: Message;
  /** Aborted when an attempt takes too long, or the switchboard stops. */
  signal: AbortSignal;
  /** An earlier attempt may have arrived without our knowing. */
  isRepeat: boolean;
  /** References of delivered parts, which are not sent again. */
  done: readonly string[];
  /** Records one more delivered part. */
  arrived(reference: string): void;
}

type Send = (attempt: DeliveryAttempt) => Promise<void>;

interface DeliveryErrorOptions extends ErrorOptions {
  /** A retry cannot help: it was refused, or there is no such place. */
  permanent?: boolean;
  /** When the product allows the next attempt. */
  retryAfterMs?: number | undefined;
}

/** A failed attempt, and whether a retry may succeed. */
export class DeliveryError extends Error {
  readonly permanent: boolean;
  readonly retryAfterMs: number | undefined;

  constructor(message: string, { permanent = false, retryAfterMs, ...options }: DeliveryErrorOptions = {}) {
    super(message, options);
    this.name = 'DeliveryError';
    this.permanent = permanent;
    this.retryAfterMs = retryAfterMs;
  }
}

/** What to say in place of files that the far side refuses for good, so that the text arrives; throws any other failure. */
export function notTaken(by: string, files: readonly { name: string }[], error: unknown): string {
  if (files.length === 0 || !(error instanceof DeliveryError) || !error.permanent) throw error;
  return `${by} did not take ${files.map(({ name }) => name).join(', ')}: ${error.message}`;
}

/** The wait that a Retry-After header names in seconds; undefined when it names none. */
export function retryAfterMs(header: string | null | undefined): number | undefined {
  const seconds = Number(header ?? Number.NaN);
  return Number.isFinite(seconds) ? seconds * 1000 : undefined;
}
