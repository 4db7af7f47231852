import {
  type PushDelivery,
  requireStored,
  type Task,
  type TaskEngine,
  type TaskObserver,
  textOf,
} from '@trunkline/a2a';
import type { AppEnv } from '@trunkline/http';
import type { OperatorAccess, Principal } from '@trunkline/identity';
import type { Context, Hono, MiddlewareHandler } from 'hono';
import { z } from 'zod';
import { mayApprove, viewOf } from '../../approvals/approvals.ts';
import type { CheckpointStore, WaitingApproval } from '../../turns/checkpoint-store.ts';
import { taskText } from '../../turns/converse.ts';
import { jsonRoutes } from '../json-routes.ts';
import { consoleErrors } from './errors.ts';

const approvalAnswer = z.object({
  approve: z.boolean(),
  /** The reason of a denial; passed on to the agent. */
  note: z.string().trim().max(2000).optional(),
  /** How far the approval of a call goes; a command is approved once. */
  scope: z.enum(['once', 'task', 'always']).default('once'),
});

const yes = { once: 'yes', task: 'yes, for this task', always: 'yes, always' };

export type { Part, PushDelivery } from '@trunkline/a2a';

const states = ['working', 'input-required', 'auth-required', 'completed', 'failed', 'canceled', 'rejected'];
const query = z.object({
  state: z.enum(states).optional(),
  context_id: z.string().optional(),
  limit: z.coerce.number().int().min(1).max(100).default(50),
  page: z.string().optional(),
});

const eventQuery = z.object({
  limit: z.coerce.number().int().min(1).max(200).default(100),
  after: z.coerce.number().int().nonnegative().default(0),
});
const answer = z.object({ text: z.string().trim().min(1).max(200_000) });

export interface TaskRoutes {
  engine: TaskEngine;
  /** Notifications of a task and their outcome, oldest first. */
  deliveries(taskId: string): readonly PushDelivery[];
}

/** Tasks as the console shows them, and what a person can do with one. */
export function mountTasks(app: Hono<AppEnv>, { engine, deliveries }: TaskRoutes): void {
  const { get, post } = jsonRoutes(app);
  const list = { summary: 'Tasks, the newest first', query };
  get('/api/tasks', list, ({ query: { state, context_id, limit, page }, principal }) => {
    const found = engine.for(principal).list({
      pageSize: limit,
      ...(state !== undefined && { state }),
      ...(context_id !== undefined && { contextId: context_id }),
      ...(page !== undefined && { pageToken: page }),
    });
    const tasks = found.tasks.map(summaryOf);
    return { tasks, total: found.totalSize, next_page: found.nextPageToken || null };
  });
  get('/api/tasks/:id', { summary: 'One task' }, ({ param, principal }) => ({
    task: summaryOf(engine.for(principal).get(param.id)),
  }));
  post('/api/tasks/:id/cancel', { summary: 'Stop a task' }, ({ param, principal }) => ({
    task: summaryOf(engine.for(principal).cancel(param.id, false).task),
  }));
  const reply = { summary: 'Answer the question of a task', json: answer };
  post('/api/tasks/:id/answer', reply, async ({ param, json, principal }) => {
    const { live, stored } = engine.for(principal).start(answerTo(param.id, json.text));
    await requireStored(stored);
    return { task: summaryOf(live.snapshot()) };
  });
  const log = { summary: 'What happened to a task, the oldest first', query: eventQuery };
  get('/api/tasks/:id/events', log, ({ param, query: { limit, after }, principal }) => {
    const events = engine.eventsAfter(engine.for(principal).find(param.id), after);
    const page = events.slice(0, limit).map(({ sequence, event }) => ({ sequence, ...event }));
    return { events: page, next: events.length > limit ? (page.at(-1)?.sequence ?? null) : null };
  });
  const sent = { summary: 'Notifications of a task to its webhooks' };
  get('/api/tasks/:id/deliveries', sent, ({ param, principal }) => ({
    deliveries: deliveries(engine.for(principal).get(param.id).id),
  }));
}

