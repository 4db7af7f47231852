import { setTimeout as delay } from 'node:timers/promises';
import {
  createInbox,
  type Msg,
  type NatsConnection,
  nanos,
  type Subscription,
} from '@nats-io/transport-node';
import type { DurableOptions, Entry, Ledger, RetryPolicy } from '../delivery/attempts.ts';
import { DurableDelivery } from '../delivery/durable-delivery.ts';
import type { DeliveryContext } from '../delivery/live-subscription.ts';
import type { Connection } from './connection.ts';
import { type DurableConsumers, PulledMessage } from './durable-consumers.ts';
import type { NatsDeadLetters } from './nats-dead-letters.ts';
import { RecentSet } from './nats-live.ts';
import { onlyFor, type Resources, readMessage } from './resources.ts';

const expiresMs = 5000;

/** Time for the server's own expiry message to arrive. */
const graceMs = 2000;

/** `lost`: the server did not answer, or said that the consumer is gone. */
type PullEnd = 'filled' | 'expired' | 'lost';

interface PullTarget {
  take(message: PulledMessage): void;
  ended(request: PullRequest, end: PullEnd): void;
}

/** Asks a consumer for up to so many messages, for a few seconds. */
class PullRequest {
  readonly #target: PullTarget;
  readonly #subscription: Subscription;
  readonly #watchdog: NodeJS.Timeout;
  #missing: number;
  #ended = false;

  constructor(nats: NatsConnection, stream: string, consumer: string, size: number, target: PullTarget) {
    this.#target = target;
    this.#missing = size;
    const reply = createInbox();
    this.#subscription = nats.subscribe(reply, { callback: (_, message) => this.#receive(message) });
    const order = JSON.stringify({ batch: size, expires: nanos(expiresMs) });
    nats.publish(`$JS.API.CONSUMER.MSG.NEXT.${stream}.${consumer}`, order, { reply });
    this.#watchdog = setTimeout(() => this.#end('lost'), expiresMs + graceMs).unref();
  }

  /** Messages that may still come. */
  get missing(): number {
    return this.#missing;
  }

