import type { Database } from '@trunkline/storage';

export interface StoredDeadLetter {
  id: number;
  name: string;
  attempts: number;
  error: string;
  buriedAt: number;
  body: string;
}

const columns = 'id, name, attempts, error, buried_at AS buriedAt, body';

/** Messages that a durable name gave up, with the reason. */
export class DeadLetterTable {
  readonly #database: Database;

  constructor(database: Database) {
    this.#database = database;
  }

  /** Storing the same one again, after a crash before the cursor moved, changes nothing. */
  add(name: string, position: number, attempts: number, error: string, body: string): void {
    this.#database
      .prepare(
        'INSERT INTO dead_letters (name, position, attempts, error, buried_at, body) VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT (name, position) DO NOTHING',
      )
      .run(name, position, attempts, error, Date.now(), body);
  }

  /** The newest ones, oldest first. */
  list(limit: number): StoredDeadLetter[] {
    return this.#database
      .prepare<StoredDeadLetter>(`SELECT ${columns} FROM dead_letters ORDER BY id DESC LIMIT ?`)
      .all(limit)
      .reverse();
  }

  find(id: number): StoredDeadLetter | undefined {
    return this.#database
      .prepare<StoredDeadLetter>(`SELECT ${columns} FROM dead_letters WHERE id = ?`)
      .get(id);
  }

  remove(id: number): void {
    this.#database.prepare('DELETE FROM dead_letters WHERE id = ?').run(id);
  }

  /** Keeps the newest, up to so many and so many bytes; gives the number that went. */
  keepNewest(count: number, bytes: number): number {
    return this.#database
      .prepare(
        `DELETE FROM dead_letters WHERE id <= (
           SELECT max(id) FROM (
             SELECT id, count(*) OVER newest AS number, sum(octet_length(body) + octet_length(error)) OVER newest AS bytes
             FROM dead_letters WINDOW newest AS (ORDER BY id DESC)
           ) WHERE number > ? OR bytes > ?
         )`,
      )
      .run(count, bytes).changes;
  }
}