export type TaskLogEvent = { sequence: number } & Parameters<NonNullable<TaskObserver['taskEvent']>>[1];

export type TaskSummary = ReturnType<typeof summaryOf>;

function summaryOf(task: Task) {
  const { id, contextId, state, createdAt, updatedAt, history, usage, durationMs, deniedCalls = 0 } = task;
  return {
    id,
    context_id: contextId,
    state,
    asked: textOf(history[0]?.parts ?? []),
    text: taskText(task),
    question: task.question ?? null,
    origin: originOf(task),
    created_at: new Date(createdAt).toISOString(),
    updated_at: new Date(updatedAt).toISOString(),
    usage: usage ?? null,
    duration_ms: durationMs ?? null,
    /** Calls of tools that the policy or a person denied. */
    denied_calls: deniedCalls,
  };
}

/** Where the task came from, as far as its metadata tells. */
function originOf({ metadata = {} }: Task): string {
  if (metadata.scheduler_job_id !== undefined) return 'schedule';
  if (metadata.inbox_item_id !== undefined) return 'inbox';
  return typeof metadata.channel === 'string' ? metadata.channel : 'a2a';
}

interface ApprovalRoutes {
  engine: TaskEngine;
  checkpoints: CheckpointStore;
  operator: OperatorAccess;
}

/** What waits for the operator's approval. */
export function mountApprovals(app: Hono<AppEnv>, routes: ApprovalRoutes): void {
  const { engine, operator } = routes;
  const { get, post } = jsonRoutes(app);
  const guard = requireApprover(operator);
  const list = { summary: 'What waits for an approval, exactly as it would run', guard };
  get('/api/approvals', list, () => ({ approvals: waiting(routes).map(described(engine)) }));
  const decision = {
    summary: 'Approve or deny what waits',
    description: 'For the operator in person, or an approver whom the operator paired. An id counts once.',
    guard,
    json: approvalAnswer,
  };
  post('/api/approvals/:id', decision, ({ param: { id }, json: { approve, note, scope }, principal }) => {
    const taskId = waiting(routes).find(({ approval }) => approval.id === id)?.taskId;
    if (taskId === undefined) throw consoleErrors.approval_gone({ id });
    const text = approve ? yes[scope] : ['no', note].filter(Boolean).join(': ');
    engine.for(principal).start(answerTo(taskId, text));
    return { ok: true, id, approved: approve, task_id: taskId };
  });
}

function requireApprover(operator: OperatorAccess): MiddlewareHandler {
  return async (context: Context<AppEnv>, next) => {
    if (mayApprove(context.get('principal'), operator)) return next();
    throw consoleErrors.approver_required({ keyFile: operator.keyFile });
  };
}

/** A task that was stopped, or whose turn was cut off by a restart, waits for nothing any more. */
function waiting({ engine, checkpoints }: ApprovalRoutes): WaitingApproval[] {
  return checkpoints.approvals().filter(({ taskId }) => engine.peek(taskId)?.state === 'input-required');
}

function described(engine: TaskEngine) {
  return ({ taskId, approval, principal, savedAt }: WaitingApproval) => ({
    ...viewOf(approval),
    task_id: taskId,
    context_id: engine.peek(taskId)?.contextId ?? null,
    asked_by: nameOf(principal),
    asked_at: new Date(savedAt).toISOString(),
  });
}

function nameOf({ kind, id, via }: Principal): string {
  const who = kind === id ? kind : `${kind} ${id}`;
  return via.length === 0 ? who : `${who}, by way of ${via.join(', ')}`;
}

function answerTo(taskId: string, text: string) {
  const parts = [{ type: 'text' as const, text }];
  const message = { messageId: crypto.randomUUID(), role: 'user' as const, parts, taskId };
  return { message, metadata: {}, strict: true };
}
