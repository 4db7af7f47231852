import {
  type PushDelivery,
  requireStored,
  type Task,
  type TaskEngine,
  type TaskObserver,
} from '@trunkline/a2a';
import { type AppEnv, describeRoute, validate } from '@trunkline/http';
import type { OperatorAccess, Principal } from '@trunkline/identity';
import type { Context, Hono, MiddlewareHandler } from 'hono';
import { z } from 'zod';
import { mayApprove, viewOf } from '../../approvals/approvals.ts';
import type { CheckpointStore, WaitingApproval } from '../../turns/checkpoint-store.ts';
import { taskText } from '../../turns/converse.ts';
import { consoleErrors, fromEngine } from './errors.ts';

const approvalAnswer = z.object({
  approve: z.boolean(),
  /** The reason of a denial; passed on to the agent. */
  note: z.string().trim().max(2000).optional(),
});

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
  /** What became of the notifications of a task, oldest first. */
  deliveries(taskId: string): readonly PushDelivery[];
}

/** Tasks as the console shows them. */
export function mountTasks(app: Hono<AppEnv>, { engine, deliveries }: TaskRoutes): void {
  mountOneTask(app, { engine, deliveries });
  app.get(
    '/api/tasks',
    describeRoute({ summary: 'Tasks, the newest first' }),
    validate('query', query),
    async (context) => {
      const { state, context_id, limit, page } = context.req.valid('query');
      const wanted = {
        pageSize: limit,
        ...(state !== undefined && { state }),
        ...(context_id !== undefined && { contextId: context_id }),
        ...(page !== undefined && { pageToken: page }),
      };
      const found = await fromEngine(() => engine.list(wanted));
      const tasks = found.tasks.map(summaryOf);
      return context.json({ tasks, total: found.totalSize, next_page: found.nextPageToken || null });
    },
  );
}

/** One task: its events and deliveries, and what a person can do with it. */
function mountOneTask(app: Hono<AppEnv>, { engine, deliveries }: TaskRoutes): void {
  app.get('/api/tasks/:id', describeRoute({ summary: 'One task' }), (context) =>
    context.json({ task: summaryOf(known(engine, context.req.param('id'))) }),
  );
  app.post('/api/tasks/:id/cancel', describeRoute({ summary: 'Stop a task' }), (context) => {
    const { id } = known(engine, context.req.param('id'));
    return context.json({ task: summaryOf(engine.cancel(id, false).task) });
  });
  app.post(
    '/api/tasks/:id/answer',
    describeRoute({ summary: 'Answer the question of a task' }),
    validate('json', answer),
    async (context) => {
      const { id, contextId } = known(engine, context.req.param('id'));
      const parts = [{ type: 'text' as const, text: context.req.valid('json').text }];
      const message = { messageId: crypto.randomUUID(), role: 'user' as const, parts, taskId: id, contextId };
      const live = await fromEngine(async () => {
        const command = { message, metadata: {}, principal: context.get('principal'), strict: true };
        const started = engine.start(command);
        await requireStored(started.stored);
        return started.live;
      });
      return context.json({ task: summaryOf(live.snapshot()) });
    },
  );
  app.get(
    '/api/tasks/:id/events',
    describeRoute({ summary: 'What happened to a task, the oldest first' }),
    validate('query', eventQuery),
    (context) => {
      const { id } = known(engine, context.req.param('id'));
      const { limit, after } = context.req.valid('query');
      const events = engine.eventsAfter(engine.find(id), after);
      const page = events.slice(0, limit).map(({ sequence, event }) => ({ sequence, ...event }));
      return context.json({
        events: page,
        next: events.length > limit ? (page.at(-1)?.sequence ?? null) : null,
      });
    },
  );
  app.get(
    '/api/tasks/:id/deliveries',
    describeRoute({ summary: 'Notifications of a task to its webhooks' }),
    (context) => context.json({ deliveries: deliveries(known(engine, context.req.param('id')).id) }),
  );
}

function known(engine: TaskEngine, id: string): Task {
  const task = engine.peek(id);
  if (task === undefined) throw consoleErrors.not_found({ what: `task ${id}` });
  return task;
}

export type TaskLogEvent = { sequence: number } & Parameters<NonNullable<TaskObserver['taskEvent']>>[1];

export type TaskSummary = ReturnType<typeof summaryOf>;

function summaryOf(task: Task) {
  const { id, contextId, state, createdAt, updatedAt, history, usage, durationMs } = task;
  const [first] = history;
  const asked = first?.parts.flatMap((part) => (part.type === 'text' ? [part.text] : [])).join('\n') ?? '';
  return {
    id,
    context_id: contextId,
    state,
    asked,
    text: taskText(task),
    question: task.question ?? null,
    origin: originOf(task),
    created_at: new Date(createdAt).toISOString(),
    updated_at: new Date(updatedAt).toISOString(),
    usage: usage ?? null,
    duration_ms: durationMs ?? null,
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
  const guard = requireApprover(operator);
  app.get(
    '/api/approvals',
    describeRoute({ summary: 'What waits for an approval, exactly as it would run' }),
    guard,
    (context) => context.json({ approvals: waiting(routes).map(described(engine)) }),
  );
  app.post(
    '/api/approvals/:id',
    describeRoute({
      summary: 'Approve or deny what waits',
      description: 'For the operator in person, or an approver whom the operator paired. An id counts once.',
    }),
    guard,
    validate('json', approvalAnswer),
    async (context) => {
      const id = context.req.param('id');
      const found = waiting(routes).find(({ approval }) => approval.id === id);
      if (found === undefined) throw consoleErrors.approval_gone({ id });
      const { approve, note } = context.req.valid('json');
      const text = approve ? 'yes' : ['no', note].filter(Boolean).join(': ');
      await fromEngine(() => engine.start(answerTo(found.taskId, text, context.get('principal'))));
      return context.json({ ok: true, id, approved: approve, task_id: found.taskId });
    },
  );
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

function answerTo(taskId: string, text: string, principal: Principal) {
  const parts = [{ type: 'text' as const, text }];
  const message = { messageId: crypto.randomUUID(), role: 'user' as const, parts, taskId };
  return { message, metadata: {}, principal, strict: true };
}
