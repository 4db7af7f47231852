import type { Database } from '@trunkline/storage';
import type { DeliveryPolicy, Notification } from './delivery.ts';

/** Notification of whoever connects next. */
export const anyone = '*';

export interface PendingNotification extends Notification {
  id: number;
}

interface Row {
  id: number;
  sender: string;
  text: string;
  policy: DeliveryPolicy;
}

const mostPerUser = 100;
const longestText = 20_000;

/** Notification that nobody has heard yet; they survive a restart. */
export class PendingStore {
  readonly #database: Database;

  constructor(database: Database) {
    this.#database = database;
  }

  /** Keeps news; of one user's the newest hundred. */
  add(userId: string, { from, text, policy }: Notification): PendingNotification {
    const short = text.slice(0, longestText);
    const { lastInsertRowid } = this.#database
      .prepare('INSERT INTO deliveries (user_id, sender, text, policy, created_at) VALUES (?, ?, ?, ?, ?)')
      .run(userId, from, short, policy, Date.now());
    this.#dropOldest(userId);
    return { id: lastInsertRowid, from, text: short, policy };
  }

  /** What waits for a user, oldest first. */
  waitingFor(userId: string): PendingNotification[] {
    const rows = this.#database
      .prepare<Row>('SELECT id, sender, text, policy FROM deliveries WHERE user_id IN (?, ?) ORDER BY id')
      .all(userId, anyone);
    return rows.map(({ id, sender, text, policy }) => ({ id, from: sender, text, policy }));
  }

  remove(id: number): void {
    this.#database.prepare('DELETE FROM deliveries WHERE id = ?').run(id);
  }

  #dropOldest(userId: string): void {
    this.#database
      .prepare(
        `DELETE FROM deliveries WHERE user_id = ? AND id NOT IN
           (SELECT id FROM deliveries WHERE user_id = ? ORDER BY id DESC LIMIT ${mostPerUser})`,
      )
      .run(userId, userId);
  }
}
