import { invalidParams } from '../errors/a2a-error.ts';
import type { Task } from '../protocol/model.ts';
import type { ListCursor, ListFilter, TaskStore } from './task-store.ts';

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

const defaultPageSize = 50;
const largestPage = 100;

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
