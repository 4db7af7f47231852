import { type Database, type Migration, openDatabase } from '@trunkline/storage';
import type { ProtocolVersion, TaskState } from '../protocol/model.ts';

const migrations: Migration[] = [
  `
  CREATE TABLE push_configs (
    task_id TEXT NOT NULL,
    id TEXT NOT NULL,
    config TEXT NOT NULL,
    expires_at INTEGER NOT NULL,
    settled INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (task_id, id)
  ) STRICT, WITHOUT ROWID;
  CREATE TABLE push_deliveries (
    number INTEGER PRIMARY KEY,
    task_id TEXT NOT NULL,
    at INTEGER NOT NULL,
    delivery TEXT NOT NULL
  ) STRICT;
  CREATE INDEX push_deliveries_by_task ON push_deliveries (task_id, number);
  CREATE INDEX push_deliveries_by_time ON push_deliveries (at);
  `,
  `
  CREATE TABLE push_unshared (
    number INTEGER PRIMARY KEY,
    task_id TEXT NOT NULL,
    id TEXT NOT NULL,
    at INTEGER NOT NULL,
    change TEXT NOT NULL
  ) STRICT;
  CREATE INDEX push_unshared_by_task ON push_unshared (task_id);
  `,
];

/** One attempt to reach a webhook. */
export interface PushDelivery {
  taskId: string;
  configId: string;
  /** When the attempt ended, in milliseconds. */
  at: number;
  /** The state of the task that it told. */
  state: TaskState;
  /** Counted from 1. */
  attempt: number;
  /** `refused`: the receiver said 4xx, or the address may not be reached; there is no further attempt. */
  outcome: 'delivered' | 'refused' | 'failed';
  /** The HTTP status, when there was an answer. */
  status?: number;
  reason?: string;
}

const lifetimeMs = 24 * 60 * 60 * 1000;
const mostRead = 1000;

/** Webhooks and their delivery attempts, in `a2a-push.db`. */
export class PushStore {
  readonly #database: Database;

  constructor(path: string) {
    this.#database = openDatabase(path, { migrations });
  }

  save(config: PushConfig, now: number): void {
    this.#database
      .prepare(
        `INSERT INTO push_configs (task_id, id, config, expires_at) VALUES (?, ?, ?, ?)
         ON CONFLICT (task_id, id) DO UPDATE SET config = excluded.config, expires_at = excluded.expires_at, settled = 0`,
      )
      .run(config.taskId, config.id, JSON.stringify(config), now + lifetimeMs);
  }

  delete(taskId: string, id: string): void {
    this.#database.prepare('DELETE FROM push_configs WHERE task_id = ? AND id = ?').run(taskId, id);
  }

  /** The end of the task was told, or given up: nothing is left to send. */
  settle(taskId: string, id: string): void {
    this.#database
      .prepare('UPDATE push_configs SET settled = 1 WHERE task_id = ? AND id = ?')
      .run(taskId, id);
  }

  /** Notes a change that others must know, in place of an earlier one of the same webhook; gives the number of the note. */
  noteUnshared(change: SharedWebhook, now: number): number {
    const { taskId, id } = subjectOf(change);
    this.forgetUnshared(change);
    const { lastInsertRowid } = this.#database
      .prepare('INSERT INTO push_unshared (task_id, id, at, change) VALUES (?, ?, ?, ?)')
      .run(taskId, id ?? '', now, JSON.stringify(change));
    return Number(lastInsertRowid);
  }

  /** What somebody changed later, here or elsewhere, takes the place of it. */
  forgetUnshared(change: SharedWebhook): void {
    const { taskId, id } = subjectOf(change);
    this.#database
      .prepare('DELETE FROM push_unshared WHERE task_id = ?1 AND id = coalesce(?2, id)')
      .run(taskId, id ?? null);
  }

  /** Others know it. */
  shared(number: number): void {
    this.#database.prepare('DELETE FROM push_unshared WHERE number = ?').run(number);
  }

  /** Oldest first. */
  unshared(): { number: number; change: SharedWebhook }[] {
    return this.#database
      .prepare<{ number: number; change: string }>(
        'SELECT number, change FROM push_unshared ORDER BY number LIMIT ?',
      )
      .all(mostRead)
      .map(({ number, change }) => ({ number, change: JSON.parse(change) as SharedWebhook }));
  }

  all(now: number): PushConfig[] {
    return this.#configs('expires_at > ?', now);
  }

  /** Those whose task may have ended without their being told; of one task, or of all. */
  unsettled(now: number, taskId?: string): PushConfig[] {
    const open = 'settled = 0 AND expires_at > ?';
    return taskId === undefined
      ? this.#configs(open, now)
      : this.#configs(`task_id = ? AND ${open}`, taskId, now);
  }

  record(delivery: PushDelivery): void {
    this.#database
      .prepare('INSERT INTO push_deliveries (task_id, at, delivery) VALUES (?, ?, ?)')
      .run(delivery.taskId, delivery.at, JSON.stringify(delivery));
  }

  /** Oldest first. */
  deliveries(taskId: string): PushDelivery[] {
    return this.#database
      .prepare<{ delivery: string }>(
        'SELECT delivery FROM push_deliveries WHERE task_id = ? ORDER BY number LIMIT ?',
      )
      .all(taskId, mostRead)
      .map((row) => JSON.parse(row.delivery) as PushDelivery);
  }

  sweep(now: number): void {
    this.#database.prepare('DELETE FROM push_configs WHERE expires_at <= ?').run(now);
    for (const table of ['push_deliveries', 'push_unshared'])
      this.#database.prepare(`DELETE FROM ${table} WHERE at <= ?`).run(now - lifetimeMs);
  }

  close(): void {
    this.#database.close();
  }

  #configs(where: string, ...values: (string | number)[]): PushConfig[] {
    return this.#database
      .prepare<{ config: string }>(`SELECT config FROM push_configs WHERE ${where} ORDER BY task_id, id`)
      .all(...values)
      .map((row) => JSON.parse(row.config) as PushConfig);
  }
}

function subjectOf(change: SharedWebhook): { taskId: string; id?: string | undefined } {
  return 'added' in change ? change.added : change.removed;
}

/** A change of a webhook of a task that several services share. */
export type SharedWebhook =
  /** `isSent`: the task had ended, which the service that added the webhook tells it. */
  { added: PushConfig; isSent: boolean } | { removed: { taskId: string; id?: string | undefined } };

/** A webhook registered for a task. */
export interface PushConfig {
  id: string;
  taskId: string;
  url: string;
  token?: string;
  /** How the token is announced in the Authorization header. */
  scheme: string;
  /** For `X-A2A-Notification-Token`, where it is another than that. */
  notificationToken?: string;
  /** The version of the caller who registered it: its notifications speak the same. */
  version: ProtocolVersion;
}
