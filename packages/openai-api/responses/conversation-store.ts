import { maySee, ownerKey, type Principal } from '@trunkline/identity';
import { type Database, storedBytes } from '@trunkline/storage';
import type { Item } from './items.ts';

export const conversationMigration = `
  CREATE TABLE conversations (
    id TEXT PRIMARY KEY, owner TEXT NOT NULL, metadata TEXT NOT NULL, created_at INTEGER NOT NULL, used_at INTEGER NOT NULL
  ) STRICT;
  CREATE INDEX conversations_by_owner ON conversations (owner, used_at);
  CREATE TABLE conversation_items (
    number INTEGER PRIMARY KEY, conversation TEXT NOT NULL, owner TEXT NOT NULL, id TEXT NOT NULL, item TEXT NOT NULL,
    UNIQUE (conversation, id)
  ) STRICT;
  CREATE INDEX conversation_items_by_owner ON conversation_items (owner);`;

/** So that a reference finds an item. */
export const conversationItemMigration =
  'CREATE INDEX conversation_items_by_id ON conversation_items (id, owner);';

/** After the last use. */
const lifetimeMs = 30 * 24 * 60 * 60 * 1000;
/** Of each owner; those that were not used for longest go first. */
const mostKept = 500;
const mostBytes = 64 * 2 ** 20;
/** Of one conversation, which every turn reads as a whole. */
const mostItems = 2000;
const mostBytesOfOne = 16 * 2 ** 20;

type Metadata = Record<string, string>;

interface Conversation {
  id: string;
  owner: string;
  metadata: Metadata;
  /** Seconds since 1970. */
  createdAt: number;
}

/** A change of the conversations, for others that share them. */
export type ConversationChange =
  | { type: 'created'; id: string; owner: string; metadata: Metadata; at: number }
  | { type: 'updated'; id: string; metadata: Metadata }
  | { type: 'removed'; id: string }
  | { type: 'added'; id: string; items: readonly Item[] }
  | { type: 'item-removed'; id: string; item: string };

interface Row {
  id: string;
  owner: string;
  metadata: string;
  created_at: number;
}

interface ItemPage {
  limit: number;
  order: 'asc' | 'desc';
  after?: string | undefined;
}

/** Conversations that callers keep here under an id, each seen by its owner alone. */
export class ConversationStore {
  readonly #database: Database;
  readonly #now: () => number;
  readonly #tell: (change: ConversationChange) => void;

  /** `tell` is called after each change that is made here. */
  constructor(database: Database, now: () => number, tell: (change: ConversationChange) => void) {
    this.#database = database;
    this.#now = now;
    this.#tell = tell;
  }

  /** Makes a change that was made elsewhere. */
  take(change: ConversationChange): void {
    if (change.type === 'created') this.#insert(change);
    else if (change.type === 'updated') this.#update(change.id, change.metadata);
    else if (change.type === 'removed') this.#delete(change.id);
    else if (change.type === 'added') this.#add(change.id, change.items);
    else this.#removeItem(change.id, change.item);
  }

