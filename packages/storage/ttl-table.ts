import type { Database, Statement } from './database.ts';
import { checkTableName } from './errors.ts';

/** The table of a `TtlTable` of that name: one migration of the database that will hold it. */
export function ttlTableMigration(table: string): string {
  checkTableName(table);
  return `
    CREATE TABLE ${table} (key TEXT PRIMARY KEY, value TEXT NOT NULL, expires_at INTEGER NOT NULL) STRICT, WITHOUT ROWID;
    CREATE INDEX ${table}_by_expiry ON ${table} (expires_at);
  `;
}

interface ValueRow {
  value: string;
}

/** JSON values by key, each with an end. What has expired is never given back, swept or not. */
export class TtlTable<T = unknown> {
  readonly #database: Database;
  readonly #table: string;
  readonly #now: () => number;

  constructor(database: Database, table: string, now: () => number = Date.now) {
    this.#database = database;
    this.#table = checkTableName(table);
    this.#now = now;
  }

  get(key: string): T | undefined {
    const row = this.#prepare<ValueRow>('SELECT value FROM $ WHERE key = ? AND expires_at > ?').get(
      key,
      this.#now(),
    );
    return row === undefined ? undefined : (JSON.parse(row.value) as T);
  }

  /** Stores a value for that many milliseconds from now, in place of any older one. */
  set(key: string, value: T, ttl: number): void {
    this.#prepare(
      `INSERT INTO $ (key, value, expires_at) VALUES (?, ?, ?)
       ON CONFLICT (key) DO UPDATE SET value = excluded.value, expires_at = excluded.expires_at`,
    ).run(key, JSON.stringify(value), this.#expiry(ttl));
  }

  /** Stores a value unless a live one is there; says whether it did. Tells a first delivery from a repeated one. */
  setIfAbsent(key: string, value: T, ttl: number): boolean {
    const { changes } = this.#prepare(
      `INSERT INTO $ (key, value, expires_at) VALUES (?, ?, ?)
       ON CONFLICT (key) DO UPDATE SET value = excluded.value, expires_at = excluded.expires_at WHERE expires_at <= ?`,
    ).run(key, JSON.stringify(value), this.#expiry(ttl), this.#now());
    return changes > 0;
  }

  /** Removes a key; says whether a live value was there. */
  delete(key: string): boolean {
    const row = this.#prepare<{ expires_at: number }>('DELETE FROM $ WHERE key = ? RETURNING expires_at').get(
      key,
    );
    return row !== undefined && row.expires_at > this.#now();
  }

  /** All live keys and values, by key. */
  entries(): [key: string, value: T][] {
    return this.#prepare<ValueRow & { key: string }>(
      'SELECT key, value FROM $ WHERE expires_at > ? ORDER BY key',
    )
      .all(this.#now())
      .map((row) => [row.key, JSON.parse(row.value) as T]);
  }

  /** Removes what has expired; gives how many rows went. */
  sweep(now: number = this.#now()): number {
    return this.#prepare('DELETE FROM $ WHERE expires_at <= ?').run(now).changes;
  }

  #expiry(ttl: number): number {
    if (!Number.isFinite(ttl))
      throw new RangeError(`A time to live must be a number of milliseconds, not ${ttl}.`);
    return Math.ceil(this.#now() + ttl);
  }

  #prepare<Row>(sql: string): Statement<Row> {
    return this.#database.prepare<Row>(sql.replaceAll('$', this.#table));
  }
}
