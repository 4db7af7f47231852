import { setTimeout as delay } from 'node:timers/promises';
import {
  JetStreamApiError,
  type JetStreamClient,
  type JetStreamManager,
  type StreamConfig,
  type StreamInfo,
  type StreamState,
} from '@nats-io/jetstream';
import { type KV, Kvm } from '@nats-io/kv';
import { errorMessage, Mutex } from '@trunkline/std';
import type { BusLogger, BusStream } from '../port.ts';
import { found, isTemporary, StaleCopyError } from './jetstream-errors.ts';
import type { StreamRecords } from './stream-records.ts';
import { cannotAdd, coversSubject, joinedSubjects, lackingSubjects } from './stream-subjects.ts';

export type NamedConfig = Partial<StreamConfig> & { name: string };

/** What the operator must know when a stream or bucket had vanished. */
export interface Loss {
  stream: string;
  words: string;
  /** Of a stream that had vanished: when the new one was created. Every bus that knew the old one finds out. */
  created?: string;
  /** It vanished before this bus was opened. */
  isEarlier?: boolean;
}

export interface KeeperSettings {
  client: JetStreamClient;
  manager: JetStreamManager;
  /** Undefined: three where the servers form a cluster of three or more, else one. */
  replicas: number | undefined;
  /** What was there before this start. */
  records: StreamRecords;
  logger: BusLogger;
}

interface LossNote {
  /** What is lost with the stream, as a sentence. */
  words: string;
  /** Removes what refers to the lost one, before anybody uses the new one. */
  clean?(): Promise<unknown>;
}

interface Kept {
  /** Creates the stream or bucket if it is missing, with so many copies. */
  create(replicas: number): Promise<unknown>;
  loss: LossNote;
  /** What the stream must take; of a bucket nothing is asked. */
  subjects: readonly string[];
  /** Subjects that the stream lacks and that NATS did not let this bus add. */
  refusal?: { subjects: readonly string[]; words: string } | undefined;
  /** When the server created the one that is known here. */
  created: string;
  /** The last sequence that this one has confirmed to this bus. */
  acknowledged: number;
  /** When that was, on the clock of `performance`. */
  acknowledgedAt: number;
  /** Whether it is being asked how far it goes. */
  isChecked: boolean;
}

/** What a stream says that it has stored. */
export interface StoreConfirmation {
  sequence: number;
  /** A second copy is confirmed with the sequence of the first. */
  isDuplicate: boolean;
  /** When the message was sent, on the clock of `performance`. */
  sentAt: number;
}

const clusterReplicas = 3;
/** JetStream's codes for more copies than there are servers: no suitable peers, insufficient resources, no cluster. */
const tooFewServers: readonly number[] = [10_005, 10_023, 10_074];
const restoreAtMostEveryMs = 1000;
const settleMs = 10_000;
const settleEveryMs = 50;

/**
 * The streams and buckets of a bus: created with the wanted number of copies, raised to it later where they have fewer,
 * never lowered, and created again when they have vanished.
 */
export class StreamKeeper {
  readonly #settings: KeeperSettings;
  readonly #kept = new Map<string, Kept>();
  readonly #onLoss: (loss: Loss) => void;
  /** Each loss is found once. */
  readonly #looks = new Mutex();
  #restoring: Promise<void> | undefined;
  #restoredAt = Number.NEGATIVE_INFINITY;
  #warned = false;

  constructor(settings: KeeperSettings, onLoss: (loss: Loss) => void) {
    this.#settings = settings;
    this.#onLoss = onLoss;
  }

  /**
   * Finds or creates a stream and brings it to the configuration, whatever number of copies it has. Subjects that it has
   * stay: a bus of another release beside this one may need them.
   */
  async stream(config: NamedConfig & { subjects: string[] }, loss: LossNote): Promise<void> {
    const { manager } = this.#settings;
    const { name, subjects } = config;
    const create = (replicas: number) => manager.streams.add({ ...config, num_replicas: replicas });
    const info = await this.#keep(name, create, loss, subjects);
    const wanted = { ...config, subjects: joinedSubjects(info.config.subjects ?? [], subjects) };
    if (!differs(info.config, wanted)) return;
    await manager.streams.update(name, wanted);
    // Whoever started at the same time may have written over it.
    const kept = this.#kept.get(name);
    if (kept !== undefined) await this.#addSubjects(await manager.streams.info(name), kept);
  }

