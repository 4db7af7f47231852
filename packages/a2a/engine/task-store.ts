import { type Database, openDatabase } from '@trunkline/storage';
import type { Task, TaskEvent } from '../protocol/model.ts';
import { keyOf, TaskIds } from './task-ids.ts';
import { migrations } from './task-schema.ts';

/** An event with its number within the task. */
export interface NumberedEvent {
  readonly sequence: number;
  readonly event: TaskEvent;
}

export interface ListFilter {
  contextId?: string;
  state?: string;
  /** Only tasks whose state is newer than this time. */
  updatedAfter?: number;
}

/** Where a page begins: after this task in the order of the list. */
export interface ListCursor {
  updatedAt: number;
  id: string;
}

interface TaskRow {
  body: string;
}

interface ChunkRow {
  events: string;
}

/** Tasks and their events in `a2a-tasks.db`. */
export class TaskStore {
  readonly #database: Database;
  readonly #ids: TaskIds;

  constructor(path: string) {
    this.#database = openDatabase(path, { migrations });
    // Checkpoints wait for the disk: with this many pages between them they are seldom.
    this.#database.exec('PRAGMA wal_autocheckpoint = 4000');
    this.#ids = new TaskIds(this.#lastKey());
  }

  /** An id for a new task; only those that come from here can be stored. */
  newId(now: number): string {
    return this.#ids.next(now);
  }

  load(id: string): Task | undefined {
    const key = keyOf(id);
    if (key === undefined) return undefined;
    const row = this.#database.prepare<TaskRow>('SELECT body FROM tasks WHERE key = ?').get(key);
    const task = row === undefined ? undefined : readTask(row);
    return task?.id === id ? task : undefined;
  }

  /** The first time, the events so far go into the same row: most tasks need no other. */
  insert(task: Task, events: readonly NumberedEvent[], requestKey?: string): void {
    this.#database
      .prepare(
        'INSERT INTO tasks (key, context_id, state, updated_at, body, first_events, request_key) VALUES (?, ?, ?, ?, ?, ?, ?)',
      )
      .run(
        rowKey(task.id),
        task.contextId,
        task.state,
        task.updatedAt,
        JSON.stringify(task),
        chunkOf(events),
        requestKey ?? null,
      );
  }

  /** The id of the newest task of a request. */
  findByRequest(requestKey: string): string | undefined {
    const row = this.#database
      .prepare<TaskRow>('SELECT body FROM tasks WHERE request_key = ? ORDER BY key DESC LIMIT 1')
      .get(requestKey);
    return row === undefined ? undefined : readTask(row).id;
  }

  delete(taskId: string): void {
    const key = rowKey(taskId);
    this.transaction(() => {
      this.#database.prepare('DELETE FROM task_events WHERE task_key = ?').run(key);
      this.#database.prepare('DELETE FROM tasks WHERE key = ?').run(key);
    });
  }

  update(task: Task): void {
    this.#database
      .prepare('UPDATE tasks SET state = ?, updated_at = ?, body = ? WHERE key = ?')
      .run(task.state, task.updatedAt, JSON.stringify(task), rowKey(task.id));
  }

  /** Events of one task that follow each other, kept as one row. */
  saveEvents(taskId: string, events: readonly NumberedEvent[]): void {
    const last = events.at(-1);
    if (last === undefined) return;
    this.#database
      .prepare('INSERT INTO task_events (task_key, last_sequence, events) VALUES (?, ?, ?)')
      .run(rowKey(taskId), last.sequence, chunkOf(events));
  }

  /** The events of a task above a number, in order. */
  eventsAfter(taskId: string, sequence: number): NumberedEvent[] {
    const key = rowKey(taskId);
    const first = this.#database
      .prepare<ChunkRow>('SELECT first_events AS events FROM tasks WHERE key = ?')
      .all(key);
    const later = this.#database
      .prepare<ChunkRow>(
        'SELECT events FROM task_events WHERE task_key = ? AND last_sequence > ? ORDER BY last_sequence',
      )
      .all(key, sequence);
    return [...first, ...later]
      .flatMap((row) => JSON.parse(row.events) as NumberedEvent[])
      .filter((event) => event.sequence > sequence);
  }

  lastSequence(taskId: string): number {
    return this.eventsAfter(taskId, 0).at(-1)?.sequence ?? 0;
  }

  /** Newest first. */
  list(filter: ListFilter, after: ListCursor | undefined, limit: number): Task[] {
    const { where, values } = conditions(filter);
    const from = after === undefined ? '' : 'AND (updated_at, key) < (?, ?)';
    const cursor = after === undefined ? [] : [after.updatedAt, keyOf(after.id) ?? 0];
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

  #lastKey(): bigint {
    const row = this.#database.prepare<TaskRow>('SELECT body FROM tasks ORDER BY key DESC LIMIT 1').get();
    return row === undefined ? 0n : rowKey(readTask(row).id);
  }
}

function readTask(row: TaskRow): Task {
  return JSON.parse(row.body) as Task;
}

function rowKey(taskId: string): bigint {
  const key = keyOf(taskId);
  if (key === undefined) throw new Error(`No task can have the id ${taskId}: take one from newId().`);
  return key;
}

function chunkOf(events: readonly NumberedEvent[]): string {
  return JSON.stringify(events.map(({ sequence, event }) => ({ sequence, event })));
}

function conditions(filter: ListFilter): { where: string; values: (string | number)[] } {
  const wanted: [sql: string, value: string | number | undefined][] = [
    ['context_id = ?', filter.contextId],
    ['state = ?', filter.state],
    ['updated_at > ?', filter.updatedAfter],
  ];
  const given = wanted.filter((entry): entry is [string, string | number] => entry[1] !== undefined);
  return {
    where: ['1 = 1', ...given.map(([sql]) => sql)].join(' AND '),
    values: given.map(([, value]) => value),
  };
}
