import { ownerFilter } from '@trunkline/identity';
import { type Database, openDatabase, storedBytes } from '@trunkline/storage';
import { type Actor, operatorActor } from '../owners.ts';
import { StoreError } from './store-error.ts';

export const PRIORITIES = ['now', 'next', 'later'] as const;
type Priority = (typeof PRIORITIES)[number];

/** Something that came from outside and waits for the agent. */
export interface InboxItem {
  id: number;
  text: string;
  priority: Priority;
  source: string;
  created_at: string;
  delivered_at: string | null;
}

export interface NewInboxItem {
  text: string;
  priority: Priority;
  source?: string | undefined;
  /** The same key again within five minutes is not taken twice. */
  dedupKey?: string | undefined;
}

export interface InboxQuery {
  /** The least urgent priority that is still given. */
  floor: Priority;
  includeDelivered?: boolean;
  limit?: number;
  /** How many are left out at the beginning. */
  offset?: number;
  /** The item behind which to begin; it may be gone by now. */
  after?: Pick<InboxItem, 'priority' | 'id'> | undefined;
}

const DEDUP_MS = 300_000;
const MAX_PENDING = 1000;
const KEPT_DELIVERED_MS = 7 * 86_400_000;
const schema = `CREATE TABLE items (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  text TEXT NOT NULL,
  priority TEXT NOT NULL,
  rank INTEGER NOT NULL,
  source TEXT NOT NULL,
  dedup_key TEXT,
  created_at TEXT NOT NULL,
  delivered_at TEXT
) STRICT;
CREATE INDEX items_by_key ON items (dedup_key, created_at) WHERE dedup_key IS NOT NULL;
CREATE INDEX items_by_rank ON items (delivered_at, rank, id)`;
/** Items of before they had owners are everybody's. */
const owners = `ALTER TABLE items ADD COLUMN owner TEXT NOT NULL DEFAULT 'anonymous';
CREATE INDEX items_by_owner ON items (owner, delivered_at, rank, id)`;
const columns = 'id, text, priority, source, created_at, delivered_at';

/** Inbound items by urgency, each delivered once; as the operator sees them, `for` gives them as others do. */
export class InboxStore {
  readonly #database: Database;
  readonly #now: () => Date;
  readonly #actor: Actor;

  constructor(place: string | Database, now: () => Date = () => new Date(), actor = operatorActor) {
    this.#database =
      typeof place === 'string' ? openDatabase(place, { migrations: [schema, owners] }) : place;
    this.#now = now;
    this.#actor = actor;
  }

  for(actor: Actor): InboxStore {
    return new InboxStore(this.#database, this.#now, actor);
  }

  /** The stored item, or undefined when its key came within the last five minutes. */
  add({ text, priority, source = '', dedupKey }: NewInboxItem): InboxItem | undefined {
    return this.#database.transaction(() => {
      if (dedupKey !== undefined && this.#hasRecent(dedupKey)) return undefined;
      this.#actor.keep?.(Buffer.byteLength(text));
      const { lastInsertRowid } = this.#database
        .prepare(
          'INSERT INTO items (text, priority, rank, source, dedup_key, created_at, owner) VALUES (?, ?, ?, ?, ?, ?, ?)',
        )
        .run(
          text,
          priority,
          rankOf(priority),
          source,
          dedupKey ?? null,
          this.#now().toISOString(),
          this.#actor.owner,
        );
      this.#trim();
      if (!this.#has(lastInsertRowid))
        throw new StoreError(
          'conflict',
          `the inbox is full: ${MAX_PENDING} items that are more urgent wait. Let the agent look into it, or send this with another priority.`,
        );
      return this.#get(lastInsertRowid);
    });
  }

  /** The most urgent first, the older before the newer. */
  list({ floor, includeDelivered = false, limit = 50, offset = 0, after }: InboxQuery): InboxItem[] {
    const owners = ownerFilter(this.#actor.viewer);
    const where = includeDelivered ? owners.sql : `${owners.sql} AND delivered_at IS NULL`;
    return this.#database
      .prepare<InboxItem>(
        `SELECT ${columns} FROM items WHERE ${where} AND rank <= ? AND (rank, id) > (?, ?) ORDER BY rank, id LIMIT ? OFFSET ?`,
      )
      .all(
        ...owners.values,
        rankOf(floor),
        after ? rankOf(after.priority) : -1,
        after?.id ?? 0,
        limit,
        offset,
      );
  }

  /** The pending items, which count as delivered from now on. */
  take(query: Omit<InboxQuery, 'includeDelivered'>): InboxItem[] {
    return this.#database.transaction(() => {
      const items = this.list(query);
      for (const { id } of items) this.#mark(id);
      return items;
    });
  }

  deliver(id: number): InboxItem {
    this.#mark(this.#get(id).id);
    return this.#get(id);
  }

  bytesOf(owner: string): number {
    return storedBytes(this.#database, 'items', ['text'], 'owner BETWEEN ?1 AND ?2', owner);
  }

  close(): void {
    this.#database.close();
  }

  #get(id: number): InboxItem {
    const { sql, values } = ownerFilter(this.#actor.viewer);
    const item = this.#database
      .prepare<InboxItem>(`SELECT ${columns} FROM items WHERE id = ? AND ${sql}`)
      .get(id, ...values);
    if (item === undefined) throw new StoreError('not_found', `no such inbox item ${id}.`);
    return item;
  }

  #has(id: number): boolean {
    return this.#database.prepare('SELECT 1 FROM items WHERE id = ?').get(id) !== undefined;
  }

  #mark(id: number): void {
    this.#database
      .prepare('UPDATE items SET delivered_at = ? WHERE id = ? AND delivered_at IS NULL')
      .run(this.#now().toISOString(), id);
  }

  #hasRecent(key: string): boolean {
    const since = new Date(this.#now().getTime() - DEDUP_MS).toISOString();
    const sql = 'SELECT 1 FROM items WHERE dedup_key = ? AND created_at > ? AND owner = ? LIMIT 1';
    return this.#database.prepare(sql).get(key, since, this.#actor.owner) !== undefined;
  }

  /** Forgets old deliveries, and the least urgent of too many of one owner that wait. */
  #trim(): void {
    const before = new Date(this.#now().getTime() - KEPT_DELIVERED_MS).toISOString();
    this.#database.prepare('DELETE FROM items WHERE delivered_at < ?').run(before);
    this.#database
      .prepare(
        `DELETE FROM items WHERE id IN (
           SELECT id FROM items WHERE owner = ? AND delivered_at IS NULL ORDER BY rank, id DESC LIMIT -1 OFFSET ?)`,
      )
      .run(this.#actor.owner, MAX_PENDING);
  }
}

function rankOf(priority: Priority): number {
  return PRIORITIES.indexOf(priority);
}
