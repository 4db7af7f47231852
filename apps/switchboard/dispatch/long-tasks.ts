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
export class LongTasks {
  readonly #settings: LongTaskSettings;
  readonly #closing = new AbortController();
  readonly #polls = new Map<string, Promise<void>>();
  readonly #failures = new Map<string, number>();
  #timer: NodeJS.Timeout | undefined;

  constructor(settings: LongTaskSettings) {
    this.#settings = settings;
  }

  start(): void {
    this.#pollAll();
    this.#timer = setInterval(() => this.#pollAll(), this.#settings.pollMs).unref();
  }

  async close(): Promise<void> {
    clearInterval(this.#timer);
    this.#closing.abort();
    await Promise.all(this.#polls.values());
  }

  /** The callback is only a hint: the task's state is fetched, not believed. */
  callBack(id: string, token: string): CallbackOutcome {
    const task = this.#settings.store.get(id);
    if (task === undefined) return 'unknown';
    if (!isSame(task.token, token)) return 'forbidden';
    this.#poll(task);
    return 'accepted';
  }

  #pollAll(): void {
    try {
      for (const task of this.#settings.store.list()) this.#poll(task);
    } catch (error) {
      this.#settings.logger.error({ err: error }, 'failed to read tasks.db; retrying');
    }
  }

  #poll(task: TrackedTask): void {
    if (this.#closing.signal.aborted || this.#polls.has(task.id) || this.#settings.isLive(task)) return;
    const poll = this.#look(task)
      .catch((error: unknown) =>
        this.#settings.logger.error({ err: error, task: task.id }, 'failed to finish task'),
      )
      .finally(() => this.#polls.delete(task.id));
    this.#polls.set(task.id, poll);
  }

  async #look(task: TrackedTask): Promise<void> {
    const { store, finish } = this.#settings;
    const left = task.startedAt + mostMs - Date.now();
    const result = left > 0 ? await this.#ask(task, left) : tooLate(task);
    if (result === undefined || this.#closing.signal.aborted) return;
    await finish(task, result);
    store.remove(task.id);
    this.#failures.delete(task.id);
  }

  /** Undefined while it works, or its agent is out of reach for a while. */
  async #ask(task: TrackedTask, left: number): Promise<SkillResult | undefined> {
    try {
      const result = await this.#resume(task, left);
      this.#failures.delete(task.id);
      return result;
    } catch (error) {
      if (this.#closing.signal.aborted) return undefined;
      const failures = (this.#failures.get(task.id) ?? 0) + 1;
      this.#failures.set(task.id, failures);
      const words = errorMessage(error);
      this.#settings.logger.warn({ agent: task.agent, task: task.taskId, failures }, words);
      return failures < mostFailures ? undefined : { content: '', error: words, taskState: 'failed' };
    }
  }

  async #resume(task: TrackedTask, left: number): Promise<SkillResult | undefined> {
    const executor = this.#settings.registry.agent(task.agent);
    if (executor?.resume === undefined) return undefined;
    const signal = AbortSignal.any([this.#closing.signal, AbortSignal.timeout(left)]);
    const { taskId, contextId } = task;
    const place = { taskId, ...(contextId !== undefined && { contextId }) };
    const result = await executor.resume(readDispatch(task.message), place, {
      signal,
      tell: () => undefined,
    });
    return result.taskState === 'working' ? undefined : result;
  }
}

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
