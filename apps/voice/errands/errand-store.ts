import type { Database } from '@trunkline/storage';

/** Something that a user sent the assistant off to do. */
export interface Errand {
  id: string;
  userId: string;
  query: string;
  /** How often it was begun. */
  attempts: number;
}

interface Row {
  id: string;
  user_id: string;
  query: string;
  attempts: number;
}

/** Errands that are not done yet; they survive a restart. */
export class ErrandStore {
  readonly #database: Database;

  constructor(database: Database) {
    this.#database = database;
  }

  save({ id, userId, query, attempts }: Errand): void {
    this.#database
      .prepare(
        `INSERT INTO errands (id, user_id, query, attempts) VALUES (?, ?, ?, ?)
         ON CONFLICT (id) DO UPDATE SET attempts = excluded.attempts`,
      )
      .run(id, userId, query, attempts);
  }

  remove(id: string): void {
    this.#database.prepare('DELETE FROM errands WHERE id = ?').run(id);
  }

  all(): Errand[] {
    const rows = this.#database.prepare<Row>('SELECT id, user_id, query, attempts FROM errands').all();
    return rows.map(({ user_id, ...row }) => ({ ...row, userId: user_id }));
  }
}
