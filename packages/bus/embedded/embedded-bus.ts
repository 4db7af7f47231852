import { join } from 'node:path';
import { type Database, openDatabase, TtlTable, ttlTableMigration } from '@trunkline/storage';
import { BaseBus, type BusSetup } from '../delivery/base-bus.ts';
import { BusError, unknownDeadLetter } from '../errors.ts';
import { historyLimit } from '../identifier.ts';
import { checkMessage, decodeMessage } from '../message.ts';
import {
  type CommonOptions,
  checkKey,
  checkLease,
  checkMemory,
  checkValue,
  settingsOf,
  silentLogger,
} from '../options.ts';
import type {
  Bus,
  BusCluster,
  DeadLetter,
  Draft,
  HistoryEntry,
  HistoryQuery,
  Lease,
  LeaseOptions,
  Memory,
  MemoryOptions,
  Message,
  Published,
  ReplayTarget,
} from '../port.ts';
import { checkPattern } from '../topics/topic.ts';
import { DurableTopics, TopicIndex } from '../topics/topic-index.ts';
import { Appender, LiveRegistry, type Sink } from './appender.ts';
import { CursorSaver } from './cursor-saver.ts';
import { DurableRegistry } from './durable-registry.ts';
import type { JournalStart } from './journal/journal.ts';
import type { Page, Stored, StoredDeadLetter } from './journal/message-table.ts';
import { JournalThread } from './journal/thread.ts';

export interface EmbeddedBusOptions extends CommonOptions {
  /** Where the journal lies; one process at a time. */
  directory: string;
}

const listedDeadLetters = 1000;

/** A bus inside this process, with its journal in SQLite. */
export async function createEmbeddedBus(options: EmbeddedBusOptions): Promise<Bus> {
  const settings = settingsOf(options);
  const durableTopics = new DurableTopics(options.durableTopics);
  const { logger = silentLogger } = options;
  const { retainMs, retainBytes, forgetAfterMs } = settings;
  const journal = JournalThread.open({ directory: options.directory, retainMs, retainBytes, forgetAfterMs });
  try {
    const start = await journal.call('start');
    const memories = new EmbeddedMemories(options.directory);
    return new EmbeddedBus({ durableTopics, settings, logger }, journal, start, memories);
  } catch (error) {
    await journal.terminate();
    throw error;
  }
}

class EmbeddedBus extends BaseBus {
  protected readonly engine = 'embedded';
  protected readonly live: LiveRegistry;
  protected readonly durable: DurableRegistry;
  readonly #journal: JournalThread;
  readonly #memories: EmbeddedMemories;
  readonly #index = new TopicIndex<Sink>();
  readonly #appender: Appender;
  readonly #saver: CursorSaver;
  readonly #starts: number;
  #committed: number;

