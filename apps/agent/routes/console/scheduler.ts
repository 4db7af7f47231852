import { type AppEnv, describeRoute, validate } from '@trunkline/http';
import type { Hono } from 'hono';
import { z } from 'zod';
import type { ScheduleBackend } from '../../scheduler/schedule-backend.ts';
import { fromStore } from '../store-failure.ts';
import { consoleErrors, loaded } from './errors.ts';

const newJob = z.object({
  prompt: z.string().trim().min(1),
  when: z.string().trim().min(1),
  job_id: z.string().trim().min(1).optional(),
});

/** Scheduled turns, as the console shows and plans them. */
export function mountScheduler(
  app: Hono<AppEnv>,
  routes: { scheduler(): ScheduleBackend | undefined },
): void {
  const scheduler = () => loaded(routes.scheduler(), 'The scheduler');
  app.get('/api/scheduler/jobs', describeRoute({ summary: 'Scheduled jobs' }), async (context) =>
    context.json({ jobs: await scheduler().list() }),
  );
  app.post(
    '/api/scheduler/jobs',
    describeRoute({ summary: 'Schedule a prompt' }),
    validate('json', newJob),
    async (context) => {
      const { prompt, when, job_id } = context.req.valid('json');
      const principal = context.get('principal');
      const job = await fromStore(() => scheduler().add({ prompt, when, jobId: job_id, principal }));
      return context.json({ job });
    },
  );
  const actions = { pause: 'Let a job rest', resume: 'Go on with a job', run: 'Run a job now' } as const;
  for (const [action, summary] of Object.entries(actions)) {
    app.post(`/api/scheduler/jobs/:id/${action}`, describeRoute({ summary }), async (context) => {
      const control = loaded(scheduler().control, 'The control of schedules kept by a switchboard');
      await fromStore(() =>
        control[action === 'run' ? 'runNow' : (action as 'pause' | 'resume')](context.req.param('id')),
      );
      return context.json({ ok: true });
    });
  }
  app.delete('/api/scheduler/jobs/:id', describeRoute({ summary: 'Cancel a job' }), async (context) => {
    const id = context.req.param('id');
    if (!(await scheduler().cancel(id))) throw consoleErrors.not_found({ what: `job ${id}` });
    return context.json({ ok: true });
  });
}