  /** Takes no more; tells nobody. */
  close(): void {
    this.#ended = true;
    clearTimeout(this.#watchdog);
    this.#subscription.unsubscribe();
  }

  #receive(message: Msg): void {
    if (this.#ended) return;
    const code = message.headers?.code ?? 0;
    if (code > 0) {
      this.#end(code === 409 ? 'lost' : 'expired');
      return;
    }
    this.#missing -= 1;
    this.#target.take(new PulledMessage(message));
    if (this.#missing === 0) this.#end('filled');
  }

  #end(end: PullEnd): void {
    if (this.#ended) return;
    this.close();
    this.#target.ended(this, end);
  }
}

export interface PullerContext {
  connection: Connection;
  resources: Resources;
  consumers: DurableConsumers;
  deadLetters: NatsDeadLetters;
  delivery: DeliveryContext;
  retry: RetryPolicy;
  ackWaitMs: number;
}

const largestRequest = 500;
const retryAfterMs = 250;
const handBackDelayMs = 200;
const rememberedFinished = 10_000;

/** Fetches the messages of one durable name from JetStream while it has subscribers in this process. */
export class DurablePuller implements PullTarget {
  readonly delivery: DurableDelivery;
  readonly #context: PullerContext;
  readonly #requests = new Set<PullRequest>();
  /** Messages that wait or are being handled, by position. */
  readonly #held = new Map<number, PulledMessage>();
  /** Positions handled here: when their acknowledgement was lost, they come again and are only acknowledged. */
  readonly #finished = new RecentSet<number>(rememberedFinished);
  readonly #signsOfLife: NodeJS.Timeout;
  readonly #ignoreConnection: () => void;
  readonly #closing = new AbortController();
  #recovering = false;
  #detached = false;

  constructor(options: DurableOptions, context: PullerContext) {
    this.#context = context;
    const ledger = durableLedger(options.name, context, (entry) => this.#finish(entry));
    this.delivery = new DurableDelivery(options, context.retry, ledger, context.delivery, () => this.ask());
    this.#signsOfLife = setInterval(() => this.#showLife(), context.ackWaitMs / 3).unref();
    this.#ignoreConnection = context.connection.onChange(() => this.#askAnew());
  }

  get name(): string {
    return this.delivery.options.name;
  }

  /** Asks the server for as many messages as are wanted beyond those asked for already. */
  ask(): void {
    const { connection, resources } = this.#context;
    if (!this.#wanted || this.#recovering || this.#detached || !connection.connected) return;
    const size = this.#shortfall();
    if (size > 0)
      this.#requests.add(new PullRequest(connection.nats, resources.journal, this.name, size, this));
  }

  take(received: PulledMessage): void {
    const { position } = received;
    const target = onlyFor(received);
    const foreign = target !== undefined && target !== this.name;
    if (this.#closing.signal.aborted) received.handBack(handBackDelayMs);
    else if (foreign || this.#finished.has(position)) received.finish();
    else if (this.#held.has(position)) this.#held.set(position, received);
    else this.#offer(received);
  }

  ended(request: PullRequest, end: PullEnd): void {
    this.#requests.delete(request);
    if (!this.#wanted && this.#requests.size === 0) this.#giveBack();
    if (end === 'lost') void this.#recover();
    else this.ask();
  }

  /** Lets go of everything and asks for nothing until `resume`: the cursor is being moved. */
  detach(): void {
    this.#detached = true;
    this.delivery.reset();
    this.#held.clear();
    this.#finished.clear();
    this.#askAnew();
  }

  resume(): void {
    this.#detached = false;
    this.ask();
  }

  /** Hands back what no handler has begun; messages still on their way here are handed back too. */
  close(): void {
    this.#giveBack();
    this.delivery.close();
    this.#closing.abort();
  }

  /** After the handlers have ended. */
  end(): void {
    clearInterval(this.#signsOfLife);
    this.#ignoreConnection();
    for (const request of this.#requests) request.close();
  }

  get #wanted(): boolean {
    return this.delivery.members > 0 && !this.#closing.signal.aborted;
  }

  /**
   * A group shares work best when no member takes more than it can begin at once.
   * While something is asked for, small shortfalls wait to become larger ones: each costs a round trip.
   */
  #shortfall(): number {
    const room = this.delivery.options.group === undefined ? this.delivery.room : this.delivery.free;
    const useful = Math.min(room, largestRequest);
    let asked = 0;
    for (const request of this.#requests) asked += request.missing;
    const shortfall = useful - asked;
    return asked > 0 && shortfall < useful / 4 ? 0 : Math.max(0, shortfall);
  }

  #askAnew(): void {
    for (const request of this.#requests) request.close();
    this.#requests.clear();
    this.ask();
  }

  /** The consumer is made again when it is gone; otherwise the server was only silent. */
  async #recover(): Promise<void> {
    if (this.#recovering) return;
    this.#recovering = true;
    // Another process may be moving the cursor, which takes the consumer away for a moment.
    await delay(retryAfterMs);
    try {
      if (this.#wanted && !this.#detached) await this.#remake();
    } catch (error) {
      const { logger } = this.#context.delivery;
      logger.warn({ durable: this.name, err: error }, 'failed to reach durable consumer');
    }
    this.#recovering = false;
    this.ask();
  }

  async #remake(): Promise<void> {
    const { connection, consumers, delivery } = this.#context;
    if (!connection.connected || (await consumers.info(this.name)) !== undefined) return;
    delivery.logger.warn({ durable: this.name }, 'durable consumer lost; recreating');
    await consumers.ensure(this.delivery.options);
  }

  #offer(received: PulledMessage): void {
    const { position, redelivered } = received;
    const message = readMessage(received, this.#context.delivery.logger);
    if (message === undefined) received.refuse();
    else if (this.delivery.offer({ position, message, redelivered })) this.#held.set(position, received);
    else received.handBack(handBackDelayMs);
  }

  #finish({ position }: Entry): void {
    const received = this.#held.get(position);
    if (received === undefined) return;
    this.#held.delete(position);
    this.#finished.add(position);
    received.finish();
  }

  #giveBack(): void {
    for (const { position } of this.delivery.reset()) {
      this.#held.get(position)?.handBack();
      this.#held.delete(position);
    }
  }

  #showLife(): void {
    for (const received of this.#held.values()) received.showLife();
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
