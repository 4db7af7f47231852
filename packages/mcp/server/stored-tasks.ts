import { randomUUID } from 'node:crypto';
import { isTerminal, type TaskStore } from '@modelcontextprotocol/sdk/experimental/tasks/interfaces.js';
import type { Result, Task } from '@modelcontextprotocol/sdk/types.js';
import { type Database, type Migration, openDatabase } from '@trunkline/storage';

interface Row {
  id: string;
  tool: string;
  /** What the tool finds its work by after a restart. */
  handle: string | null;
  status: Task['status'];
  message: string | null;
  result: string | null;
  ttl: number;
  created_at: number;
  updated_at: number;
}

interface Running {
  owner: string;
  controller: AbortController;
  isResumable: boolean;
}

const migrations: Migration[] = [
  `CREATE TABLE tasks (
     id TEXT PRIMARY KEY, owner TEXT NOT NULL, tool TEXT NOT NULL, handle TEXT, status TEXT NOT NULL, message TEXT, result TEXT,
     ttl INTEGER NOT NULL, created_at INTEGER NOT NULL, updated_at INTEGER NOT NULL, expires_at INTEGER NOT NULL
   ) STRICT;
   CREATE INDEX tasks_by_owner ON tasks (owner, created_at);
   CREATE INDEX tasks_by_expiry ON tasks (expires_at);`,
];
const MAX_RUNNING = 20;
const MAX_KEPT = 200;
const PAGE_SIZE = 50;
export const MAX_TASK_MS = 24 * 3_600_000;
const isDone = `status IN ('completed', 'failed', 'cancelled')`;

/** Tasks of MCP clients, by owner: they outlive the session that began them, and the process. */
export class StoredTasks {
  readonly #database: Database;
  readonly #running = new Map<string, Running>();
  #isClosed = false;

  constructor(file: string) {
    this.#database = openDatabase(file, { migrations });
  }

