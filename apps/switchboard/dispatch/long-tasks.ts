import { timingSafeEqual } from 'node:crypto';
import type { Logger } from '@trunkline/config';
import { defineErrors, describeRoute } from '@trunkline/http';
import { errorMessage } from '@trunkline/std';
import type { Hono } from 'hono';
import type { SwitchboardEnv } from '../routes/guards.ts';
import type { SkillResult } from './executor.ts';
import type { ExecutorRegistry } from './registry.ts';
import { readDispatch } from './request.ts';
import type { TaskStore, TrackedTask } from './task-store.ts';

const errors = defineErrors({
  task_unknown: [404, 'No such task is waited for.'],
  token_refused: [401, 'The token of the task is missing or wrong.'],
});

export interface LongTaskSettings {
  store: TaskStore;
  registry: ExecutorRegistry;
  pollMs: number;
  /** Whether a run in this process follows it. */
  isLive(task: TrackedTask): boolean;
  /** Delivers the result. */
  finish(task: TrackedTask, result: SkillResult): Promise<void>;
  logger: Logger;
}

export type CallbackOutcome = 'accepted' | 'unknown' | 'forbidden';

/** Remote tasks are given up after this long. */
const mostMs = 60 * 60 * 1000;
/** Consecutive failures to reach the agent. */
const mostFailures = 10;

/** Polls remote tasks until they end: at intervals, on callbacks, and after a restart. */
export function createLongTasks({ store, finish, pollMs, logger, isLive, registry }: LongTaskSettings) {
  const closing = new AbortController();
  const polls = new Map<string, Promise<void>>();
  const failures = new Map<string, number>();
  let timer: NodeJS.Timeout | undefined;

  function start(): void {
    pollAll();
    timer = setInterval(() => pollAll(), pollMs).unref();
  }

  async function close(): Promise<void> {
    clearInterval(timer);
    closing.abort();
    await Promise.all(polls.values());
  }

  /** The callback is only a hint: the task's state is fetched, not believed. */
  function callBack(id: string, token: string): CallbackOutcome {
    const task = store.get(id);
    if (task === undefined) return 'unknown';
    if (!isSame(task.token, token)) return 'forbidden';
    poll(task);
    return 'accepted';
  }

  function pollAll(): void {
    try {
      for (const task of store.list()) poll(task);
    } catch (error) {
      logger.error({ err: error }, 'failed to read tasks.db; retrying');
    }
  }

  function poll(task: TrackedTask): void {
    if (closing.signal.aborted || polls.has(task.id) || isLive(task)) return;
    const polling = look(task)
      .catch((error: unknown) => logger.error({ err: error, task: task.id }, 'failed to finish task'))
      .finally(() => polls.delete(task.id));
    polls.set(task.id, polling);
  }

  async function look(task: TrackedTask): Promise<void> {
    const left = task.startedAt + mostMs - Date.now();
    const result = left > 0 ? await ask(task, left) : tooLate(task);
    if (result === undefined || closing.signal.aborted) return;
    await finish(task, result);
    store.remove(task.id);
    failures.delete(task.id);
  }

  /** Undefined while it works, or its agent is out of reach for a while. */
  async function ask(task: TrackedTask, left: number): Promise<SkillResult | undefined> {
    try {
      const result = await resume(task, left);
      failures.delete(task.id);
      return result;
    } catch (error) {
      if (closing.signal.aborted) return undefined;
      const count = (failures.get(task.id) ?? 0) + 1;
      failures.set(task.id, count);
      const words = errorMessage(error);
      logger.warn(
        { agent: task.agent, task: task.taskId, failures: count, error: words },
        'failed to poll remote task',
      );
      return count < mostFailures ? undefined : { content: '', error: words, taskState: 'failed' };
    }
  }

  async function resume(task: TrackedTask, left: number): Promise<SkillResult | undefined> {
    const executor = registry.agent(task.agent);
    if (executor?.resume === undefined) return undefined;
    const signal = AbortSignal.any([closing.signal, AbortSignal.timeout(left)]);
    const { taskId, contextId } = task;
    const place = { taskId, ...(contextId !== undefined && { contextId }) };
    const result = await executor.resume(readDispatch(task.message), place, {
      signal,
      tell: () => undefined,
    });
    return result.taskState === 'working' ? undefined : result;
  }

  return { start, close, callBack };
}

export type LongTasks = ReturnType<typeof createLongTasks>;

function tooLate({ agent }: TrackedTask): SkillResult {
  return {
    content: '',
    error: `${agent} did not finish within ${mostMs / 60_000} minutes`,
    taskState: 'failed',
  };
}

function isSame(expected: string, given: string): boolean {
  const [left, right] = [Buffer.from(expected), Buffer.from(given)];
  return left.length === right.length && timingSafeEqual(left, right);
}

/** Remote services report the end of tasks here. Mounted before the guards: each task has a token instead of a key. */
export function mountCallback(app: Hono<SwitchboardEnv>, tasks: LongTasks): void {
  const description = describeRoute({
    summary: 'Tells that a task of another service has news',
    errors: [errors.task_unknown, errors.token_refused],
  });
  app.post('/api/a2a/callback/:taskId', description, (context) => {
    const bearer = context.req.header('authorization')?.replace(/^Bearer /i, '');
    const token = context.req.header('x-a2a-notification-token') ?? bearer ?? '';
    const outcome = tasks.callBack(context.req.param('taskId'), token);
    if (outcome === 'unknown') throw errors.task_unknown();
    if (outcome === 'forbidden') throw errors.token_refused();
    return context.json({ success: true }, 202);
  });
}