  /** Why no stream takes a subject, or any that this bus needs, if NATS has refused to let one take it. */
  refusal(subject?: string): string | undefined {
    const refusals = [...this.#kept.values()].flatMap(({ refusal }) => refusal ?? []);
    const isMeant = (each: string) => subject === undefined || coversSubject(each, subject);
    return refusals.find(({ subjects }) => subjects.some(isMeant))?.words;
  }

  /**
   * Adds the subjects that a stream lacks, as when a bus that knows fewer durable topics has written over them. What NATS
   * refuses is logged once: it is tried again every second, and the other streams do not wait for it.
   */
  async #addSubjects({ config }: StreamInfo, kept: Kept): Promise<void> {
    const { manager, logger } = this.#settings;
    const { name, subjects: known = [] } = config;
    const lacking = lackingSubjects(known, kept.subjects);
    if (lacking.length > 0) {
      const fields = { stream: name, subjects: lacking };
      if (kept.refusal === undefined) logger.warn(fields, 'stream lacks subjects; adding them');
      try {
        // One that vanished meanwhile is found at the next look.
        await found(manager.streams.update(name, { subjects: joinedSubjects(known, kept.subjects) }));
      } catch (error) {
        if (isTemporary(error)) throw error;
        const words = cannotAdd(name, lacking, error);
        if (kept.refusal?.words !== words) logger.warn({ ...fields, err: error }, 'failed to add subjects');
        kept.refusal = { subjects: lacking, words };
        return;
      }
    }
    kept.refusal = undefined;
  }

  /** Finds or creates a bucket whose keys expire. */
  async bucket(name: string, ttl: number, loss: LossNote, client = this.#settings.client): Promise<KV> {
    // Any copy answers a direct read, also one that lacks what was stored a moment ago; this asks the leader.
    const options = { ttl, history: 1, allow_direct: false };
    const open = (replicas: number) => new Kvm(client).create(name, { ...options, replicas });
    await this.#keep(`KV_${name}`, open, loss);
    // Opens what exists: the number of copies has no effect here.
    return await open(1);
  }

  /** When the server created a stream: another time than before says that it was lost meanwhile. */
  createdAt(name: string): string | undefined {
    return this.#kept.get(name)?.created;
  }

  /** Learns what a stream has stored. */
  acknowledged(name: string, { sequence, isDuplicate, sentAt }: StoreConfirmation): void {
    const kept = this.#kept.get(name);
    if (kept === undefined) return;
    if (sequence > kept.acknowledged) {
      kept.acknowledged = sequence;
      kept.acknowledgedAt = performance.now();
    } else if (!isDuplicate && sentAt > kept.acknowledgedAt) void this.#checkSetBack(name, kept, sequence);
  }

  /** What is sent after a confirmation gets a later sequence, unless the stream is a new one or has lost what it had confirmed. */
  async #checkSetBack(name: string, kept: Kept, sequence: number): Promise<void> {
    if (kept.isChecked) return;
    kept.isChecked = true;
    const { acknowledged } = kept;
    try {
      const { created, state } = await this.#settings.manager.streams.info(name);
      if (this.#kept.get(name) !== kept || created !== kept.created) return;
      // A reader may have found it and reported it.
      if (kept.acknowledged !== acknowledged) return;
      this.#reportSetBack(name, kept, sequence - 1);
      kept.acknowledged = state.last_seq;
      kept.acknowledgedAt = performance.now();
    } catch (error) {
      this.#settings.logger.warn({ stream: name, err: error }, 'failed to read state of stream');
    } finally {
      kept.isChecked = false;
    }
  }

