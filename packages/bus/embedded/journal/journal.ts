import { join } from 'node:path';
import { type Database, type Migration, openDatabase, StorageError } from '@trunkline/storage';
import { BusError } from '../../errors.ts';
import {
  DeadLetterTable,
  type Edge,
  MessageTable,
  type OwnerKind,
  type Page,
  type Row,
  type StoredDeadLetter,
} from './message-table.ts';
import { type Cursor, type Progress, ProgressTable } from './progress-table.ts';

const rowsPerStep = 1000;

const keptDeadLetters = 10_000;

/** Of the journal's size: the rest is left to what has still to be handled. */
const deadLetterShare = 0.5;

/** What each kind of owner may hold of a full journal before it is the first to lose its oldest messages. */
const ownerShares = [
  ['stranger', 0.25],
  ['user', 0.5],
] as const;

/** What a message takes beside its body: key, topic, correlation, and their places in the indexes. */
const bytesBesideBody = 250;

export interface JournalOptions extends RetentionLimits {
  directory: string;
}

export interface JournalStart {
  lastPosition: number;
  /** Grows with every start on this directory. */
  starts: number;
}

/** A dead letter that was put into the journal again. */
export interface Replayed {
  position: number;
  name: string;
  body: string;
}

export type Journal = ReturnType<typeof openJournal>;

/**
 * The journal of the embedded engine. Messages and dead letters are on the disk when a call returns;
 * cursors and counts survive the process, and after a power cut at worst bring a message twice.
 */
export function openJournal(options: JournalOptions) {
  const path = join(options.directory, 'bus.db');
  const lock = takeLock(options.directory);
  const strict = openDatabase(path, { migrations, durability: 'full' });
  const relaxed = openDatabase(path, { migrations, durability: 'normal' });
  const messages = new MessageTable(strict);
  const progress = new ProgressTable(relaxed);
  const strictProgress = new ProgressTable(strict);
  const deadLetters = new DeadLetterTable(strict);
  const retention = new Retention(relaxed, progress, deadLetters, options);
  progress.grantGrace(options.forgetAfterMs, Date.now());

  return {
    start: (): JournalStart => ({ lastPosition: messages.lastPosition(), starts: countStart(strict) }),
    /** Cursors that moved share the transaction: one wait for the disk, and no second connection that reads anew. */
    append(rows: readonly Row[], moved: readonly Progress[] = []): number[] {
      // What was handled meanwhile may make room.
      if (retention.isFull()) progress.save(moved);
      retention.checkRoom();
      return strict.transaction(() => {
        strictProgress.store(moved);
        return messages.append(rows);
      });
    },
    readForward: (after: number, pattern: string, name: string, limit: number): Page =>
      messages.readForward(after, pattern, name, limit),
    readBackward: (before: number, pattern: string, limit: number): Page =>
      messages.readBackward(before, pattern, limit),
    readCorrelation: (correlationId: string, pattern: string, from: Edge, limit: number): Page =>
      messages.readCorrelation(correlationId, pattern, from, limit),
    openCursor: (name: string): Cursor => progress.open(name, messages.lastPosition()),
    saveProgress: (all: readonly Progress[]): void => progress.save(all),
    /** Sets the cursor back or forward; gives where it stands then, undefined for an unknown name. */
    moveCursor(name: string, position: number): number | undefined {
      if (progress.position(name) === undefined) return undefined;
      const target = Math.min(Math.max(position, messages.firstPosition() - 1), messages.lastPosition());
      progress.move(name, target);
      return target;
    },
    forgetCursor: (name: string): void => progress.forget(name),
    attempts: (name: string, position: number): number => progress.attempts(name, position),
    record: (name: string, position: number, attempts: number): void =>
      progress.record(name, position, attempts),
    bury: (name: string, position: number, attempts: number, error: string, body: string): void =>
      deadLetters.add(name, position, attempts, error, body),
    deadLetters: (limit: number): StoredDeadLetter[] => deadLetters.list(limit),
    replay: (id: number): Replayed | undefined => strict.transaction(() => replay(messages, deadLetters, id)),
    /** Notes the names in use, then removes what is too old. */
    maintain(names: readonly string[]): Pruned {
      progress.touch(names, Date.now());
      return retention.prune();
    },
    close(): void {
      relaxed.close();
      strict.close();
      lock.exec('ROLLBACK');
      lock.close();
    },
  };
}

