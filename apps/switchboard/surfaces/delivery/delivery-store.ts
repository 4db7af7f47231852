import type { Message } from '@trunkline/bus';
import { ownerFilter, type Principal } from '@trunkline/identity';
import type { Delivery, DeliveryState } from '../../api-types.ts';

import { ownerOfMessage } from '../../core/messages.ts';
import { Store } from '../../core/store.ts';

export interface DeliveryQuery {
  state?: DeliveryState | undefined;
  surface?: string | undefined;
  limit: number;
  /** Who looks. */
  principal: Principal;
}

interface Row extends Omit<Delivery, 'references'> {
  parts: string;
  message: string;
}

/** A delivery as switchboards share it; its message is in the journal. */
export interface SharedDelivery extends Delivery {
  owner: string;
}

const keptMs = 7 * 24 * 60 * 60 * 1000;

const migrations = [
  `CREATE TABLE deliveries (
     id TEXT PRIMARY KEY, surface TEXT NOT NULL, topic TEXT NOT NULL, correlationId TEXT NOT NULL, state TEXT NOT NULL,
     attempts INTEGER NOT NULL, error TEXT, parts TEXT NOT NULL, message TEXT NOT NULL, createdAt INTEGER NOT NULL,
     updatedAt INTEGER NOT NULL) STRICT;
   CREATE INDEX deliveries_by_time ON deliveries (updatedAt);`,
  `ALTER TABLE deliveries ADD COLUMN isReplay INTEGER NOT NULL DEFAULT 0;
   CREATE INDEX deliveries_in_replay ON deliveries (surface) WHERE isReplay = 1;`,
  `ALTER TABLE deliveries ADD COLUMN owner TEXT NOT NULL DEFAULT 'anonymous';
   CREATE INDEX deliveries_by_owner ON deliveries (owner, updatedAt);`,
  `ALTER TABLE deliveries ADD COLUMN isRefused INTEGER NOT NULL DEFAULT 0;`,
  'ALTER TABLE deliveries ADD COLUMN node TEXT;',
];

const columns = 'id, surface, topic, correlationId, state, attempts, error, parts, createdAt, updatedAt';

/** The state of every outbound message; deleted after seven days. */
export class DeliveryStore extends Store {
  #changed: (id: string, isMinor?: boolean) => void = () => undefined;

  constructor(path: string) {
    super(path, migrations);
  }

  /** Calls back with the id of each delivery that changes; all changes but those of its state are minor. */
  onChange(listener: (id: string, isMinor?: boolean) => void): void {
    this.#changed = listener;
  }

  /** Returns the record of a message, created on first use. One that was only refused, never tried, is queued again. */
  open(surface: string, message: Message): Delivery {
    const { id, topic, correlationId } = message;
    const now = Date.now();
    this.write(
      `INSERT INTO deliveries (id, surface, topic, correlationId, state, attempts, parts, message, createdAt, updatedAt, owner)
         VALUES (?, ?, ?, ?, 'queued', 0, '[]', ?, ?, ?, ?)
         ON CONFLICT DO UPDATE SET state = 'queued', surface = excluded.surface, attempts = 0, error = NULL, isRefused = 0,
           updatedAt = excluded.updatedAt WHERE isRefused = 1`,
      [id, surface, topic, correlationId, JSON.stringify(message), now, now, ownerOfMessage(message)],
    );
    this.#changed(id, true);
    return this.get(id) as Delivery;
  }

  shared(id: string): SharedDelivery | undefined {
    const row = this.one<Row & { owner: string }>(`SELECT ${columns}, owner FROM deliveries WHERE id = ?`, [
      id,
    ]);
    return row && { ...read(row), owner: row.owner };
  }

  /** Ids of the newest deliveries that have changed since. */
  newest(limit: number, since: number): string[] {
    const sql = 'SELECT id FROM deliveries WHERE updatedAt >= ? ORDER BY updatedAt DESC LIMIT ?';
    return this.all<{ id: string }>(sql, [since, limit]).map(({ id }) => id);
  }

  drop(id: string): void {
    this.write('DELETE FROM deliveries WHERE id = ?', [id]);
  }

