import type { Database } from './database.ts';
import { checkTableName } from './errors.ts';
import type { Statement } from './statement.ts';

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

interface EventRow {
  sequence: number;
  stream: string;
  at: number;
  event: string;
}

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
      .map((row) => this.#parse(row));
  }

  /** Events of all streams in the order in which they were appended. */
  readAll(options: ReadOptions = {}): LoggedEvent<T>[] {
    return this.#prepare<EventRow>('SELECT * FROM $ WHERE sequence > ? ORDER BY sequence LIMIT ?')
      .all(options.after ?? 0, options.limit ?? defaultLimit)
      .map((row) => this.#parse(row));
  }

  /** The highest sequence in a stream, or with no stream the highest ever given; 0 when there is none. */
  lastSequence(stream?: string): number {
    const row =
      stream === undefined
        ? this.#database
            .prepare<{ last: number }>('SELECT seq AS last FROM sqlite_sequence WHERE name = ?')
            .get(this.#table)
        : this.#prepare<{ last: number | null }>('SELECT max(sequence) AS last FROM $ WHERE stream = ?').get(
            stream,
          );
    return row?.last ?? 0;
  }

  /** Removes a stream; gives how many events went. */
  deleteStream(stream: string): number {
    return this.#prepare('DELETE FROM $ WHERE stream = ?').run(stream).changes;
  }

  /**
   * Removes events appended before that time, except those which a cursor has not passed yet; gives how many went.
   * A reader that must not lose anything registers its cursor by advancing it to 0.
   */
  prune(before: number): number {
    return this.#prepare(
      'DELETE FROM $ WHERE at < ? AND sequence <= coalesce((SELECT min(sequence) FROM $_cursor), 9007199254740991)',
    ).run(before).changes;
  }

  /** How far the named reader has come; 0 for a new one. */
  cursor(name: string): number {
    return (
      this.#prepare<{ sequence: number }>('SELECT sequence FROM $_cursor WHERE name = ?').get(name)
        ?.sequence ?? 0
    );
  }

  /** Moves a cursor forward; a lower sequence leaves it where it is. Gives where it stands. */
  advance(name: string, sequence: number): number {
    const row = this.#prepare<{ sequence: number }>(
      `INSERT INTO $_cursor (name, sequence) VALUES (?, ?)
       ON CONFLICT (name) DO UPDATE SET sequence = max(sequence, excluded.sequence) RETURNING sequence`,
    ).get(name, sequence);
    return row?.sequence ?? sequence;
  }

  /** Forgets a reader that will not come back, so that it no longer holds back `prune`. */
  deleteCursor(name: string): void {
    this.#prepare('DELETE FROM $_cursor WHERE name = ?').run(name);
  }

  #parse(row: EventRow): LoggedEvent<T> {
    return { sequence: row.sequence, stream: row.stream, at: row.at, event: JSON.parse(row.event) as T };
  }

  #prepare<Row>(sql: string): Statement<Row> {
    return this.#database.prepare<Row>(sql.replaceAll('$', this.#table));
  }
}