/** Long enough for a predecessor that is just ending. */
const lockTimeoutMs = 1000;

/** Two processes on one journal would handle everything twice: the lock lasts as long as this process. */
function takeLock(directory: string): Database {
  const lock = openDatabase(join(directory, 'bus.lock.db'), { migrations: [] });
  try {
    lock.exec(`PRAGMA busy_timeout = ${lockTimeoutMs}; BEGIN IMMEDIATE`);
    return lock;
  } catch (error) {
    lock.close();
    if (!(error instanceof StorageError && error.code === 'database_busy')) throw error;
    const words = `Another process uses the bus journal in ${directory}: stop it, or give this one another directory.`;
    throw new BusError('journal_in_use', words, { cause: error });
  }
}

function countStart(database: Database): number {
  database.prepare('UPDATE starts SET count = count + 1').run();
  return database.prepare<{ count: number }>('SELECT count FROM starts').get()?.count ?? 1;
}

/** Appends the dead letter for its name alone and takes it off the list. */
function replay(messages: MessageTable, deadLetters: DeadLetterTable, id: number): Replayed | undefined {
  const letter = deadLetters.find(id);
  if (letter === undefined) return undefined;
  const { name, body } = letter;
  const { topic, correlationId } = JSON.parse(body) as { topic: string; correlationId: string };
  const [position = 0] = messages.append([[`replay ${id}`, topic, correlationId, body, name]]);
  deadLetters.remove(id);
  return { position, name, body };
}

/** `messages.key` is the message id, or `replay N` for a dead letter that goes once more to `only_for`. */
export const migrations: readonly Migration[] = [
  `
  CREATE TABLE messages (
    position INTEGER PRIMARY KEY AUTOINCREMENT,
    key TEXT NOT NULL UNIQUE,
    topic TEXT NOT NULL,
    correlation_id TEXT NOT NULL,
    stored_at INTEGER NOT NULL,
    only_for TEXT,
    body TEXT NOT NULL
  ) STRICT;
  CREATE INDEX messages_by_correlation ON messages (correlation_id);
  CREATE TABLE cursors (
    name TEXT PRIMARY KEY,
    position INTEGER NOT NULL,
    seen_at INTEGER NOT NULL
  ) STRICT, WITHOUT ROWID;
  CREATE TABLE attempts (
    name TEXT NOT NULL,
    position INTEGER NOT NULL,
    attempts INTEGER NOT NULL,
    PRIMARY KEY (name, position)
  ) STRICT, WITHOUT ROWID;
  CREATE TABLE dead_letters (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    name TEXT NOT NULL,
    position INTEGER NOT NULL,
    attempts INTEGER NOT NULL,
    error TEXT NOT NULL,
    buried_at INTEGER NOT NULL,
    body TEXT NOT NULL,
    UNIQUE (name, position)
  ) STRICT;
  CREATE TABLE starts (count INTEGER NOT NULL) STRICT;
  INSERT INTO starts (count) VALUES (0);
  `,
  `
  CREATE TABLE finished (
    name TEXT NOT NULL,
    position INTEGER NOT NULL,
    PRIMARY KEY (name, position)
  ) STRICT, WITHOUT ROWID;
  `,
  // Of what was stored before nobody knows whose it is.
  `
  ALTER TABLE messages ADD COLUMN owner_kind TEXT;
  CREATE INDEX messages_by_owner ON messages (owner_kind, position, octet_length(body)) WHERE owner_kind IS NOT NULL;
  `,
];

interface RetentionLimits {
  retainMs: number;
  retainBytes: number;
  forgetAfterMs: number;
}

interface Pruned {
  /** Durable names that had no subscriber for too long. */
  forgotten: string[];
  /** Dead letters dropped because there were too many. */
  deadLettersLost: number;
}

/** Removes old messages, never one that a durable name has still to handle. */
class Retention {
  readonly #database: Database;
  readonly #progress: ProgressTable;
  readonly #deadLetters: DeadLetterTable;
  readonly #limits: RetentionLimits;
  /** Dead letters that went since the last look. */
  #deadLettersLost = 0;

  constructor(
    database: Database,
    progress: ProgressTable,
    deadLetters: DeadLetterTable,
    limits: RetentionLimits,
  ) {
    this.#database = database;
    this.#progress = progress;
    this.#deadLetters = deadLetters;
    this.#limits = limits;
  }

  isFull(): boolean {
    return this.#usedBytes() >= this.#limits.retainBytes;
  }

