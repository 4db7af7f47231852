import type { Task, TaskEngine } from '@trunkline/a2a';
import { type AppEnv, describeRoute, validate } from '@trunkline/http';
import type { Hono } from 'hono';
import { z } from 'zod';
import { taskText } from '../../turns/task-text.ts';
import { fromEngine } from '../engine-failure.ts';
import { consoleErrors } from './errors.ts';

const states = ['working', 'input-required', 'auth-required', 'completed', 'failed', 'canceled', 'rejected'];
const query = z.object({
  state: z.enum(states).optional(),
  context_id: z.string().optional(),
  limit: z.coerce.number().int().min(1).max(100).default(50),
  page: z.string().optional(),
});

/** Tasks as the console shows them. */
export function mountTasks(app: Hono<AppEnv>, engine: TaskEngine): void {
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
  app.get('/api/tasks/:id', describeRoute({ summary: 'One task' }), (context) =>
    context.json({ task: summaryOf(known(engine, context.req.param('id'))) }),
  );
  app.post('/api/tasks/:id/cancel', describeRoute({ summary: 'Stop a task' }), (context) => {
    const { id } = known(engine, context.req.param('id'));
    return context.json({ task: summaryOf(engine.cancel(id, false).task) });
  });
}

function known(engine: TaskEngine, id: string): Task {
  const task = engine.peek(id);
  if (task === undefined) throw consoleErrors.not_found({ what: `task ${id}` });
  return task;
}

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
    created_at: new Date(createdAt).toISOString(),
    updated_at: new Date(updatedAt).toISOString(),
    usage: usage ?? null,
    duration_ms: durationMs ?? null,
  };
}
