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

interface Entry {
  live: LiveTask;
  isWorking: boolean;
  /** Of those that do not work. */
  older: Entry | undefined;
  newer: Entry | undefined;
}

/**
 * The tasks in memory: all that work, and the last few that do not. Tasks come and go all the time, so they stand in no
 * map (`Roster` of std says what that costs), and one that goes keeps no link to the others.
 */
export class TaskMemory {
  readonly #entries: Record<string, Entry> = Object.create(null);
  #working = 0;
  #idle = 0;
  #oldest: Entry | undefined;
  #newest: Entry | undefined;

  get running(): number {
    return this.#working;
  }

  get size(): number {
    return this.#working + this.#idle;
  }

  get(id: string): LiveTask | undefined {
    return this.#entries[id]?.live;
  }

  /** Files the task under its present state. */
  keep(live: LiveTask, now: number): void {
    live.touchedAt = now;
    const isWorking = live.state === 'working';
    let entry = this.#entries[live.id];
    if (entry === undefined) {
      entry = { live, isWorking, older: undefined, newer: undefined };
      this.#entries[live.id] = entry;
    } else {
      this.#unlink(entry);
      entry.live = live;
      entry.isWorking = isWorking;
    }
    if (isWorking) {
      this.#working += 1;
      return;
    }
    entry.older = this.#newest;
    if (this.#newest === undefined) this.#oldest = entry;
    else this.#newest.newer = entry;
    this.#newest = entry;
    this.#idle += 1;
    if (this.#idle > mostIdle) this.#dropOldest();
  }

  forget(id: string): void {
    const entry = this.#entries[id];
    if (entry === undefined) return;
    delete this.#entries[id];
    this.#unlink(entry);
  }

  #unlink(entry: Entry): void {
    if (entry.isWorking) {
      this.#working -= 1;
      return;
    }
    const { older, newer } = entry;
    if (older === undefined) this.#oldest = newer;
    else older.newer = newer;
    if (newer === undefined) this.#newest = older;
    else newer.older = older;
    entry.older = undefined;
    entry.newer = undefined;
    this.#idle -= 1;
  }

  /** Evicts tasks that nobody has used for long, except those that work or have followers. */
  evict(now: number): void {
    for (const live of this.#idleTasks()) {
      if (live.touchedAt + longestIdleMs > now) break;
      if (!live.followed) this.forget(live.id);
    }
  }

  all(): LiveTask[] {
    return Object.values(this.#entries).map(({ live }) => live);
  }

  #dropOldest(): void {
    for (const live of this.#idleTasks()) {
      if (live.followed) continue;
      this.forget(live.id);
      return;
    }
  }

  /** Oldest first; the one that was given last may be forgotten meanwhile. */
  *#idleTasks(): Generator<LiveTask> {
    for (let entry = this.#oldest; entry !== undefined; ) {
      const { live, newer }: Entry = entry;
      yield live;
      entry = newer;
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
  throw invalidParams(`pageSize must be a whole number between 1 and ${largestPage}`, 'pageSize');
}

function writeToken(task: Task): string {
  return Buffer.from(`${task.updatedAt}.${task.id}`).toString('base64url');
}

function readToken(token: string): ListCursor {
  const [, time, id] = /^(\d{1,16})\.(.+)$/s.exec(Buffer.from(token, 'base64url').toString()) ?? [];
  if (time === undefined || id === undefined) {
    throw invalidParams(
      'pageToken is not one that this server gave out: leave it away to begin anew',
      'pageToken',
    );
  }
  return { updatedAt: Number(time), id };
}
