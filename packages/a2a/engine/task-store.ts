import { ownerFilter, type Principal } from '@trunkline/identity';
import { type Database, type Migration, openDatabase, ownersOf } from '@trunkline/storage';
import type { NumberedEvent, Task } from '../protocol/model.ts';
import { copyKey, keyOf, rowKey, TaskIds } from './task-ids.ts';

export interface ListFilter {
  contextId?: string;
  state?: string;
  /** Only tasks whose state is newer than this time. */
  updatedAfter?: number;
  /** Only tasks that they may see; all when left out. */
  viewer?: Principal;
  tenant?: string | undefined;
}

/** Where a page begins: after this task in the order of the list. */
export interface ListCursor {
  updatedAt: number;
  id: string;
}

interface TaskRow {
  body: string;
}

/** Tasks and their events in `a2a-tasks.db`. */
export class TaskStore {
  readonly #database: Database;
  readonly #ids: TaskIds;
  /** Whether there are tasks of other services, whose rows have other keys. */
  #hasCopies: boolean;

  constructor(path: string) {
    this.#database = openDatabase(path, { migrations });
    // Checkpoints wait for the disk: with this many pages between them they are seldom.
    this.#database.exec('PRAGMA wal_autocheckpoint = 4000');
    this.#ids = new TaskIds(this.#lastKey());
    this.#hasCopies = this.#database.prepare('SELECT 1 FROM tasks WHERE key < 0 LIMIT 1').get() !== undefined;
  }

  /** An id for a new task; only those that come from here can be stored. */
  newId(now: number): string {
    return this.#ids.next(now);
  }

  load(id: string): Task | undefined {
    if (keyOf(id) === undefined) return undefined;
    const row = this.#database.prepare<TaskRow>('SELECT body FROM tasks WHERE key = ?').get(this.#keyOf(id));
    const task = row === undefined ? undefined : readTask(row);
    return task?.id === id ? task : undefined;
  }

  insert(task: Task, events: readonly NumberedEvent[], requestKey?: string): void {
    this.#insert(rowKey(task.id), task, events, requestKey);
  }

