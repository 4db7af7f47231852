import { type ApiError, jetstream } from '@nats-io/jetstream';
import { errorMessage } from '@trunkline/std';
import { BaseBus, type BusSetup } from '../delivery/base-bus.ts';
import { errorTopic } from '../delivery/live-subscription.ts';
import { BusError } from '../errors.ts';
import { historyLimit } from '../identifier.ts';
import { checkMessage } from '../message.ts';
import { checkLease, checkMemory } from '../options.ts';
import type {
  Bus,
  BusCluster,
  DeadLetter,
  Draft,
  Handler,
  HistoryEntry,
  HistoryQuery,
  Lease,
  LeaseOptions,
  Memory,
  MemoryOptions,
  Published,
  ReplayTarget,
  SubscribeOptions,
  Subscription,
} from '../port.ts';
import { type Connection, missingPermission, openConnection, serverWarning } from './connection.ts';
import { DurableConsumers } from './durable-consumers.ts';
import { untilElected } from './jetstream-errors.ts';
import { LossReports } from './loss-reports.ts';
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
import type { Loss } from './stream-keeper.ts';
import { openStreamRecords, type StreamRecords } from './stream-records.ts';

/** A load balancer waits for the answer. */
const probeTimeoutMs = 2000;
/** No stream has a message 0. A number beyond the end is no substitute: the copies of 2.9 and 2.10 are reset by it. */
const noMessage = JSON.stringify({ seq: 0, no_erase: true });
/** JetStream's code for a removal that found nothing. */
const nothingRemoved = 10_057;
/** Nothing can be stored in a sealed stream. */
const streamSealed = 10_109;

interface Setup extends BusSetup {
  natsSettings: NatsSettings;
  /** Where it is recorded when the streams were created. */
  streamsFile: string | undefined;
}

export async function openNatsBus(access: NatsAccess, setup: Setup): Promise<Bus> {
  const { natsSettings, logger } = setup;
  const connection = await openConnection(access, natsSettings.connectTimeoutMs, logger);
  try {
    const records = await openStreamRecords(setup.streamsFile, logger);
    const early: Loss[] = [];
    let report = (loss: Loss): void => {
      early.push(loss);
    };
    const resources = await openResources(connection, {
      ...setup,
      records,
      onLoss: (loss) => report(loss),
    });
    const warning = serverWarning(connection.nats.info);
    if (warning !== undefined) logger.warn({}, warning);
    const bus = new NatsBus(connection, resources, { ...setup, records });
    for (const loss of early) bus.losses.add(loss);
    report = (loss) => bus.losses.add(loss);
    return bus;
  } catch (error) {
    await connection.nats.close();
    throw error;
  }
}

class NatsBus extends BaseBus {
  /** Losses that are to be reported. */
  readonly losses: LossReports;
  protected readonly engine = 'nats';
  protected readonly live: NatsLive;
  protected readonly durable: NatsDurable;
  readonly #connection: Connection;
  readonly #resources: Resources;
  readonly #natsSettings: NatsSettings;
  readonly #retention: NatsRetention;
  readonly #outbox: Outbox;
  readonly #deadLetters: NatsDeadLetters;
  readonly #leases = new Set<NatsLease>();
  #maintaining = false;
  #published = 0;

