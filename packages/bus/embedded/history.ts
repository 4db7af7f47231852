import { join } from 'node:path';
import { type Database, openDatabase, TtlTable, ttlTableMigration } from '@trunkline/storage';
import { historyLimit } from '../identifier.ts';
import { decodeMessage } from '../message.ts';
import { checkKey, checkValue } from '../options.ts';
import type { HistoryEntry, HistoryQuery, Memory, MemoryOptions } from '../port.ts';
import { checkPattern } from '../topics/topic.ts';
import type { Page, Stored } from './journal/message-table.ts';
import type { JournalThread } from './journal/thread.ts';

const sweepEveryMs = 60_000;

/** Reads the journal in small steps, so that publishers get their turn between them. */
export async function readHistory(
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
export class EmbeddedMemories {
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