  #insert(key: bigint, task: Task, events: readonly NumberedEvent[], requestKey: string | undefined): void {
    const [first = noEvents, ...later] = chunksOf(events);
    this.#database
      .prepare(
        'INSERT INTO tasks (key, context_id, owner, state, updated_at, body, first_events, request_key) VALUES (?, ?, ?, ?, ?, ?, ?, ?)',
      )
      .run(
        key,
        task.contextId,
        task.owner ?? 'anonymous',
        task.state,
        task.updatedAt,
        JSON.stringify(task),
        first.text,
        requestKey ?? null,
      );
    for (const chunk of later) this.#saveChunk(key, chunk);
  }

  /** Stores a task of another service that shares its tasks, in place of how it stood. */
  saveCopy(task: Task, events: readonly NumberedEvent[], requestKey?: string): void {
    this.transaction(() => {
      if (this.load(task.id) !== undefined) {
        this.update(task);
        this.saveEvents(task.id, events);
        return;
      }
      this.#hasCopies = true;
      this.#insert(copyKey(task.id), task, events, requestKey);
    });
  }

  /** The id of the newest task of a request. */
  findByRequest(requestKey: string): string | undefined {
    const row = this.#database
      .prepare<TaskRow>('SELECT body FROM tasks WHERE request_key = ? ORDER BY key DESC LIMIT 1')
      .get(requestKey);
    return row === undefined ? undefined : readTask(row).id;
  }

  /** Bytes of all tasks of an owner with their events. */
  bytesOf(owner: string): number {
    const row = this.#database
      .prepare<{ bytes: number }>(
        `SELECT (SELECT total(octet_length(body) + octet_length(first_events)) FROM tasks WHERE owner BETWEEN ?1 AND ?2)
          + (SELECT total(octet_length(events)) FROM task_events
             WHERE task_key IN (SELECT key FROM tasks WHERE owner BETWEEN ?1 AND ?2)) AS bytes`,
      )
      .get(...ownersOf(owner));
    return row?.bytes ?? 0;
  }

  delete(taskId: string): void {
    const key = this.#keyOf(taskId);
    this.transaction(() => {
      this.#database.prepare('DELETE FROM task_events WHERE task_key = ?').run(key);
      this.#database.prepare('DELETE FROM tasks WHERE key = ?').run(key);
    });
  }

  /** With what happened since. The first events of a task go into its row: most tasks need no other. */
  update(task: Task, events: readonly NumberedEvent[] = []): void {
    const key = this.#keyOf(task.id);
    const chunks = chunksOf(events);
    const first = events[0]?.sequence === 1 ? chunks.shift() : undefined;
    this.#database
      .prepare(
        'UPDATE tasks SET state = ?, updated_at = ?, body = ?, first_events = coalesce(?, first_events) WHERE key = ?',
      )
      .run(task.state, task.updatedAt, JSON.stringify(task), first?.text ?? null, key);
    for (const chunk of chunks) this.#saveChunk(key, chunk);
  }

  /** Events of one task that follow each other, kept as one row, or several if they are long. */
  saveEvents(taskId: string, events: readonly NumberedEvent[]): void {
    if (events.length === 0) return;
    const key = this.#keyOf(taskId);
    for (const chunk of chunksOf(events)) this.#saveChunk(key, chunk);
  }

  #saveChunk(key: bigint, { last, text }: Chunk): void {
    this.#database
      .prepare('INSERT INTO task_events (task_key, last_sequence, events) VALUES (?, ?, ?)')
      .run(key, last, text);
  }

  /** The events of a task above a number, in order: all, or those of the next row alone. */
  eventsAfter(taskId: string, sequence: number, isWhole = true): NumberedEvent[] {
    const key = this.#keyOf(taskId);
    const above = (row: ChunkRow) => eventsOf(row).filter((event) => event.sequence > sequence);
    const first = this.#database
      .prepare<ChunkRow>('SELECT first_events AS events FROM tasks WHERE key = ?')
      .all(key)
      .flatMap(above);
    if (!isWhole && first.length > 0) return first;
    const later = this.#database
      .prepare<ChunkRow>(
        'SELECT events FROM task_events WHERE task_key = ? AND last_sequence > ? ORDER BY last_sequence LIMIT ?',
      )
      .all(key, sequence, isWhole ? -1 : 1);
    return [...first, ...later.flatMap(above)];
  }

  lastSequence(taskId: string): number {
    return this.eventsAfter(taskId, 0).at(-1)?.sequence ?? 0;
  }

  /** Newest first. */
  list(filter: ListFilter, after: ListCursor | undefined, limit: number): Task[] {
    const { where, values } = conditions(filter);
    const from = after === undefined ? '' : 'AND (updated_at, key) < (?, ?)';
    const cursor =
      after === undefined ? [] : [after.updatedAt, keyOf(after.id) === undefined ? 0 : this.#keyOf(after.id)];
    return this.#database
      .prepare<TaskRow>(
        `SELECT body FROM tasks WHERE ${where} ${from} ORDER BY updated_at DESC, key DESC LIMIT ?`,
      )
      .all(...values, ...cursor, limit)
      .map(readTask);
  }

  count(filter: ListFilter): number {
    const { where, values } = conditions(filter);
    const row = this.#database
      .prepare<{ total: number }>(`SELECT count(*) AS total FROM tasks WHERE ${where}`)
      .get(...values);
    return row?.total ?? 0;
  }

  /** Tasks that had not ended; found in the index, so that the bodies of the others are not read. */
  unfinished(): Task[] {
    const open = "SELECT key FROM tasks WHERE state IN ('working', 'input-required', 'auth-required')";
    return this.#database
      .prepare<TaskRow>(`SELECT body FROM tasks WHERE key IN (${open})`)
      .all()
      .map(readTask);
  }

  /** Removes tasks that have not changed since that time, working ones excepted, with their events. */
  deleteBefore(time: number): number {
    return this.transaction(() => {
      const old = "SELECT key FROM tasks WHERE updated_at < ? AND state <> 'working'";
      this.#database.prepare(`DELETE FROM task_events WHERE task_key IN (${old})`).run(time);
      return this.#database.prepare(`DELETE FROM tasks WHERE key IN (${old})`).run(time).changes;
    });
  }

  transaction<T>(work: () => T): T {
    return this.#database.transaction(work);
  }

  close(): void {
    this.#database.close();
  }

  /** The key of a task's row. */
  #keyOf(id: string): bigint {
    if (!this.#hasCopies) return rowKey(id);
    const copy = copyKey(id);
    const isCopy = this.#database.prepare('SELECT 1 FROM tasks WHERE key = ?').get(copy) !== undefined;
    return isCopy ? copy : rowKey(id);
  }

  #lastKey(): bigint {
    const row = this.#database.prepare<TaskRow>('SELECT body FROM tasks ORDER BY key DESC LIMIT 1').get();
    return row === undefined ? 0n : rowKey(readTask(row).id);
  }
}

function readTask(row: TaskRow): Task {
  return JSON.parse(row.body) as Task;
}

function conditions(filter: ListFilter): { where: string; values: (string | number)[] } {
  const wanted: [sql: string, value: string | number | undefined][] = [
    ['context_id = ?', filter.contextId],
    ['state = ?', filter.state],
    ['updated_at >= ?', filter.updatedAfter],
    ["body ->> '$.tenant' = ?", filter.tenant],
  ];
  const given = wanted.filter((entry): entry is [string, string | number] => entry[1] !== undefined);
  const owners = filter.viewer === undefined ? { sql: 'TRUE', values: [] } : ownerFilter(filter.viewer);
  return {
    where: [owners.sql, ...given.map(([sql]) => sql)].join(' AND '),
    values: [...owners.values, ...given.map(([, value]) => value)],
  };
}