  isFull(owner: string): boolean {
    return [...this.#running.values()].filter((each) => each.owner === owner).length >= MAX_RUNNING;
  }

  /** The signal ends the work of a task that its client cancels. */
  start(taskId: string, owner: string): AbortSignal {
    const controller = new AbortController();
    this.#running.set(taskId, { owner, controller, isResumable: false });
    return controller.signal;
  }

  /** From here on the work is found again after a restart. */
  setHandle(taskId: string, handle: string): void {
    const running = this.#running.get(taskId);
    if (this.#isClosed || running === undefined) return;
    running.isResumable = true;
    this.#database.prepare('UPDATE tasks SET handle = ? WHERE id = ?').run(handle, taskId);
  }

  end(taskId: string): void {
    this.#running.delete(taskId);
  }

  /** What an earlier process has left unfinished. */
  interrupted(owner: string): { taskId: string; tool: string; handle: string | null }[] {
    if (this.#isClosed) return [];
    return this.#database
      .prepare<Row>(`SELECT * FROM tasks WHERE owner = ? AND expires_at > ? AND NOT ${isDone}`)
      .all(owner, Date.now())
      .filter(({ id }) => !this.#running.has(id))
      .map(({ id, tool, handle }) => ({ taskId: id, tool, handle }));
  }

  /** The tasks as their owner sees them. */
  of(owner: string): TaskStore {
    return {
      createTask: async ({ ttl }, _requestId, { params }) => {
        const now = Date.now();
        const [id, keptMs] = [randomUUID(), Math.min(ttl ?? MAX_TASK_MS, MAX_TASK_MS)];
        this.#open();
        this.#makeRoom(owner, now);
        this.#database
          .prepare(
            `INSERT INTO tasks (id, owner, tool, status, ttl, created_at, updated_at, expires_at)
             VALUES (?, ?, ?, 'working', ?, ?, ?, ?)`,
          )
          .run(id, owner, String(params?.name), keptMs, now, now, now + MAX_TASK_MS);
        return this.#need(id, owner);
      },
      getTask: async (id) => {
        const row = this.#find(id, owner);
        return row === undefined ? null : toTask(row);
      },
      storeTaskResult: async (id, status, result) => this.#change(id, owner, { status, result }),
      getTaskResult: async (id) => {
        const { result, status, message } = this.#find(id, owner) ?? {};
        if (typeof result === 'string') return JSON.parse(result) as Result;
        const text = `Error: ${message ?? `the task is ${status ?? 'not known'}`}`;
        return { content: [{ type: 'text', text }], isError: true };
      },
      updateTaskStatus: async (id, status, message) => {
        this.#change(id, owner, { status, ...(message !== undefined && { message }) });
        if (status === 'cancelled')
          this.#running.get(id)?.controller.abort(new Error('the client cancelled the task'));
      },
      listTasks: async (cursor) => {
        const after = cursor === undefined ? 0 : Number(cursor);
        if (!Number.isSafeInteger(after) || after < 0) throw new Error(`Invalid cursor: ${cursor}`);
        const rows = this.#open()
          .prepare<Row & { rowid: number }>(
            'SELECT rowid, * FROM tasks WHERE owner = ? AND expires_at > ? AND rowid > ? ORDER BY rowid LIMIT ?',
          )
          .all(owner, Date.now(), after, PAGE_SIZE + 1);
        const last = rows[PAGE_SIZE - 1];
        const nextCursor = rows.length > PAGE_SIZE && last ? String(last.rowid) : undefined;
        return {
          tasks: rows.slice(0, PAGE_SIZE).map(toTask),
          ...(nextCursor !== undefined && { nextCursor }),
        };
      },
    };
  }

  /** Work that can be found again is left to its service; other work ends. */
  close(): void {
    this.#isClosed = true;
    for (const { controller, isResumable } of this.#running.values())
      if (!isResumable) controller.abort(new Error('the service stops'));
    this.#database.close();
  }

  #open(): Database {
    if (this.#isClosed) throw new Error('The service is stopping.');
    return this.#database;
  }

  #find(id: string, owner: string): Row | undefined {
    return this.#open()
      .prepare<Row>('SELECT * FROM tasks WHERE id = ? AND owner = ? AND expires_at > ?')
      .get(id, owner, Date.now());
  }

  #need(id: string, owner: string): Task {
    const row = this.#find(id, owner);
    if (row === undefined) throw new Error(`Task with ID ${id} not found`);
    return toTask(row);
  }

  #change(
    id: string,
    owner: string,
    { status, message, result }: { status: Task['status']; message?: string; result?: Result },
  ): void {
    const current = this.#need(id, owner);
    if (isTerminal(current.status)) throw new Error(`Task ${id} is ${current.status} already.`);
    const now = Date.now();
    const keptUntil = isTerminal(status) ? now + (current.ttl ?? MAX_TASK_MS) : undefined;
    this.#open()
      .prepare(
        `UPDATE tasks SET status = ?, message = coalesce(?, message), result = ?, updated_at = ?,
           expires_at = coalesce(?, expires_at) WHERE id = ?`,
      )
      .run(
        status,
        message ?? null,
        result === undefined ? null : JSON.stringify(result),
        now,
        keptUntil ?? null,
        id,
      );
  }

  #makeRoom(owner: string, now: number): void {
    this.#database.prepare('DELETE FROM tasks WHERE expires_at <= ?').run(now);
    this.#database
      .prepare(
        `DELETE FROM tasks WHERE owner = ? AND ${isDone} AND id NOT IN
           (SELECT id FROM tasks WHERE owner = ? ORDER BY created_at DESC LIMIT ?)`,
      )
      .run(owner, owner, MAX_KEPT);
  }
}

const POLL_MS = 1000;

function toTask({ id, status, message, ttl, created_at, updated_at }: Row): Task {
  return {
    taskId: id,
    status,
    ttl,
    createdAt: new Date(created_at).toISOString(),
    lastUpdatedAt: new Date(updated_at).toISOString(),
    pollInterval: POLL_MS,
    ...(message !== null && { statusMessage: message }),
  };
}
