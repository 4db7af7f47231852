import { randomBytes } from 'node:crypto';
import type { Message } from '@trunkline/bus';
import type { Logger } from '@trunkline/config';
import { derivedId } from '../core/messages.ts';
import { Store } from '../core/store.ts';
import type { FlowStore } from '../flows/flow-store.ts';
import type { RemoteTask, SkillExecutor } from './executor.ts';
import type { Dispatch } from './request.ts';

/** A remote task of a request. */
export interface TrackedTask {
  /** Our id, part of the callback URL. */
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

/** Remote tasks that have not ended. */
export class TaskStore extends Store {
  /** Messages by task, and all of them: each request asks, and hardly any has one. */
  readonly #messages = new Map<string, string>();
  readonly #tracked = new Set<string>();

  constructor(path: string) {
    super(path, migrations);
    const rows = this.all<Row>('SELECT id, messageId FROM tasks');
    for (const { id, messageId } of rows) this.#remember(id, messageId);
  }

  /** An existing task stays as it is. */
  add({ message, contextId, ...task }: TrackedTask): void {
    this.write(
      `INSERT INTO tasks (id, messageId, flowId, message, agent, taskId, contextId, token, startedAt)
         VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING`,
      [
        task.id,
        task.messageId,
        task.flowId,
        JSON.stringify(message),
        task.agent,
        task.taskId,
        contextId ?? null,
        task.token,
        task.startedAt,
      ],
    );
    this.#remember(task.id, task.messageId);
  }

  get(id: string): TrackedTask | undefined {
    const row = this.one<Row>('SELECT * FROM tasks WHERE id = ?', [id]);
    return row && fromRow(row);
  }

  isTracked(messageId: string): boolean {
    return this.#tracked.has(messageId);
  }

  list(): TrackedTask[] {
    return this.all<Row>('SELECT * FROM tasks ORDER BY startedAt').map(fromRow);
  }

  remove(id: string): void {
    this.write('DELETE FROM tasks WHERE id = ?', [id]);
    this.#tracked.delete(this.#messages.get(id) ?? '');
    this.#messages.delete(id);
  }

  #remember(id: string, messageId: string): void {
    this.#messages.set(id, messageId);
    this.#tracked.add(messageId);
  }
}

function fromRow({ message, contextId, ...row }: Row): TrackedTask {
  return { ...row, message: JSON.parse(message) as Message, contextId: contextId ?? undefined };
}

export interface TrackedRun {
  flowId: string;
  dispatch: Dispatch;
  executor: SkillExecutor;
  startedAt: number;
  /** What a callback must present; created on first use. */
  token?: string;
  task?: RemoteTask;
}

interface TaskTrackerSettings {
  tasks: TaskStore;
  flows: FlowStore;
  /** Undefined when other services cannot reach this one. */
  callbackUrl: ((id: string) => string) | undefined;
  logger: Logger;
}

/** Stores the remote tasks of runs, so that a restart does not lose them. */
export function createTaskTracker({ callbackUrl, logger, tasks, flows }: TaskTrackerSettings) {
  function callbackFor(run: TrackedRun): { url: string; token: string } | undefined {
    return callbackUrl && { url: callbackUrl(trackId(run.dispatch)), token: tokenOf(run) };
  }

  /**
   * If the task cannot be stored (full disk), only its connection is followed, and the request repeated when that ends
   * early.
   */
  function tryTrack(run: TrackedRun, task: RemoteTask): void {
    try {
      track(run, task);
    } catch (error) {
      const { executor, dispatch } = run;
      const details = { err: error, agent: executor.agent, message: dispatch.message.id };
      logger.warn(details, 'failed to store the task of another service; it is followed on the line alone');
    }
  }

  function track(run: TrackedRun, task: RemoteTask): void {
    if (run.task !== undefined) return;
    const { flowId, dispatch, executor, startedAt } = run;
    const { message } = dispatch;
    const place = { id: trackId(dispatch), messageId: message.id, flowId, message, agent: executor.agent };
    const { taskId, contextId } = task;
    // After a restart the task ends this flow.
    flows.flush();
    tasks.add({ ...place, taskId, contextId, token: tokenOf(run), startedAt });
    run.task = task;
    flows.trace(flowId, 'remote-task', { agent: executor.agent, taskId });
  }

  function end({ task, dispatch }: TrackedRun): void {
    if (task !== undefined) tasks.remove(trackId(dispatch));
  }

  return { callbackFor, tryTrack, track, end };
}

export type TaskTracker = ReturnType<typeof createTaskTracker>;

function trackId({ message }: Dispatch): string {
  return derivedId(message.id, 'task');
}

function tokenOf(run: TrackedRun): string {
  run.token ??= randomBytes(24).toString('base64url');
  return run.token;
}
