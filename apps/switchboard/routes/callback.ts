import { defineErrors, describeRoute } from '@trunkline/http';
import type { Hono } from 'hono';
import type { LongTasks } from '../dispatch/long-tasks.ts';
import type { SwitchboardEnv } from './guards.ts';

const errors = defineErrors({
  task_unknown: [404, 'No such task is waited for.'],
  token_refused: [401, 'The token of the task is missing or wrong.'],
});

/** Other services tell here that a task is over. Mounted before the guards: each task has a token of its own instead of a key. */
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
