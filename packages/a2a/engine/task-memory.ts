import { invalidParams } from '../errors/a2a-error.ts';
import type { Task } from '../protocol/model.ts';
import type { LiveTask } from './live-task.ts';
import type { ListCursor, ListFilter, TaskStore } from './task-store.ts';

const defaultPageSize = 50;

const largestPage = 100;

/** A finished task stays in memory no longer than this. */
const longestIdleMs = 60 * 60 * 1000;
/** And no more of them than this, as they can be read from disk at any time. */
const mostIdle = 200;

/** The tasks in memory: all that work, and the last few that do not. */
export class TaskMemory {
  readonly #working = new Map<string, LiveTask>();
  /** Oldest first. */
  readonly #idle = new Map<string, LiveTask>();

  get running(): number {
    return this.#working.size;
  }

  get size(): number {
    return this.#working.size + this.#idle.size;
  }

  get(id: string): LiveTask | undefined {
    return this.#working.get(id) ?? this.#idle.get(id);
  }

  /** Files the task under its present state. */
  keep(live: LiveTask, now: number): void {
    this.#idle.delete(live.id);
    live.touchedAt = now;
    if (live.state === 'working') {
      this.#working.set(live.id, live);
      return;
    }
    this.#working.delete(live.id);
    this.#idle.set(live.id, live);
    if (this.#idle.size > mostIdle) this.#dropOldest();
  }

  forget(id: string): void {
    this.#working.delete(id);
    this.#idle.delete(id);
  }

  /** Evicts tasks that nobody has used for long, except those that work or have followers. */
  evict(now: number): void {
    for (const live of this.#idle.values()) {
      if (live.touchedAt + longestIdleMs > now) break;
      if (!live.followed) this.#idle.delete(live.id);
    }
  }

  all(): LiveTask[] {
    return [...this.#working.values(), ...this.#idle.values()];
  }

  #dropOldest(): void {
    for (const live of this.#idle.values()) {
      if (live.followed) continue;
      this.#idle.delete(live.id);
      return;
    }
  }
}

export interface ListQuery extends ListFilter {
  pageSize?: number;
  pageToken?: string;
}

export interface TaskPage {
  tasks: Task[];
  totalSize: number;
  pageSize: number;
  /** Empty on the last page. */
  nextPageToken: string;
}

export function listTasks(store: TaskStore, query: ListQuery): TaskPage {
  const pageSize = checkPageSize(query.pageSize ?? defaultPageSize);
  const after = query.pageToken ? readToken(query.pageToken) : undefined;
  const tasks = store.list(query, after, pageSize + 1);
  const page = tasks.slice(0, pageSize);
  const last = tasks.length > pageSize ? page.at(-1) : undefined;
  return {
    tasks: page,
    totalSize: store.count(query),
    pageSize,
    nextPageToken: last === undefined ? '' : writeToken(last),
  };
}

function checkPageSize(size: number): number {
  if (Number.isInteger(size) && size >= 1 && size <= largestPage) return size;
  throw invalidParams(`pageSize must be a whole number between 1 and ${largestPage}`);
}

function writeToken(task: Task): string {
  return Buffer.from(`${task.updatedAt}.${task.id}`).toString('base64url');
}

function readToken(token: string): ListCursor {
  const [, time, id] = /^(\d{1,16})\.(.+)$/s.exec(Buffer.from(token, 'base64url').toString()) ?? [];
  if (time === undefined || id === undefined) {
    throw invalidParams('pageToken is not one that this server gave out: leave it away to begin anew');
  }
  return { updatedAt: Number(time), id };
}