  create(principal: Principal, metadata: Metadata): Conversation {
    const id = `conv_${crypto.randomUUID().replaceAll('-', '')}`;
    const [owner, now] = [ownerKey(principal), this.#now()];
    const created = { type: 'created', id, owner, metadata, at: now } as const;
    this.#insert(created);
    this.#tell(created);
    return { id, owner, metadata, createdAt: Math.floor(now / 1000) };
  }

  #insert({ id, owner, metadata, at }: Extract<ConversationChange, { type: 'created' }>): void {
    this.#database.transaction(() => {
      this.#database
        .prepare(
          'INSERT OR IGNORE INTO conversations (id, owner, metadata, created_at, used_at) VALUES (?, ?, ?, ?, ?)',
        )
        .run(id, owner, JSON.stringify(metadata), at, at);
      this.#makeRoom(owner);
    });
  }

  /** Undefined where there is none, it has expired, or it is somebody else's. */
  find(id: string, principal: Principal): Conversation | undefined {
    const row = this.#database
      .prepare<Row>('SELECT id, owner, metadata, created_at FROM conversations WHERE id = ? AND used_at > ?')
      .get(id, this.#now() - lifetimeMs);
    if (row === undefined || !maySee(principal, row.owner)) return undefined;
    const { owner, metadata, created_at } = row;
    return { id, owner, metadata: JSON.parse(metadata), createdAt: Math.floor(created_at / 1000) };
  }

  update(id: string, metadata: Metadata): void {
    this.#update(id, metadata);
    this.#tell({ type: 'updated', id, metadata });
  }

  #update(id: string, metadata: Metadata): void {
    this.#database
      .prepare('UPDATE conversations SET metadata = ?, used_at = ? WHERE id = ?')
      .run(JSON.stringify(metadata), this.#now(), id);
  }

  delete(id: string): void {
    this.#delete(id);
    this.#tell({ type: 'removed', id });
  }

  #delete(id: string): void {
    this.#database.transaction(() => {
      this.#database.prepare('DELETE FROM conversation_items WHERE conversation = ?').run(id);
      this.#database.prepare('DELETE FROM conversations WHERE id = ?').run(id);
    });
  }

  /** From the beginning. */
  items(id: string): Item[] {
    return this.#database
      .prepare<{ item: string }>('SELECT item FROM conversation_items WHERE conversation = ? ORDER BY number')
      .all(id)
      .map(({ item }) => JSON.parse(item) as Item);
  }

  item(id: string, item: string): Item | undefined {
    const row = this.#database
      .prepare<{ item: string }>('SELECT item FROM conversation_items WHERE conversation = ? AND id = ?')
      .get(id, item);
    return row && (JSON.parse(row.item) as Item);
  }

  /** The items of an id in all conversations of an owner, equal ones once; two where there are more. */
  findItems(id: string, owner: string): Item[] {
    return this.#database
      .prepare<{ item: string }>(
        'SELECT DISTINCT item FROM conversation_items WHERE id = ? AND owner = ? LIMIT 2',
      )
      .all(id, owner)
      .map(({ item }) => JSON.parse(item) as Item);
  }

  /** Up to `limit` items after one of them; undefined where that one is not there. */
  page(id: string, { limit, order, after }: ItemPage): Item[] | undefined {
    const first = order === 'asc' ? 0 : Number.MAX_SAFE_INTEGER;
    const number =
      after === undefined
        ? first
        : this.#database
            .prepare<{ number: number }>(
              'SELECT number FROM conversation_items WHERE conversation = ? AND id = ?',
            )
            .get(id, after)?.number;
    if (number === undefined) return undefined;
    const [than, way] = order === 'asc' ? ['>', 'ASC'] : ['<', 'DESC'];
    return this.#database
      .prepare<{ item: string }>(
        `SELECT item FROM conversation_items WHERE conversation = ? AND number ${than} ? ORDER BY number ${way} LIMIT ?`,
      )
      .all(id, number, limit)
      .map(({ item }) => JSON.parse(item) as Item);
  }

  /** Whether items fit in besides what is there. */
  hasRoom(id: string, items: readonly Item[]): boolean {
    const { count = 0, bytes = 0 } =
      this.#database
        .prepare<{ count: number; bytes: number }>(
          'SELECT count(*) AS count, coalesce(sum(length(item)), 0) AS bytes FROM conversation_items WHERE conversation = ?',
        )
        .get(id) ?? {};
    const added = items.reduce((sum, item) => sum + JSON.stringify(item).length, 0);
    return count + items.length <= mostItems && bytes + added <= mostBytesOfOne;
  }

  /** Adds items at the end. An item that is there already stays where it is; a conversation that is gone takes none. */
  add(id: string, items: readonly Item[]): void {
    this.#add(id, items);
    this.#tell({ type: 'added', id, items });
  }

  #add(id: string, items: readonly Item[]): void {
    this.#database.transaction(() => {
      const { owner } =
        this.#database.prepare<Row>('SELECT owner FROM conversations WHERE id = ?').get(id) ?? {};
      if (owner === undefined) return;
      const insert = this.#database.prepare(
        'INSERT OR IGNORE INTO conversation_items (conversation, owner, id, item) VALUES (?, ?, ?, ?)',
      );
      for (const item of items) insert.run(id, owner, item.id, JSON.stringify(item));
      this.#database.prepare('UPDATE conversations SET used_at = ? WHERE id = ?').run(this.#now(), id);
      this.#makeRoom(owner);
    });
  }

  removeItem(id: string, item: string): void {
    this.#removeItem(id, item);
    this.#tell({ type: 'item-removed', id, item });
  }

  #removeItem(id: string, item: string): void {
    this.#database.prepare('DELETE FROM conversation_items WHERE conversation = ? AND id = ?').run(id, item);
  }

  /** What counts on a quota, of one owner or of those that share it. */
  bytesOf(quota: string): number {
    return storedBytes(this.#database, 'conversation_items', ['item'], 'owner BETWEEN ?1 AND ?2', quota);
  }

  #makeRoom(owner: string): void {
    const expired = this.#database
      .prepare<{ id: string }>('SELECT id FROM conversations WHERE used_at <= ?')
      .all(this.#now() - lifetimeMs);
    for (const { id } of expired) this.#delete(id);
    let bytes = 0;
    for (const [index, conversation] of this.#sizes(owner).entries()) {
      bytes += conversation.bytes;
      if (index > 0 && (index >= mostKept || bytes > mostBytes)) this.#delete(conversation.id);
    }
  }

  /** The one that was used last first. */
  #sizes(owner: string): { id: string; bytes: number }[] {
    return this.#database
      .prepare<{ id: string; bytes: number }>(
        `SELECT c.id, coalesce(sum(length(i.item)), 0) AS bytes FROM conversations c
         LEFT JOIN conversation_items i ON i.conversation = c.id
         WHERE c.owner = ? GROUP BY c.id ORDER BY c.used_at DESC, c.created_at DESC, c.id`,
      )
      .all(owner);
  }
}