  constructor(
    connection: Connection,
    resources: Resources,
    setup: Omit<Setup, 'streamsFile'> & { records: StreamRecords },
  ) {
    super(setup);
    const { settings, natsSettings, durableTopics, records, logger } = setup;
    this.#connection = connection;
    this.#resources = resources;
    this.#natsSettings = natsSettings;
    this.#retention = new NatsRetention(resources, settings);
    this.#outbox = new Outbox(connection, natsSettings, {
      acknowledged: (stream, confirmation) => resources.keeper.acknowledged(stream, confirmation),
      makeRoom: () => this.#retention.makeRoom(),
      restoreStreams: () => this.#restore(),
      moveLeader: (stream) => this.#moveLeader(stream),
      refusal: (subject) => resources.keeper.refusal(subject),
    });
    this.#deadLetters = new NatsDeadLetters(resources, this.#outbox, natsSettings.prefix);
    this.losses = new LossReports({
      marks: resources.progress,
      publish: (draft) => this.publish(draft),
      restore: () => this.#restore(),
      records,
      logger,
    });
    this.live = new NatsLive(connection, natsSettings.prefix, durableTopics, this.delivery);
    this.durable = new NatsDurable({
      connection,
      resources,
      consumers: new DurableConsumers(resources, settings, natsSettings),
      deadLetters: this.#deadLetters,
      delivery: this.delivery,
      retry: this.retry,
      ackWaitMs: natsSettings.ackWaitMs,
      untilElected: (ask) => this.#untilElected(ask),
    });
  }

  async publish(draft: Draft): Promise<Published> {
    this.checkRunning();
    const checked = checkMessage(draft);
    const { id, correlationId, topic } = checked.message;
    const text = checked.text();
    const subject = subjectOf(this.#natsSettings.prefix, topic);
    this.#published += 1;
    const stored = this.setup.durableTopics.has(topic);
    await this.#outbox.send(stored ? { subject, text, key: id } : { subject, text });
    return { id, correlationId };
  }

  override async subscribe(
    pattern: string,
    handler: Handler,
    options?: SubscribeOptions,
  ): Promise<Subscription> {
    const subscription = await super.subscribe(pattern, handler, options);
    if (pattern === errorTopic) this.losses.heard();
    return subscription;
  }

  /** Who listens elsewhere is not known here. */
  isHeard(): boolean {
    return true;
  }

  async history(query: HistoryQuery = {}): Promise<HistoryEntry[]> {
    const { durableTopics, logger } = this.setup;
    const limited = { ...query, limit: historyLimit(query) };
    return readNatsHistory(this.#resources, this.#natsSettings.prefix, durableTopics, limited, logger);
  }

  deadLetters(): Promise<DeadLetter[]> {
    return this.#deadLetters.list();
  }

  async replay(target: ReplayTarget): Promise<void> {
    if ('durable' in target) await this.durable.moveCursor(target.durable, target.after);
    else await this.#deadLetters.replay(target.deadLetterId);
  }

  async lease(name: string, options: LeaseOptions): Promise<Lease> {
    this.checkRunning();
    checkLease(name, options);
    const { prefix } = this.#natsSettings;
    // A question that lasts longer than the lease has no use.
    const client = jetstream(this.#connection.nats, { timeout: options.ttlMs / 3 });
    const note = { words: 'Who leads is decided anew.' };
    const { ttlMs } = options;
    const bucket = await this.#untilElected(() =>
      this.#resources.keeper.bucket(`${prefix}-lease-${ttlMs}`, ttlMs, note, client),
    );
    const lease = new NatsLease(name, options, {
      bucket,
      presence: new Presence(this.#connection.nats, prefix, options.ttlMs / 3),
      restore: () => this.#restore(),
      logger: this.setup.logger,
    });
    this.#leases.add(lease);
    this.#connection.onChange((isConnected) => lease.connectionChanged(isConnected));
    await lease.begin();
    return lease;
  }

  async memory(name: string, options: MemoryOptions): Promise<Memory> {
    this.checkRunning();
    checkMemory(name, options);
    const { prefix, publishTimeoutMs: limitMs, maxPending } = this.#natsSettings;
    const note = {
      words:
        'Webhooks that were accepted before can be accepted once more, and turns that were cut off begin anew.',
    };
    const { ttlMs, longest } = options;
    const bucket = await this.#untilElected(() =>
      this.#resources.keeper.bucket(`${prefix}-memory-${ttlMs}`, ttlMs, note),
    );
    const { signal } = this.delivery;
    const restore = () => this.#restore();
    return new NatsMemory({ name, bucket, longest, limitMs, maxPending, signal, restore });
  }

  protected get pending(): number {
    return this.#outbox.pending;
  }

  protected get connected(): boolean {
    return this.#connection.connected;
  }

  protected async close(): Promise<void> {
    await this.durable.end();
    this.losses.close();
    await Promise.all([...this.#leases].map((lease) => this.#giveUp(lease)));
    this.#outbox.close();
    await this.#connection.flush();
    await this.#connection.nats.close();
  }

  /** What was published may come back over the wire: all is done only when nothing new was. */
  protected async drain(deadline: number): Promise<boolean> {
    for (;;) {
      const published = this.#published;
      if (!(await this.drained(deadline))) return false;
      await this.#connection.flush();
      if (this.isIdle && published === this.#published) return true;
    }
  }

  async #giveUp(lease: NatsLease): Promise<void> {
    try {
      if (this.#connection.connected) await lease.release();
    } catch (error) {
      this.setup.logger.warn({ lease: lease.name, err: error }, 'failed to release lease; it expires');
    }
  }

  protected async maintain(): Promise<void> {
    if (this.#maintaining || !this.#connection.connected) return;
    this.#maintaining = true;
    try {
      await this.#restore();
      await this.#resources.keeper.raise();
      await this.durable.checkpoint();
      await this.#retention.prune();
    } catch (error) {
      this.setup.logger.warn({ err: error }, 'failed to prune journal');
    }
    this.#maintaining = false;
  }

  /** The streams on the server, and this connection's place in the cluster. */
  async cluster(): Promise<BusCluster> {
    const { nats } = this.#connection;
    const { cluster, server_name, version } = nats.info ?? {};
    const warning = serverWarning(nats.info);
    const [streams, behind] = await Promise.all([this.#resources.keeper.describe(), this.durable.behind()]);
    return {
      ...(cluster !== undefined && { name: cluster }),
      ...(server_name !== undefined && { server: server_name }),
      ...(version !== undefined && { serverVersion: version }),
      ...(warning !== undefined && { warning }),
      behind,
      streams,
    };
  }

  /**
   * Removes message 0, which does not exist. That changes nothing, but the servers answer it as they do every write: when a
   * majority has it in its log. A read proves nothing: a single copy without a leader answers it too.
   */
  async probe(): Promise<void> {
    this.checkRunning();
    const { connected, nats } = this.#connection;
    if (!connected) throw new BusError('unavailable', 'The connection to NATS is lost. See NATS_URL.');
    const subject = `$JS.API.STREAM.MSG.DELETE.${this.#resources.journal}`;
    const asked = nats.request(subject, noMessage, { timeout: probeTimeoutMs });
    const { error } = (await asked.catch(throwUnanswered)).json<{ error?: ApiError }>();
    // 400 is what the leader says of the question itself.
    const isAboutQuestion = error?.code === 400 && error.err_code !== streamSealed;
    if (error !== undefined && error.err_code !== nothingRemoved && !isAboutQuestion)
      throwUnanswered(new Error(error.description));
    const { keeper } = this.#resources;
    // It may be mended by now.
    if (keeper.refusal() !== undefined) await this.#restore();
    const problem = this.#outbox.problem ?? keeper.refusal();
    if (problem !== undefined) throw new BusError('unavailable', problem);
  }

  #untilElected<Answer>(ask: () => Promise<Answer>): Promise<Answer> {
    const { publishTimeoutMs: timeoutMs } = this.#natsSettings;
    return untilElected(ask, { timeoutMs, signal: this.delivery.signal });
  }

  async #moveLeader(stream: string): Promise<void> {
    const { logger } = this.setup;
    logger.warn({ stream }, 'stream does not store a message it knows; asking its leader to step down');
    try {
      const subject = `$JS.API.STREAM.LEADER.STEPDOWN.${stream}`;
      const answer = await this.#connection.nats.request(subject, '', { timeout: probeTimeoutMs });
      const { error } = answer.json<{ error?: ApiError }>();
      if (error !== undefined) throw new Error(error.description);
    } catch (error) {
      logger.warn({ stream, err: error }, 'failed to move leader of stream');
    }
  }

  #restore(): Promise<void> {
    return this.#connection.connected ? this.#resources.keeper.restore() : Promise.resolve();
  }
}

function throwUnanswered(error: unknown): never {
  const words =
    missingPermission(error) ??
    `The journal on NATS stores nothing now: ${errorMessage(error)}. It may elect a leader; otherwise see whether more than half of its servers run.`;
  throw new BusError('unavailable', words, { cause: error });
}