  /**
   * What a stream holds, as its leader says. Throws a StaleCopyError where the answer lacks what this bus has stored: a
   * server that stood still takes itself for the leader for a moment. `isSettled`: this is not the first such answer, so
   * that a single copy is believed.
   */
  async state(name: string, { isSettled = false } = {}): Promise<StreamState> {
    const kept = this.#kept.get(name);
    // What is confirmed after the question need not be in the answer.
    const before = { ...kept };
    const { created, state, config } = await this.#settings.manager.streams.info(name);
    const { acknowledged = 0 } = before;
    if (before.created !== created || state.last_seq >= acknowledged) return state;
    if (!isSettled || config.num_replicas > 1) throw new StaleCopyError(acknowledged);
    // Whoever asked at the same time may have reported it.
    if (kept?.acknowledged !== acknowledged) return state;
    this.#reportSetBack(name, kept, state.last_seq);
    kept.acknowledged = state.last_seq;
    return state;
  }

  #reportSetBack(name: string, { acknowledged }: Kept, last: number): void {
    const words = `The stream ${name} on NATS was set back: it ended at message ${last} after it had confirmed message ${acknowledged}. The messages between are lost. Did the server lose power, or was its store restored?`;
    this.#settings.logger.error({ stream: name, last, acknowledged }, words);
    this.#onLoss({ stream: name, words });
  }

  /** Creates what has vanished and reports each loss once. Failures are logged: whoever calls tries again later. */
  restore(): Promise<void> {
    if (this.#restoring === undefined && performance.now() - this.#restoredAt < restoreAtMostEveryMs)
      return Promise.resolve();
    this.#restoring ??= this.#restoreAll().finally(() => {
      this.#restoring = undefined;
      this.#restoredAt = performance.now();
    });
    return this.#restoring;
  }

  /** Raises the copies of what has fewer than wanted, as soon as there are servers for them. */
  async raise(): Promise<void> {
    for (const name of this.#kept.keys()) {
      const info = await found(this.#settings.manager.streams.info(name));
      if (info !== undefined) await this.#raise(info);
    }
  }

  /** Where every stream and bucket is stored. */
  async describe(): Promise<BusStream[]> {
    const infos = await Promise.all(
      [...this.#kept.keys()].map((name) => found(this.#settings.manager.streams.info(name))),
    );
    return infos.filter((info) => info !== undefined).map(describeStream);
  }

  async #keep(
    name: string,
    create: (replicas: number) => Promise<unknown>,
    loss: LossNote,
    subjects: readonly string[] = [],
  ): Promise<StreamInfo> {
    const { manager } = this.#settings;
    const before = this.#kept.get(name);
    if (before !== undefined) await this.#restoreOne(name, before);
    const known = await found(manager.streams.info(name));
    if (known === undefined) {
      await loss.clean?.();
      await this.#create(name, create);
    }
    const info = known ?? (await manager.streams.info(name));
    const { created } = info;
    const fresh = { acknowledged: 0, acknowledgedAt: 0, isChecked: false };
    this.#kept.set(name, { create, loss, subjects, created, ...fresh });
    if (before === undefined) await this.#compare(name, created, loss);
    if (known !== undefined) await this.#raise(known);
    return info;
  }

  /** Finds out what vanished while this bus did not run. */
  async #compare(name: string, created: string, loss: LossNote): Promise<void> {
    const { records } = this.#settings;
    const before = records.createdAt(name);
    if (before === undefined) await records.set(name, created);
    else if (before !== created) this.#reportVanished({ name, before, created, isEarlier: true }, loss);
  }

  async #create(name: string, create: (replicas: number) => Promise<unknown>): Promise<void> {
    const { replicas, logger } = this.#settings;
    try {
      await create(replicas ?? clusterReplicas);
    } catch (error) {
      if (!lacksServers(error)) throw error;
      if (replicas !== undefined) throw new Error(tooManyReplicas(replicas, error), { cause: error });
      logger.info({ stream: name }, 'stream has one copy: NATS has fewer than three servers');
      await create(1);
    }
  }

  async #raise({ config, cluster }: StreamInfo): Promise<void> {
    const { manager, replicas, logger } = this.#settings;
    const { name, num_replicas: before } = config;
    const after = replicas ?? (cluster?.name ? clusterReplicas : 1);
    if (before >= after) return;
    try {
      await manager.streams.update(name, { num_replicas: after });
      logger.info({ stream: name, before, after }, 'stream replicas raised');
      await this.#settled(name);
    } catch (error) {
      if (!lacksServers(error)) throw error;
      if (replicas === undefined || this.#warned) return;
      this.#warned = true;
      logger.warn({ stream: name, replicas: before, err: error }, tooManyReplicas(replicas, error));
    }
  }

  /** Until then a reader may meet a copy that is still empty. */
  async #settled(name: string): Promise<void> {
    const { manager, logger } = this.#settings;
    for (const until = performance.now() + settleMs; performance.now() < until; await delay(settleEveryMs)) {
      const info = await found(manager.streams.info(name));
      const { leader, peers } = info ? describeStream(info) : { leader: undefined, peers: [] };
      if (leader !== undefined && peers.every(({ current }) => current)) return;
    }
    logger.warn({ stream: name }, 'new copies of stream are still being filled');
  }

  async #restoreAll(): Promise<void> {
    const { logger } = this.#settings;
    for (const [name, kept] of this.#kept) {
      try {
        await this.#restoreOne(name, kept);
      } catch (error) {
        logger.warn({ stream: name, err: error }, 'failed to look for stream on NATS');
        // The others are on the same servers; each question that nobody answers takes seconds.
        return;
      }
    }
  }

  #restoreOne(name: string, kept: Kept): Promise<void> {
    return this.#looks.run(() => this.#look(name, kept));
  }

  async #look(name: string, kept: Kept): Promise<void> {
    const { manager } = this.#settings;
    const known = await found(manager.streams.info(name));
    if (known?.created === kept.created) {
      await this.#addSubjects(known, kept);
      return;
    }
    if (known === undefined) {
      await kept.loss.clean?.();
      await this.#create(name, kept.create);
    }
    const info = known ?? (await manager.streams.info(name));
    const { created } = info;
    const before = kept.created;
    kept.created = created;
    kept.acknowledged = 0;
    this.#reportVanished({ name, before, created, isEarlier: false }, kept.loss);
    await this.#addSubjects(info, kept);
  }

  #reportVanished({ name, before, created, isEarlier }: Vanished, loss: LossNote): void {
    const whether = isEarlier ? ' before this start, or NATS_URL names other servers now,' : '';
    const words = `The stream ${name} had vanished from NATS${whether} and was created again. ${loss.words}`;
    this.#settings.logger.error({ stream: name, before, created }, words);
    this.#onLoss({ stream: name, words, created, isEarlier });
  }
}

interface Vanished {
  name: string;
  /** When the lost one was created. */
  before: string;
  created: string;
  isEarlier: boolean;
}

function describeStream({ config, cluster, state }: StreamInfo): BusStream {
  const { leader, replicas = [] } = cluster ?? {};
  const peers = replicas.map(({ name, current, offline = false, active, lag = 0 }) => ({
    name,
    current: current && !offline,
    silentMs: Math.round(active / 1e6),
    lag,
  }));
  return {
    name: config.name,
    replicas: config.num_replicas,
    ...(leader !== undefined && { leader }),
    peers,
    messages: state.messages,
    bytes: state.bytes,
  };
}

function differs(known: StreamConfig, wanted: NamedConfig): boolean {
  return Object.entries(wanted).some(
    ([key, value]) => JSON.stringify(known[key as keyof StreamConfig]) !== JSON.stringify(value),
  );
}

function lacksServers(error: unknown): boolean {
  return error instanceof JetStreamApiError && tooFewServers.includes(error.code);
}

function tooManyReplicas(replicas: number, error: unknown): string {
  return `NATS cannot keep ${replicas} copies: ${errorMessage(error)}. Start so many servers with JetStream in one cluster, or lower NATS_REPLICAS`;
}
