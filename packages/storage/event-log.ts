import type { Database, Statement } from './database.ts';
import { checkTableName } from './errors.ts';

export interface LoggedEvent<T> {
  sequence: number;
  stream: string;
  /** When it was appended, in milliseconds. */
  at: number;
  event: T;
}

export interface ReadOptions {
  /** Only events above this sequence. */
  after?: number;
  limit?: number;
}

/** The tables of an `EventLog` of that name: one migration of the database that will hold it. */
export function eventLogMigration(table: string): string {
  checkTableName(table);
  return `
    CREATE TABLE ${table} (
      sequence INTEGER PRIMARY KEY AUTOINCREMENT,
      stream TEXT NOT NULL,
      at INTEGER NOT NULL,
      event TEXT NOT NULL
    ) STRICT;
    CREATE INDEX ${table}_by_stream ON ${table} (stream, sequence);
    CREATE INDEX ${table}_by_time ON ${table} (at);
    CREATE TABLE ${table}_cursor (name TEXT PRIMARY KEY, sequence INTEGER NOT NULL) STRICT, WITHOUT ROWID;
  `;
}

type EventRow = LoggedEvent<string>;

const defaultLimit = 1000;

/**
 * An append-only log of JSON events in streams. Sequences rise over all streams and are never given twice,
 * so the one number orders everything and can serve as an event id.
 */
export class EventLog<T = unknown> {
  readonly #database: Database;
  readonly #table: string;
  readonly #now: () => number;

  constructor(database: Database, table: string, now: () => number = Date.now) {
    this.#database = database;
    this.#table = checkTableName(table);
    this.#now = now;
  }

  /** Appends all or none; gives the sequence of each. */
  append(stream: string, events: readonly T[]): number[] {
    const insert = this.#prepare('INSERT INTO $ (stream, at, event) VALUES (?, ?, ?)');
    const at = this.#now();
    return this.#database.transaction(() =>
      events.map((event) => insert.run(stream, at, JSON.stringify(event)).lastInsertRowid),
    );
  }

  /** Events of one stream, oldest first. */
  read(stream: string, options: ReadOptions = {}): LoggedEvent<T>[] {
    return this.#prepare<EventRow>(
      'SELECT * FROM $ WHERE stream = ? AND sequence > ? ORDER BY sequence LIMIT ?',
    )
      .all(stream, options.after ?? 0, options.limit ?? defaultLimit)
      .map((row) => ({ ...row, event: JSON.parse(row.event) as T }));
  }

  #prepare<Row>(sql: string): Statement<Row> {
    return this.#database.prepare<Row>(sql.replaceAll('$', this.#table));
  }
}
