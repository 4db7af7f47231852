import type { Message } from '@trunkline/bus';
import { type Database, openDatabase } from '@trunkline/storage';

/** A task that another service works on for a request. */
export interface TrackedTask {
  /** Ours: it stands in the address for callbacks. */
  id: string;
  messageId: string;
  flowId: string;
  message: Message;
  agent: string;
  taskId: string;
  contextId: string | undefined;
  token: string;
  startedAt: number;
}

type Row = Omit<TrackedTask, 'message' | 'contextId'> & { message: string; contextId: string | null };

const migrations = [
  `CREATE TABLE tasks (
     id TEXT PRIMARY KEY, messageId TEXT NOT NULL UNIQUE, flowId TEXT NOT NULL, message TEXT NOT NULL, agent TEXT NOT NULL,
     taskId TEXT NOT NULL, contextId TEXT, token TEXT NOT NULL, startedAt INTEGER NOT NULL) STRICT;`,
];

/** Tasks of other services that are not over, kept over restarts. */
export class TaskStore {
  readonly #database: Database;

  constructor(path: string) {
    this.#database = openDatabase(path, { migrations });
  }

  /** Keeps a task; one that is there already stays as it is. */
  add({ message, contextId, ...task }: TrackedTask): void {
    this.#database
      .prepare(
        `INSERT INTO tasks (id, messageId, flowId, message, agent, taskId, contextId, token, startedAt)
         VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING`,
      )
      .run(
        task.id,
        task.messageId,
        task.flowId,
        JSON.stringify(message),
        task.agent,
        task.taskId,
        contextId ?? null,
        task.token,
        task.startedAt,
      );
  }

  get(id: string): TrackedTask | undefined {
    const row = this.#database.prepare<Row>('SELECT * FROM tasks WHERE id = ?').get(id);
    return row && fromRow(row);
  }

  isTracked(messageId: string): boolean {
    return (
      this.#database.prepare('SELECT 1 AS found FROM tasks WHERE messageId = ?').get(messageId) !== undefined
    );
  }

  list(): TrackedTask[] {
    return this.#database.prepare<Row>('SELECT * FROM tasks ORDER BY startedAt').all().map(fromRow);
  }

  remove(id: string): void {
    this.#database.prepare('DELETE FROM tasks WHERE id = ?').run(id);
  }

  close(): void {
    this.#database.close();
  }
}

function fromRow({ message, contextId, ...row }: Row): TrackedTask {
  return { ...row, message: JSON.parse(message) as Message, contextId: contextId ?? undefined };
}
