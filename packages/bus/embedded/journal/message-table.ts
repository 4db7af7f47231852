import type { Database } from '@trunkline/storage';
import { matchesTopic } from '../../topics/topic.ts';

const columns = 'id, name, attempts, error, buried_at AS buriedAt, body';

/**
 * Who may take only a share of a full journal: strangers (guests, and whoever is not known), and everybody else who asks.
 * Null: the operator, and what services do for themselves.
 */
export type OwnerKind = 'stranger' | 'user' | null;

/** A message to append: key, topic, correlation id, JSON text, the only durable name it is for, and whose it is. */
export type Row = readonly [
  key: string,
  topic: string,
  correlationId: string,
  body: string,
  onlyFor: string | null,
  ownerKind?: OwnerKind,
];

/** A stored message: its position and JSON text. */
export type Stored = [position: number, body: string];

export interface Page {
  found: Stored[];
  /** Everything up to here (or, going back, down to here) was looked at. */
  scannedTo: number;
}

/** Where a search begins, and which way it goes. */
export type Edge = { readonly after: number } | { readonly before: number };

interface ScannedRow {
  position: number;
  topic: string;
  body: string;
}

/** One look at the table goes over this many rows and gives about this many bytes, so that writers wait briefly. */
const rowsPerScan = 5000;
const bytesPerPage = 4_194_304;

/** The messages of the journal in the order in which they were accepted. */
export class MessageTable {
  readonly #database: Database;

  constructor(database: Database) {
    this.#database = database;
  }

  /** Stores the rows within a transaction of the caller. Gives each its position, 0 where the key is known already. */
  append(rows: readonly Row[]): number[] {
    const insert = this.#database.prepare(
      'INSERT INTO messages (key, topic, correlation_id, stored_at, only_for, body, owner_kind) VALUES (?, ?, ?, ?, ?, ?, ?) ON CONFLICT (key) DO NOTHING',
    );
    const now = Date.now();
    return rows.map(([key, topic, correlationId, body, onlyFor, kind = null]) => {
      const { changes, lastInsertRowid } = insert.run(key, topic, correlationId, now, onlyFor, body, kind);
      return changes === 0 ? 0 : lastInsertRowid;
    });
  }

  lastPosition(): number {
    const row = this.#database
      .prepare<{ seq: number }>("SELECT seq FROM sqlite_sequence WHERE name = 'messages'")
      .get();
    return row?.seq ?? 0;
  }

  firstPosition(): number {
    return this.#edge('SELECT min(position) AS position FROM messages WHERE position > ?', 0) ?? 1;
  }

  /** Messages after a position that match the pattern, are for all or for this durable name, and were not finished by it. */
  readForward(after: number, pattern: string, name: string, limit: number): Page {
    const start = this.#edge('SELECT min(position) AS position FROM messages WHERE position > ?', after);
    if (start === undefined) return { found: [], scannedTo: Math.max(after, this.lastPosition()) };
    const rows = this.#database
      .prepare<ScannedRow>(
        `${select} AND (only_for IS NULL OR only_for = ?) AND ${unfinished} ORDER BY position`,
      )
      .iterate(start, start + rowsPerScan - 1, ...prefixOf(pattern), name, name);
    const end = Math.min(start + rowsPerScan - 1, this.lastPosition());
    return takePage(rows, pattern, limit, end);
  }

  /** Messages before a position that match the pattern, newest first. */
  readBackward(before: number, pattern: string, limit: number): Page {
    const start = this.#edge('SELECT max(position) AS position FROM messages WHERE position < ?', before);
    if (start === undefined) return { found: [], scannedTo: 0 };
    const rows = this.#database
      .prepare<ScannedRow>(`${select} AND only_for IS NULL ORDER BY position DESC`)
      .iterate(start - rowsPerScan + 1, start, ...prefixOf(pattern));
    return takePage(rows, pattern, limit, Math.max(start - rowsPerScan + 1, 0));
  }

  /** Messages of one correlation that match the pattern: after a position, or before it, newest first. */
  readCorrelation(correlationId: string, pattern: string, from: Edge, limit: number): Page {
    const [comparison, order, position, end] =
      'after' in from ? ['>', 'ASC', from.after, Number.MAX_SAFE_INTEGER] : ['<', 'DESC', from.before, 0];
    const rows = this.#database
      .prepare<ScannedRow>(
        `SELECT position, topic, body FROM messages WHERE correlation_id = ? AND position ${comparison} ? AND only_for IS NULL ORDER BY position ${order}`,
      )
      .iterate(correlationId, position);
    return takePage(rows, pattern, limit, end);
  }

  #edge(sql: string, position: number): number | undefined {
    return this.#database.prepare<{ position: number | null }>(sql).get(position)?.position ?? undefined;
  }
}

const select =
  'SELECT position, topic, body FROM messages WHERE position BETWEEN ? AND ? AND substr(topic, 1, ?) = ?';

const unfinished =
  'NOT EXISTS (SELECT 1 FROM finished WHERE finished.name = ? AND finished.position = messages.position)';

/** The length and text of what every matching topic begins with, for SQLite to sort out the rest cheaply. */
function prefixOf(pattern: string): [number, string] {
  const literal = /^[^*#]*/.exec(pattern)?.[0] ?? '';
  const prefix = literal === pattern ? literal : literal.replace(/\.$/, '');
  return [[...prefix].length, prefix];
}

function takePage(rows: Iterable<ScannedRow>, pattern: string, limit: number, end: number): Page {
  const found: Stored[] = [];
  let bytes = 0;
  for (const { position, topic, body } of rows) {
    if (!matchesTopic(pattern, topic)) continue;
    found.push([position, body]);
    bytes += body.length;
    if (found.length >= limit || bytes >= bytesPerPage) return { found, scannedTo: position };
  }
  return { found, scannedTo: end };
}

export interface StoredDeadLetter {
  id: number;
  name: string;
  attempts: number;
  error: string;
  buriedAt: number;
  body: string;
}

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
