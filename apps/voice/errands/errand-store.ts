import { anonymous, decodePrincipal, encodePrincipal, type Principal } from '@trunkline/identity';
import type { Database } from '@trunkline/storage';

/** Something that a user sent the assistant off to do. */
export interface Errand {
  id: string;
  userId: string;
  /** On whose behalf it is done. */
  principal: Principal;
  query: string;
  /** How often it was begun. */
  attempts: number;
}

interface Row {
  id: string;
  user_id: string;
  query: string;
  attempts: number;
  principal: string | null;
}

/** Errands that are not done yet; they survive a restart. */
export class ErrandStore {
  readonly #database: Database;

  constructor(database: Database) {
    this.#database = database;
  }

  save({ id, userId, query, attempts, principal }: Errand): void {
    this.#database
      .prepare(
        `INSERT INTO errands (id, user_id, query, attempts, principal) VALUES (?, ?, ?, ?, ?)
         ON CONFLICT (id) DO UPDATE SET attempts = excluded.attempts`,
      )
      .run(id, userId, query, attempts, encodePrincipal(principal));
  }

  remove(id: string): void {
    this.#database.prepare('DELETE FROM errands WHERE id = ?').run(id);
  }

  all(): Errand[] {
    const rows = this.#database
      .prepare<Row>('SELECT id, user_id, query, attempts, principal FROM errands')
      .all();
    return rows.map(({ user_id, principal, ...row }) => ({
      ...row,
      userId: user_id,
      principal: decodePrincipal(principal ?? '') ?? anonymous,
    }));
  }
}
