import { setTimeout as delay } from 'node:timers/promises';
import type { ConsumerMessages, JsMsg } from '@nats-io/jetstream';
import {
  DurableDelivery,
  type DurableOptions,
  type Entry,
  type Ledger,
  type RetryPolicy,
} from '../delivery/durable-delivery.ts';
import type { DeliveryContext } from '../delivery/live-subscription.ts';
import type { Connection } from './connection.ts';
import type { DurableConsumers } from './durable-consumers.ts';
import type { NatsDeadLetters } from './nats-dead-letters.ts';
import { RecentSet } from './recent-set.ts';
import type { Resources } from './resources.ts';
import { onlyFor, readMessage } from './wire.ts';

export interface PullerContext {
  connection: Connection;
  resources: Resources;
  consumers: DurableConsumers;
  deadLetters: NatsDeadLetters;
  delivery: DeliveryContext;
  retry: RetryPolicy;
  ackWaitMs: number;
}

const fetchTimeoutMs = 5000;
const largestFetch = 500;
const retryAfterMs = 250;
const handBackDelayMs = 200;
const rememberedFinished = 2000;

/** Fetches the messages of one durable name from JetStream while it has subscribers in this process. */
export class DurablePuller {
  readonly delivery: DurableDelivery;
  readonly #context: PullerContext;
  /** Messages that wait or are being handled, by position. */
  readonly #held = new Map<number, JsMsg>();
  /** Positions handled here: when their acknowledgement was lost, they come again and are only acknowledged. */
  readonly #finished = new RecentSet<number>(rememberedFinished);
  readonly #signsOfLife: NodeJS.Timeout;
  readonly #ignoreConnection: () => void;
  readonly #closing = new AbortController();
  #fetching: ConsumerMessages | undefined;
  #running = false;
  #wake: () => void = () => undefined;

  constructor(options: DurableOptions, context: PullerContext) {
    this.#context = context;
    const ledger = durableLedger(options.name, context, (entry) => this.#finish(entry));
    this.delivery = new DurableDelivery(options, context.retry, ledger, context.delivery, () => this.#wake());
    this.#signsOfLife = setInterval(() => this.#showLife(), context.ackWaitMs / 3).unref();
    this.#ignoreConnection = context.connection.onChange(() => this.#fetching?.stop());
  }

  get name(): string {
    return this.delivery.options.name;
  }

  /** Begins or goes on fetching. */
  resume(): void {
    if (this.#running) this.#wake();
    else void this.#run();
  }

  /** Lets go of everything, as the cursor was moved. */
  detach(): void {
    this.delivery.reset();
    this.#held.clear();
    this.#finished.clear();
    this.#fetching?.stop();
  }

  /** Hands back what no handler has begun; messages still on their way here are handed back too. */
  close(): void {
    this.#giveBack();
    this.delivery.close();
    this.#closing.abort();
    this.#wake();
  }

  /** After the handlers have ended. */
  end(): void {
    clearInterval(this.#signsOfLife);
    this.#ignoreConnection();
    this.#fetching?.stop();
  }

  get #wanted(): boolean {
    return this.delivery.members > 0 && !this.#closing.signal.aborted;
  }

  async #run(): Promise<void> {
    this.#running = true;
    while (this.#wanted) {
      const size = this.#fetchSize();
      if (size === 0) await this.#roomMade();
      else await this.#fetch(size);
    }
    this.#giveBack();
    this.#running = false;
  }

  /** A group shares work best when no member takes more than it can begin at once. */
  #fetchSize(): number {
    const size = this.delivery.options.group === undefined ? this.delivery.room : this.delivery.free;
    return Math.min(size, largestFetch);
  }

  #roomMade(): Promise<void> {
    return new Promise((resolve) => {
      this.#wake = resolve;
    });
  }

  async #fetch(size: number): Promise<void> {
    const { client, journal } = this.#context.resources;
    try {
      const consumer = await client.consumers.get(journal, this.name);
      this.#fetching = await consumer.fetch({ max_messages: size, expires: fetchTimeoutMs });
      for await (const message of this.#fetching) this.#take(message);
    } catch (error) {
      await this.#recover(error);
    }
  }

  /** Whatever went wrong passes, or the consumer is gone and is made again. */
  async #recover(error: unknown): Promise<void> {
    if (!this.#wanted) return;
    const { connection, consumers, delivery } = this.#context;
    try {
      if (connection.connected && (await consumers.info(this.name)) === undefined) {
        delivery.logger.warn({ durable: this.name, err: error }, 'NATS lost a durable name; it begins anew');
        await consumers.ensure(this.delivery.options);
      }
      await delay(retryAfterMs, undefined, { signal: this.#closing.signal });
    } catch (failure) {
      if (!this.#closing.signal.aborted) {
        delivery.logger.warn(
          { durable: this.name, err: failure },
          'A durable name cannot be reached on NATS',
        );
      }
    }
  }

  #take(received: JsMsg): void {
    const position = received.seq;
    const target = onlyFor(received);
    const foreign = target !== undefined && target !== this.name;
    if (this.#closing.signal.aborted) received.nak(handBackDelayMs);
    else if (foreign || this.#finished.has(position)) received.ack();
    else if (this.#held.has(position)) this.#held.set(position, received);
    else this.#offer(received, position);
  }

  #offer(received: JsMsg, position: number): void {
    const message = readMessage(received, this.#context.delivery.logger);
    if (message === undefined) {
      received.term();
      return;
    }
    const redelivered = received.info.deliveryCount > 1;
    if (this.delivery.offer({ position, message, redelivered })) this.#held.set(position, received);
    else received.nak(handBackDelayMs);
  }

  #finish({ position }: Entry): void {
    const received = this.#held.get(position);
    if (received === undefined) return;
    this.#held.delete(position);
    this.#finished.add(position);
    received.ack();
  }

  #giveBack(): void {
    for (const { position } of this.delivery.reset()) {
      this.#held.get(position)?.nak();
      this.#held.delete(position);
    }
  }

  #showLife(): void {
    for (const received of this.#held.values()) received.working();
  }
}

/** Counts attempts in the shared bucket, buries in the shared stream. */
function durableLedger(name: string, context: PullerContext, finish: (entry: Entry) => void): Ledger {
  const { progress } = context.resources;
  const key = ({ position }: Entry) => `attempts.${name}.${position}`;
  return {
    attempts: async (entry) => Number((await progress.get(key(entry)))?.string() ?? 0),
    record: async (entry, attempts) => void (await progress.put(key(entry), String(attempts))),
    bury: (entry, attempts, error) => context.deadLetters.bury(name, entry, attempts, error),
    finish,
  };
}
