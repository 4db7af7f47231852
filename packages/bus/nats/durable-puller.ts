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
import { acknowledgement, type DurableConsumers, PulledMessage } from './durable-consumers.ts';
import type { NatsDeadLetters } from './nats-dead-letters.ts';
import { RecentSet } from './nats-live.ts';
import { onlyFor, type Resources, readMessage } from './resources.ts';

const expiresMs = 10_000;
/** An idle request is answered with a sign of life so often. */
const heartbeatMs = 1000;
/** After so many that did not come, the leader of the consumer is gone. Counted, as a process may stand still itself. */
const mostMissed = 3;

/** `lost`: the server is silent or nobody answers there. `removed`: the server said that the consumer is gone. */
type PullEnd = 'filled' | 'expired' | 'lost' | 'removed';

const statusHeartbeat = 100;
const statusNoResponders = 503;
/** Also for a change of leaders. */
const statusConflict = 409;

interface PullTarget {
  /** The leader of the consumer answers. */
  heard(): void;
  take(message: PulledMessage): void;
  ended(request: PullRequest, end: PullEnd): void;
}

/** Asks a consumer for up to so many messages, for a few seconds. */
class PullRequest {
  readonly #target: PullTarget;
  readonly #subscription: Subscription;
  readonly #watchdog: NodeJS.Timeout;
  #missed = 0;
  #missing: number;
  #ended = false;

  constructor(nats: NatsConnection, stream: string, consumer: string, size: number, target: PullTarget) {
    this.#target = target;
    this.#missing = size;
    const reply = createInbox();
    this.#subscription = nats.subscribe(reply, { callback: (_, message) => this.#receive(message) });
    const expires = nanos(expiresMs);
    const order = JSON.stringify({ batch: size, expires, idle_heartbeat: nanos(heartbeatMs) });
    nats.publish(`$JS.API.CONSUMER.MSG.NEXT.${stream}.${consumer}`, order, { reply });
    this.#watchdog = setInterval(() => this.#watch(), heartbeatMs).unref();
  }

  /** Messages that may still come. */
  get missing(): number {
    return this.#missing;
  }