  /** Stores a delivery of another switchboard, unless a later state of it is known. A message that is stored here stays. */
  take(delivery: SharedDelivery, node: string): void {
    if ((this.get(delivery.id)?.updatedAt ?? 0) > delivery.updatedAt) return;
    const message = this.one<Row>('SELECT message FROM deliveries WHERE id = ?', [delivery.id])?.message;
    this.#insert(delivery, message ?? '', node);
  }

  /** The switchboard that a delivery was taken from. */
  nodeOf(id: string): string | undefined {
    return this.one<{ node: string }>('SELECT node FROM deliveries WHERE id = ?', [id])?.node;
  }

  /** Goes on with a delivery of another switchboard, unless it is recorded here already; returns whether it does. */
  adopt(delivery: SharedDelivery, message: Message): boolean {
    if (this.get(delivery.id) !== undefined) return false;
    this.#insert(delivery, JSON.stringify(message), null);
    this.#changed(delivery.id);
    return true;
  }

  #insert(delivery: SharedDelivery, message: string, node: string | null): void {
    const { id, surface, topic, correlationId, state, attempts, error, references, ...rest } = delivery;
    const { createdAt, updatedAt, owner } = rest;
    this.write(
      `INSERT OR REPLACE INTO deliveries (${columns}, message, owner, node) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
      [
        ...[id, surface, topic, correlationId, state, attempts, error ?? null, JSON.stringify(references)],
        ...[createdAt, updatedAt, message, owner, node],
      ],
    );
  }

  /** Records a message that nobody can deliver now, unless it is recorded already. */
  refuse(surface: string, message: Message, why: string): void {
    if (this.get(message.id) !== undefined) return;
    this.open(surface, message);
    this.#set(message.id, "state = 'failed', isRefused = 1, attempts = 1, error = ?", why);
  }

  get(id: string): Delivery | undefined {
    const row = this.one<Row>(`SELECT ${columns} FROM deliveries WHERE id = ?`, [id]);
    return row && read(row);
  }

  messageOf(id: string): Message | undefined {
    const row = this.one<Row>('SELECT message FROM deliveries WHERE id = ?', [id]);
    return row && (JSON.parse(row.message) as Message);
  }

  list({ state, surface, limit, principal }: DeliveryQuery): Delivery[] {
    const seen = ownerFilter(principal);
    return this.all<Row>(
      `SELECT ${columns} FROM deliveries WHERE ${seen.sql} AND state = coalesce(?, state) AND surface = coalesce(?, surface)
         ORDER BY updatedAt DESC LIMIT ?`,
      [...seen.values, state ?? null, surface ?? null, limit],
    ).map(read);
  }

  attempted(id: string, error: string): void {
    this.#set(id, 'attempts = attempts + 1, error = ?', error, true);
  }

  arrived(id: string, reference: string): void {
    this.#set(id, "parts = json_insert(parts, '$[#]', ?)", reference, true);
  }

  settle(id: string, state: DeliveryState): void {
    this.#set(id, 'isReplay = 0, state = ?', state);
  }

  /** Queues it again, for this outlet; parts that arrived are kept. */
  requeue(id: string, surface: string): void {
    this.#set(id, "state = 'queued', isReplay = 1, isRefused = 0, attempts = 0, surface = ?", surface);
  }

  /** Unsettled replays of a surface, which the bus does not deliver. */
  replays(surface: string): Message[] {
    return this.all<Row>(
      'SELECT message FROM deliveries WHERE surface = ? AND isReplay = 1 ORDER BY updatedAt',
      [surface],
    ).map(({ message }) => JSON.parse(message) as Message);
  }

  sweep(): void {
    this.write('DELETE FROM deliveries WHERE updatedAt < ?', [Date.now() - keptMs]);
  }

  #set(id: string, change: string, value: string | number, isMinor = false): void {
    this.write(`UPDATE deliveries SET ${change}, updatedAt = ? WHERE id = ?`, [value, Date.now(), id]);
    this.#changed(id, isMinor);
  }
}

function read({ parts, ...row }: Row): Delivery {
  return { ...row, references: JSON.parse(parts) as string[] };
}