/** The tables of `a2a-tasks.db`. */
export const migrations: Migration[] = [
  `
  CREATE TABLE tasks (
    id TEXT NOT NULL UNIQUE,
    context_id TEXT NOT NULL,
    state TEXT NOT NULL,
    updated_at INTEGER NOT NULL,
    body TEXT NOT NULL,
    first_events TEXT NOT NULL
  ) STRICT;
  CREATE INDEX tasks_by_time ON tasks (updated_at, id, context_id, state);
  CREATE INDEX tasks_open ON tasks (state) WHERE state IN ('working', 'input-required', 'auth-required');
  CREATE TABLE task_events (
    task_id TEXT NOT NULL,
    last_sequence INTEGER NOT NULL,
    events TEXT NOT NULL,
    PRIMARY KEY (task_id, last_sequence)
  ) STRICT, WITHOUT ROWID;
  `,
  fileByKey,
  // What is open is asked once, at the start; keeping it filed cost every new task a fifth of its write.
  'DROP INDEX tasks_open',
  // Only requests that may be repeated have a key; the others cost the index nothing.
  `ALTER TABLE tasks ADD COLUMN request_key TEXT;
  CREATE INDEX tasks_by_request ON tasks (request_key) WHERE request_key IS NOT NULL`,
  `ALTER TABLE tasks ADD COLUMN owner TEXT NOT NULL DEFAULT 'anonymous';
  CREATE INDEX tasks_by_owner ON tasks (owner, updated_at, key)`,
];

/** Rows stand in the order of their keys, which the ids hold: each index less is a page less to write for every task. */
function fileByKey(database: Database): void {
  database.exec(`
  DROP INDEX tasks_by_time;
  DROP INDEX tasks_open;
  ALTER TABLE tasks RENAME TO tasks_by_id;
  ALTER TABLE task_events RENAME TO events_by_id;
  CREATE TABLE tasks (
    key INTEGER PRIMARY KEY,
    context_id TEXT NOT NULL,
    state TEXT NOT NULL,
    updated_at INTEGER NOT NULL,
    body TEXT NOT NULL,
    first_events TEXT NOT NULL
  ) STRICT;
  CREATE INDEX tasks_by_time ON tasks (updated_at, key, context_id, state);
  CREATE INDEX tasks_open ON tasks (state) WHERE state IN ('working', 'input-required', 'auth-required');
  CREATE TABLE task_events (
    task_key INTEGER NOT NULL,
    last_sequence INTEGER NOT NULL,
    events TEXT NOT NULL,
    PRIMARY KEY (task_key, last_sequence)
  ) STRICT, WITHOUT ROWID;
  `);
  for (const { id } of database.prepare<{ id: string }>('SELECT id FROM tasks_by_id').all())
    move(database, id);
  database.exec('DROP TABLE tasks_by_id; DROP TABLE events_by_id');
}

/** Once in a million, two tasks of the same millisecond had the same first random bits: the first one stays. */
function move(database: Database, id: string): void {
  const key = keyOf(id);
  if (key === undefined) return;
  const { changes } = database
    .prepare(
      'INSERT OR IGNORE INTO tasks SELECT ?, context_id, state, updated_at, body, first_events FROM tasks_by_id WHERE id = ?',
    )
    .run(key, id);
  if (changes === 0) return;
  database
    .prepare('INSERT INTO task_events SELECT ?, last_sequence, events FROM events_by_id WHERE task_id = ?')
    .run(key, id);
}

/** Events that follow each other, as one row of a table. */
interface Chunk {
  /** The number of its last event. */
  last: number;
  text: string;
}

interface ChunkRow {
  events: string;
}

/** Characters of a row, unless one event has more: whoever reads slowly gets a row at a time. */
const longestChunk = 250_000;

/** So many are written at once, as they are seldom too long for a row. */
const fewEvents = 100;

const noEvents: Chunk = { last: 0, text: '[]' };

function eventsOf(row: ChunkRow): NumberedEvent[] {
  return JSON.parse(row.events) as NumberedEvent[];
}

function chunksOf(events: readonly NumberedEvent[]): Chunk[] {
  const last = events.at(-1);
  if (last === undefined) return [];
  if (events.length <= fewEvents) {
    const text = JSON.stringify(events);
    if (text.length <= longestChunk || events.length === 1) return [{ last: last.sequence, text }];
  }
  const chunks: Chunk[] = [];
  let texts: string[] = [];
  let length = 0;
  const close = (last: number) => {
    chunks.push({ last, text: `[${texts.join(',')}]` });
    texts = [];
    length = 0;
  };
  for (const [index, { sequence, event }] of events.entries()) {
    const text = JSON.stringify({ sequence, event });
    if (texts.length > 0 && length + text.length > longestChunk) close(events[index - 1]?.sequence ?? 0);
    texts.push(text);
    length += text.length;
  }
  if (texts.length > 0) close(events.at(-1)?.sequence ?? 0);
  return chunks;
}