  /** Makes room when the journal is at its limit; throws when everything in it has still to be handled. */
  checkRoom(): void {
    while (this.isFull()) {
      const removed =
        this.#removeBeyondShares() ||
        this.#removeOldest(Number.POSITIVE_INFINITY) ||
        this.#removeDeadLetters();
      if (removed === 0) throw this.#full();
    }
  }

  /** Many strangers must not push out what others wrote: whoever holds more than their share loses the oldest of theirs. */
  #removeBeyondShares(): number {
    for (const [kind, share] of ownerShares) {
      const beyond = this.#bytesOf(kind) - this.#limits.retainBytes * share;
      const removed = beyond > 0 ? this.#removeOldestOf(kind, beyond) : 0;
      if (removed > 0) return removed;
    }
    return 0;
  }

  #bytesOf(kind: OwnerKind): number {
    const sql = 'SELECT total(octet_length(body) + ?) AS bytes FROM messages WHERE owner_kind = ?';
    return this.#database.prepare<{ bytes: number }>(sql).get(bytesBesideBody, kind)?.bytes ?? 0;
  }

  /** Removes so many bytes, but at most a thousand messages, and none that has still to be handled; gives their number. */
  #removeOldestOf(kind: OwnerKind, bytes: number): number {
    const floor = this.#progress.hindmost()?.position ?? Number.MAX_SAFE_INTEGER;
    const oldest = this.#database
      .prepare<{ position: number; bytes: number }>(
        'SELECT position, octet_length(body) AS bytes FROM messages WHERE owner_kind = ? AND position <= ? ORDER BY position LIMIT ?',
      )
      .all(kind, floor, rowsPerStep);
    let left = bytes;
    const last = oldest.find((row) => {
      left -= row.bytes + bytesBesideBody;
      return left <= 0;
    });
    const end = (last ?? oldest.at(-1))?.position ?? 0;
    const sql = 'DELETE FROM messages WHERE owner_kind = ? AND position <= ?';
    return this.#database.prepare(sql).run(kind, end).changes;
  }

  prune(): Pruned {
    const now = Date.now();
    const forgotten = this.#progress.unseenSince(now - this.#limits.forgetAfterMs);
    for (const name of forgotten) this.#progress.forget(name);
    while (this.#removeOldest(now - this.#limits.retainMs) === rowsPerStep);
    this.#removeDeadLetters();
    const deadLettersLost = this.#deadLettersLost;
    this.#deadLettersLost = 0;
    return { forgotten, deadLettersLost };
  }

  /** Dead letters lie in the same file, and must not fill it. */
  #removeDeadLetters(): number {
    const bytes = this.#limits.retainBytes * deadLetterShare;
    const removed = this.#deadLetters.keepNewest(keptDeadLetters, bytes);
    this.#deadLettersLost += removed;
    return removed;
  }

  /** Removes up to a thousand of the oldest messages stored before the time; gives their number. */
  #removeOldest(before: number): number {
    const floor = this.#progress.hindmost()?.position ?? Number.MAX_SAFE_INTEGER;
    const oldest = this.#database
      .prepare<{ position: number; stored_at: number }>(
        'SELECT position, stored_at FROM messages WHERE position <= ? ORDER BY position LIMIT ?',
      )
      .all(floor, rowsPerStep);
    const young = oldest.findIndex((row) => row.stored_at >= before);
    const doomed = young === -1 ? oldest : oldest.slice(0, young);
    const last = doomed.at(-1);
    if (last === undefined) return 0;
    return this.#database.prepare('DELETE FROM messages WHERE position <= ?').run(last.position).changes;
  }

  /** Pages in use; those that deleted messages left behind are used again before the file grows. */
  #usedBytes(): number {
    const pages = this.#pragma('page_count') - this.#pragma('freelist_count');
    return pages * this.#pragma('page_size');
  }

  #pragma(name: 'page_count' | 'freelist_count' | 'page_size'): number {
    return this.#database.prepare<Record<string, number>>(`PRAGMA ${name}`).get()?.[name] ?? 0;
  }

  #full(): BusError {
    const behind = this.#progress.hindmost();
    const words = `The bus journal is at its limit of ${this.#limits.retainBytes} bytes and the durable name ${behind?.name} has still to handle all of it: see why its subscriber stands still, or raise the journal's size.`;
    return new BusError('journal_full', words);
  }
}
