import { type JetStreamClient, jetstream } from '@nats-io/jetstream';
import { type KV, Kvm } from '@nats-io/kv';
import { drained } from '../delivery/durable-delivery.ts';
import { DispatchLoop, FailureReporter } from '../delivery/live-subscription.ts';
import { checkSubscription, Requests } from '../delivery/requests.ts';
import { BusError } from '../errors.ts';
import { historyLimit } from '../identifier.ts';
import { checkMessage } from '../message.ts';
import { checkLease, checkMemory, type Settings } from '../options.ts';
import type {
  Bus,
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
import { type Connection, openConnection } from './connection.ts';
import { DurableConsumers } from './durable-consumers.ts';
import { NatsDeadLetters } from './nats-dead-letters.ts';
import { NatsDurable } from './nats-durable.ts';
import { readNatsHistory } from './nats-history.ts';
import { NatsLease, Presence } from './nats-lease.ts';
import { NatsLive } from './nats-live.ts';
import { NatsMemory } from './nats-memory.ts';
import { NatsRetention } from './nats-retention.ts';
import type { NatsAccess, NatsSettings } from './options.ts';
import { Outbox } from './outbox.ts';
import { openResources, type Resources, subjectOf } from './resources.ts';

interface Setup {
  settings: Settings;
  natsSettings: NatsSettings;
  durableTopics: DurableTopics;
  logger: BusLogger;
}

export async function openNatsBus(access: NatsAccess, setup: Setup): Promise<Bus> {
  const { settings, natsSettings, durableTopics, logger } = setup;
  const connection = await openConnection(access, natsSettings.connectTimeoutMs, logger);
  try {
    const resources = await openResources(connection, durableTopics, settings, natsSettings);
    return new NatsBus(connection, resources, setup);
  } catch (error) {
    await connection.nats.close();
    throw error;
  }
}

class NatsBus implements Bus {
  readonly #connection: Connection;
  readonly #resources: Resources;
  readonly #setup: Setup;
  readonly #retention: NatsRetention;
  readonly #outbox: Outbox;
  readonly #deadLetters: NatsDeadLetters;
  readonly #live: NatsLive;
  readonly #durable: NatsDurable;
  readonly #requests = new Requests(this);
  readonly #leases = new Set<NatsLease>();
  readonly #abort = new AbortController();
  readonly #liveCounters = { queued: 0, running: 0, dropped: 0 };
  readonly #maintenance: NodeJS.Timeout;
  #maintaining = false;
  #published = 0;
  #stopping: Promise<void> | undefined;
  #stopped = false;

  constructor(connection: Connection, resources: Resources, setup: Setup) {
    const { settings, natsSettings, durableTopics, logger } = setup;
    this.#connection = connection;
    this.#resources = resources;
    this.#setup = setup;
    this.#retention = new NatsRetention(resources, settings);
    this.#outbox = new Outbox(connection, natsSettings, () => this.#retention.makeRoom());
    this.#deadLetters = new NatsDeadLetters(resources, this.#outbox, natsSettings.prefix);
    const delivery = {
      loop: new DispatchLoop(),
      failures: new FailureReporter((draft) => this.publish(draft), logger),
      logger,
      signal: this.#abort.signal,
      firstDelivery: Object.freeze({
        attempt: 1,
        signal: this.#abort.signal,
        stopping: this.#abort.signal,
        begin: async () => undefined,
      }),
      live: this.#liveCounters,
    };
    this.#live = new NatsLive(connection, natsSettings.prefix, durableTopics, delivery);
    this.#durable = new NatsDurable({
      connection,
      resources,
      consumers: new DurableConsumers(resources, settings, natsSettings),
      deadLetters: this.#deadLetters,
      delivery,
      retry: { maxAttempts: settings.maxAttempts, delayMs: settings.retryDelayMs },
      ackWaitMs: natsSettings.ackWaitMs,
    });
    this.#maintenance = setInterval(() => void this.#maintain(), settings.maintainEveryMs).unref();
  }

  async publish(draft: Draft): Promise<Published> {
    this.#checkRunning();
    const checked = checkMessage(draft);
    const { id, correlationId, topic } = checked.message;
    const text = checked.text();
    const subject = subjectOf(this.#setup.natsSettings.prefix, topic);
    this.#published += 1;
    const stored = this.#setup.durableTopics.has(topic);
    await this.#outbox.send(stored ? { subject, text, key: id } : { subject, text });
    return { id, correlationId };
  }

  async subscribe(pattern: string, handler: Handler, options: SubscribeOptions = {}): Promise<Subscription> {
    this.#checkRunning();
    const checked = checkSubscription(pattern, handler, options);
    if (checked.kind === 'live') return this.#live.add(checked.live, checked.group);
    this.#setup.durableTopics.checkCovers(pattern);
    return this.#durable.add(checked.durable, checked.member);
  }

  request(topic: string, payload: unknown, options: RequestOptions): Promise<Message> {
    return this.#requests.request(topic, payload, options);
  }

  async history(query: HistoryQuery = {}): Promise<HistoryEntry[]> {
    const { natsSettings, durableTopics, logger } = this.#setup;
    const limited = { ...query, limit: historyLimit(query) };
    return readNatsHistory(this.#resources, natsSettings.prefix, durableTopics, limited, logger);
  }

  deadLetters(): Promise<DeadLetter[]> {
    return this.#deadLetters.list();
  }

  async replay(target: ReplayTarget): Promise<void> {
    if ('durable' in target) await this.#durable.moveCursor(target.durable, target.after);
    else await this.#deadLetters.replay(target.deadLetterId);
  }

  async lease(name: string, options: LeaseOptions): Promise<Lease> {
    this.#checkRunning();
    checkLease(name, options);
    const { prefix } = this.#setup.natsSettings;
    // A question that lasts longer than the lease has no use.
    const client = jetstream(this.#connection.nats, { timeout: options.ttlMs / 3 });
    const bucket = await this.#bucket(client, 'lease', options.ttlMs);
    const presence = new Presence(this.#connection.nats, prefix, options.ttlMs / 3);
    const lease = new NatsLease(name, bucket, options, presence, this.#setup.logger);
    this.#leases.add(lease);
    this.#connection.onChange((isConnected) => lease.connectionChanged(isConnected));
    await lease.begin();
    return lease;
  }

  async memory(name: string, options: MemoryOptions): Promise<Memory> {
    this.#checkRunning();
    checkMemory(name, options);
    const bucket = await this.#bucket(this.#resources.client, 'memory', options.ttlMs);
    const { publishTimeoutMs: limitMs, maxPending } = this.#setup.natsSettings;
    return new NatsMemory({ name, bucket, limitMs, maxPending, signal: this.#abort.signal });
  }

  status(): BusStatus {
    return {
      engine: 'nats',
      connected: !this.#stopped && this.#connection.connected,
      subscriptions: this.#live.size + this.#durable.size,
      queued: this.#liveCounters.queued + this.#durable.queued,
      pending: this.#outbox.pending,
      dropped: this.#liveCounters.dropped,
    };
  }

  stop(): Promise<void> {
    this.#stopping ??= this.#stop();
    return this.#stopping;
  }

  /** Durable subscriptions begin nothing new; the others empty their queues, and what handlers publish is still taken. */
  async #stop(): Promise<void> {
    clearInterval(this.#maintenance);
    this.#durable.close();
    if (!(await this.#drained())) {
      this.#setup.logger.warn(this.status(), 'bus stopped with handlers running');
    }
    this.#stopped = true;
    this.#abort.abort();
    this.#durable.end();
    await Promise.all([...this.#leases].map((lease) => this.#giveUp(lease)));
    this.#outbox.close();
    await this.#connection.flush();
    await this.#connection.nats.close();
  }

  /** What was published may come back over the wire: only when nothing new did, all is done. */
  async #drained(): Promise<boolean> {
    const deadline = performance.now() + this.#setup.settings.drainTimeoutMs;
    const idle = () => this.#liveIdle() && this.#durable.idle && this.#outbox.pending === 0;
    for (;;) {
      const published = this.#published;
      if (!(await drained(idle, deadline - performance.now()))) return false;
      await this.#connection.flush();
      if (idle() && published === this.#published) return true;
    }
  }

  async #giveUp(lease: NatsLease): Promise<void> {
    try {
      if (this.#connection.connected) await lease.release();
    } catch (error) {
      this.#setup.logger.warn({ lease: lease.name, err: error }, 'failed to release lease; it expires');
    }
  }

  async #maintain(): Promise<void> {
    if (this.#maintaining || !this.#connection.connected) return;
    this.#maintaining = true;
    try {
      await this.#durable.checkpoint();
      await this.#retention.prune();
    } catch (error) {
      this.#setup.logger.warn({ err: error }, 'failed to prune journal');
    }
    this.#maintaining = false;
  }

  /** One bucket for each time to live, as old servers know none for single keys. */
  #bucket(client: JetStreamClient, purpose: 'lease' | 'memory', ttl: number): Promise<KV> {
    const { prefix, replicas } = this.#setup.natsSettings;
    return new Kvm(client).create(`${prefix}-${purpose}-${ttl}`, { ttl, history: 1, replicas });
  }

  #liveIdle(): boolean {
    return this.#liveCounters.queued === 0 && this.#liveCounters.running === 0;
  }

  #checkRunning(): void {
    if (this.#stopped)
      throw new BusError('stopped', 'The bus has stopped: nothing can be published or subscribed.');
  }
}