  constructor(setup: BusSetup, journal: JournalThread, start: JournalStart, memories: EmbeddedMemories) {
    super(setup);
    this.#journal = journal;
    this.#memories = memories;
    this.#committed = start.lastPosition;
    this.#starts = start.starts;
    this.#saver = new CursorSaver(journal, setup.logger);
    this.#appender = new Appender(journal, this.#saver, (message, position) =>
      this.#dispatch(message, position),
    );
    this.live = new LiveRegistry(this.#index, this.delivery);
    this.durable = new DurableRegistry(this.#index, {
      delivery: this.delivery,
      retry: this.retry,
      journal,
      saver: this.#saver,
      committed: () => this.#committed,
    });
  }

  async publish(draft: Draft): Promise<Published> {
    this.checkRunning();
    const checked = checkMessage(draft);
    const { message } = checked;
    if (this.setup.durableTopics.has(message.topic)) await this.#appender.append(checked);
    else this.#dispatch(message, 0);
    return { id: message.id, correlationId: message.correlationId };
  }

  isHeard(topic: string): boolean {
    return this.#index.match(topic).length > 0 || this.setup.durableTopics.has(topic);
  }

  history(query: HistoryQuery = {}): Promise<HistoryEntry[]> {
    return readHistory(this.#journal, this.#committed, query);
  }

  async deadLetters(): Promise<DeadLetter[]> {
    return (await this.#journal.call('deadLetters', listedDeadLetters)).map(deadLetterOf);
  }

  async replay(target: ReplayTarget): Promise<void> {
    if ('durable' in target) return this.durable.moveCursor(target.durable, target.after);
    const replayed = await this.#journal.call('replay', Number(target.deadLetterId));
    if (replayed === undefined) throw unknownDeadLetter(target.deadLetterId);
    this.#committed = Math.max(this.#committed, replayed.position);
    this.durable.deliverTo(replayed.name, decodeMessage(replayed.body), replayed.position);
  }

  async lease(name: string, options: LeaseOptions): Promise<Lease> {
    checkLease(name, options);
    return embeddedLease(name, this.#starts, options);
  }

  async memory(name: string, options: MemoryOptions): Promise<Memory> {
    this.checkRunning();
    checkMemory(name, options);
    return this.#memories.open(name, options);
  }

  async probe(): Promise<void> {
    this.checkRunning();
    await this.history({ limit: 1 });
  }

  async cluster(): Promise<BusCluster> {
    return { streams: [] };
  }

  protected get pending(): number {
    return this.#appender.pending;
  }

  protected get connected(): boolean {
    return this.#journal.failure === undefined;
  }

  protected drain(deadline: number): Promise<boolean> {
    return this.drained(deadline);
  }

  protected async close(): Promise<void> {
    this.#memories.close();
    if (this.#journal.failure !== undefined) return;
    await this.#saver.close();
    await this.#journal.close();
  }

  /** Positions come in order; a feed that takes none of them still knows that it missed nothing. */
  #dispatch(message: Message, position: number): void {
    if (position > 0) this.#committed = position;
    for (const sink of this.#index.match(message.topic)) sink.deliver(message, position);
  }

  protected async maintain(): Promise<void> {
    try {
      const names = this.durable.checkpoint();
      await this.#saver.flush();
      const { forgotten, deadLettersLost } = await this.#journal.call('maintain', names);
      this.durable.drop(forgotten);
      if (forgotten.length > 0)
        this.setup.logger.warn({ forgotten }, 'durable names without subscriber forgotten');
      if (deadLettersLost > 0) this.setup.logger.warn({ deadLettersLost }, 'oldest dead letters dropped');
    } catch (error) {
      this.setup.logger.error({ err: error }, 'failed to prune journal');
    }
  }
}

function deadLetterOf({ id, name, attempts, error, buriedAt, body }: StoredDeadLetter): DeadLetter {
  return { id: String(id), durable: name, attempts, error, buriedAt, message: decodeMessage(body) };
}

/** One process has the embedded bus for itself, so it holds every lease; the token grows with each start. */
function embeddedLease(name: string, starts: number, options: LeaseOptions): Lease {
  let token: number | undefined = starts;
  queueMicrotask(() => token !== undefined && options.onChange?.(token));
  return {
    name,
    get token() {
      return token;
    },
    confirm: async () => {
      if (token !== undefined) return token;
      throw new BusError('lease_lost', `The lease ${name} was released.`);
    },
    release: async () => {
      if (token === undefined) return;
      token = undefined;
      options.onChange?.(undefined);
    },
  };
}

const sweepEveryMs = 60_000;

/** Reads the journal in small steps, so that publishers get their turn between them. */
async function readHistory(
  journal: JournalThread,
  last: number,
  query: HistoryQuery,
): Promise<HistoryEntry[]> {
  const pattern = query.topic ?? '#';
  checkPattern(pattern);
  const limit = historyLimit(query);
  return (await find(journal, last, { ...query, pattern, limit })).map(entryOf);
}

interface Search extends HistoryQuery {
  pattern: string;
  limit: number;
}

function find(journal: JournalThread, last: number, search: Search): Promise<Stored[]> {
  const { correlationId, pattern, after, before: end, limit } = search;
  if (after !== undefined) {
    return following(after, last, limit, (scanned, missing) =>
      correlationId === undefined
        ? journal.call('readForward', scanned, pattern, '', missing)
        : journal.call('readCorrelation', correlationId, pattern, { after: scanned }, missing),
    );
  }
  return newest(end, limit, (before, missing) =>
    correlationId === undefined
      ? journal.call('readBackward', before, pattern, missing)
      : journal.call('readCorrelation', correlationId, pattern, { before }, missing),
  );
}

/** Reads the next page from a position on; it may hold fewer than are missing. */
type ReadPage = (from: number, missing: number) => Promise<Page>;

async function newest(end = Number.MAX_SAFE_INTEGER, limit: number, read: ReadPage): Promise<Stored[]> {
  const found: Stored[] = [];
  for (let before = end; before > 0 && found.length < limit; ) {
    const page = await read(before, limit - found.length);
    found.push(...page.found);
    before = page.scannedTo;
  }
  return found.reverse();
}

async function following(after: number, last: number, limit: number, read: ReadPage): Promise<Stored[]> {
  const found: Stored[] = [];
  for (let scanned = after; scanned < last && found.length < limit; ) {
    const page = await read(scanned, limit - found.length);
    found.push(...page.found);
    scanned = page.scannedTo;
  }
  return found;
}

function entryOf([position, body]: Stored): HistoryEntry {
  return { position, message: decodeMessage(body) };
}

/** Memories in one SQLite file, which is made when the first is asked for. */
class EmbeddedMemories {
  readonly #directory: string;
  #database: Database | undefined;
  #sweptAt = 0;

  constructor(directory: string) {
    this.#directory = directory;
  }

  open(name: string, { ttlMs, longest }: MemoryOptions): Memory {
    const table = this.#table();
    const placeOf = (key: string) => {
      checkKey(key);
      return `${name}/${key}`;
    };
    return {
      recall: async (key) => table.get(placeOf(key)),
      keep: async (key, value) => {
        const place = placeOf(key);
        checkValue(value, longest);
        this.#sweep(table);
        return table.setIfAbsent(place, value, ttlMs) ? value : (table.get(place) ?? value);
      },
      replace: async (key, value) => {
        const place = placeOf(key);
        checkValue(value, longest);
        this.#sweep(table);
        table.set(place, value, ttlMs);
      },
      forget: async (key) => void table.delete(placeOf(key)),
    };
  }

  close(): void {
    this.#database?.close();
  }

  #table(): TtlTable<string> {
    const path = join(this.#directory, 'memory.db');
    this.#database ??= openDatabase(path, { migrations: [ttlTableMigration('memory')] });
    return new TtlTable<string>(this.#database, 'memory');
  }

  #sweep(table: TtlTable<string>): void {
    if (Date.now() - this.#sweptAt < sweepEveryMs) return;
    this.#sweptAt = Date.now();
    table.sweep();
  }
}
