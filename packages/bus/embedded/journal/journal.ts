import { join } from 'node:path';
import { type Database, openDatabase, StorageError } from '@trunkline/storage';
import { BusError } from '../../errors.ts';
import { DeadLetterTable, type StoredDeadLetter } from './dead-letter-table.ts';
import { type Edge, MessageTable, type Page, type Row } from './message-table.ts';
import { type Cursor, type Progress, ProgressTable } from './progress-table.ts';
import { type Pruned, Retention, type RetentionLimits } from './retention.ts';
import { migrations } from './schema.ts';

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
  const deadLetters = new DeadLetterTable(strict);
  const retention = new Retention(relaxed, progress, deadLetters, options);
  progress.grantGrace(options.forgetAfterMs, Date.now());

  return {
    start: (): JournalStart => ({ lastPosition: messages.lastPosition(), starts: countStart(strict) }),
    append(rows: readonly Row[]): number[] {
      retention.checkRoom();
      return messages.append(rows);
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