  /** Asks for no more, and waits for what is on its way. */
  async drain(): Promise<void> {
    clearInterval(this.#watchdog);
    await this.#subscription.drain();
  }

  /** Takes no more; tells nobody. */
  close(): void {
    this.#ended = true;
    clearInterval(this.#watchdog);
    this.#subscription.unsubscribe();
  }

  #receive(message: Msg): void {
    if (this.#ended) return;
    this.#missed = 0;
    const code = message.headers?.code ?? 0;
    const end = code > statusHeartbeat ? endOf(code, message.headers?.description ?? '') : undefined;
    if (end !== 'lost' && end !== 'removed') this.#target.heard();
    if (code === statusHeartbeat) return;
    if (end !== undefined) {
      this.#end(end);
      return;
    }
    this.#missing -= 1;
    this.#target.take(new PulledMessage(message));
    if (this.#missing === 0) this.#end('filled');
  }

  #watch(): void {
    this.#missed += 1;
    if (this.#missed > mostMissed) this.#end('lost');
  }

  #end(end: PullEnd): void {
    if (this.#ended) return;
    this.close();
    this.#target.ended(this, end);
  }
}

function endOf(code: number, words: string): PullEnd {
  if (code === statusConflict) return /deleted/i.test(words) ? 'removed' : 'lost';
  return code === statusNoResponders ? 'lost' : 'expired';
}

export interface PullerContext {
  connection: Connection;
  resources: Resources;
  consumers: DurableConsumers;
  deadLetters: NatsDeadLetters;
  delivery: DeliveryContext;
  retry: RetryPolicy;
  ackWaitMs: number;
  untilElected<Answer>(ask: () => Promise<Answer>): Promise<Answer>;
}

const largestRequest = 500;
const retryAfterMs = 250;
/** Of the requests in a row that nobody answered, each so many-th looks whether the consumer is still there. */
const lookEvery = 4;
const handBackDelayMs = 200;
const rememberedFinished = 10_000;
/** Longer than it takes to notice that a leader is gone. */
const sweepMs = 10_000;

/** Fetches the messages of one durable name from JetStream while it has subscribers in this process. */
export class DurablePuller implements PullTarget {
  readonly delivery: DurableDelivery;
  readonly #context: PullerContext;
  readonly #requests = new Set<PullRequest>();
  /** Messages that wait or are being handled, by position. */
  readonly #held = new Map<number, { received: PulledMessage; messageId: string }>();
  /** Handled here: when their acknowledgement was lost, they come again and are only acknowledged. */
  readonly #finished = new RecentSet<string>(rememberedFinished);
  /** Where the last sweeps' messages were acknowledged: a leader that dies may take acknowledgements with it. */
  #acknowledged: string[] = [];
  #acknowledgedBefore: string[] = [];
  #sweptAt = performance.now();
  readonly #signsOfLife: NodeJS.Timeout;
  readonly #ignoreConnection: () => void;
  readonly #closing = new AbortController();
  #recovering = false;
  #looking = false;
  #lost = 0;
  #detached = false;
  /** When the journal was created whose positions are known here. */
  #journal: string | undefined;

  constructor(options: DurableOptions, context: PullerContext) {
    this.#context = context;
    this.#journal = this.#journalNow;
    const ledger = durableLedger(options.name, context, (entry) => this.#finish(entry));
    this.delivery = new DurableDelivery(options, context.retry, ledger, context.delivery, () => this.ask());
    this.#signsOfLife = setInterval(() => this.#showLife(), context.ackWaitMs / 3).unref();
    this.#ignoreConnection = context.connection.onChange(() => {
      this.#lost += 1;
      this.#askAnew();
    });
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

  /** A new leader may not know what was acknowledged to the last one, and would deliver it again, perhaps elsewhere. */
  heard(): void {
    if (this.#lost === 0) return;
    this.#lost = 0;
    const { nats } = this.#context.connection;
    for (const reply of [...this.#acknowledgedBefore, ...this.#acknowledged])
      nats.publish(reply, acknowledgement);
  }

  take(received: PulledMessage): void {
    const target = onlyFor(received);
    const foreign = target !== undefined && target !== this.name;
    if (this.#closing.signal.aborted) received.handBack(handBackDelayMs);
    else if (foreign) received.finish();
    else this.#offer(received);
  }

  ended(request: PullRequest, end: PullEnd): void {
    this.#requests.delete(request);
    if (!this.#wanted && this.#requests.size === 0) this.#giveBack();
    if (end === 'removed') this.#forgetAcknowledged();
    if (end === 'lost' || end === 'removed') void this.#recover(end);
    else this.ask();
  }

  /** Lets go of everything and asks for nothing until `resume`: the cursor is being moved. */
  detach(): void {
    this.#detached = true;
    this.delivery.reset();
    this.#held.clear();
    this.#finished.clear();
    this.#forgetAcknowledged();
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

  /** After the handlers have ended. What the server sent meanwhile is handed back: nobody else gets it before. */
  async end(): Promise<void> {
    clearInterval(this.#signsOfLife);
    this.#ignoreConnection();
    if (this.#context.connection.connected)
      await Promise.allSettled([...this.#requests].map((request) => request.drain()));
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

  /** Asks again after a while: a new leader answers as soon as it is elected. What is gone is created again. */
  async #recover(end: 'lost' | 'removed'): Promise<void> {
    if (this.#recovering) return;
    this.#recovering = true;
    this.#lost += 1;
    // Another process may be moving the cursor, which takes the consumer away for a moment.
    await delay(retryAfterMs);
    if (end === 'removed') await this.#look();
    else if (this.#lost % lookEvery === 0) void this.#look();
    this.#recovering = false;
    this.ask();
  }

  /** While there is no leader nobody answers this for seconds, so requests go on meanwhile. */
  async #look(): Promise<void> {
    if (this.#looking || !this.#wanted || this.#detached) return;
    this.#looking = true;
    try {
      await this.#remake();
    } catch (error) {
      const { logger } = this.#context.delivery;
      logger.warn({ durable: this.name, err: error }, 'failed to reach durable consumer');
    }
    this.#looking = false;
  }

  async #remake(): Promise<void> {
    const { connection, consumers, delivery, resources } = this.#context;
    if (!connection.connected) return;
    await resources.keeper.restore();
    if (this.#journal !== this.#journalNow) {
      this.#forgetAcknowledged();
      await consumers.beginAgain(this.delivery.options);
      this.#journal = this.#journalNow;
    } else if ((await consumers.info(this.name)) === undefined) {
      delivery.logger.warn({ durable: this.name }, 'durable consumer lost; recreating');
      this.#forgetAcknowledged();
      await consumers.ensure(this.delivery.options);
    }
  }

  /** To a consumer that was created anew, the same positions may be messages that nobody has handled. */
  #forgetAcknowledged(): void {
    this.#acknowledged = [];
    this.#acknowledgedBefore = [];
  }

  get #journalNow(): string | undefined {
    const { keeper, journal } = this.#context.resources;
    return keeper.createdAt(journal);
  }

  #offer(received: PulledMessage): void {
    const { position, redelivered } = received;
    const message = readMessage(received, this.#context.delivery.logger);
    if (message === undefined) received.refuse();
    else if (this.#finished.has(finishedKey(position, message.id))) received.finish();
    else if (this.#held.get(position)?.messageId === message.id)
      this.#held.set(position, { received, messageId: message.id });
    else if (this.delivery.offer({ position, message, redelivered }))
      this.#held.set(position, { received, messageId: message.id });
    else received.handBack(handBackDelayMs);
  }

  #finish({ position, message }: Entry): void {
    const held = this.#held.get(position);
    if (held?.messageId !== message.id) return;
    this.#held.delete(position);
    this.#finished.add(finishedKey(position, message.id));
    held.received.finish();
    if (this.#acknowledged.length < rememberedFinished) this.#acknowledged.push(held.received.reply);
  }

  #giveBack(): void {
    for (const { position } of this.delivery.reset()) {
      this.#held.get(position)?.received.handBack();
      this.#held.delete(position);
    }
  }

  #showLife(): void {
    if (this.#lost === 0 && performance.now() - this.#sweptAt > sweepMs) {
      this.#sweptAt = performance.now();
      this.#acknowledgedBefore = this.#acknowledged;
      this.#acknowledged = [];
    }
    for (const { received } of this.#held.values()) received.showLife();
  }
}

/** The same position of a journal that was created anew is another message. */
function finishedKey(position: number, messageId: string): string {
  return `${position} ${messageId}`;
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
