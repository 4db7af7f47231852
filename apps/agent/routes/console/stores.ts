import { type AppEnv, describeRoute, validate } from '@trunkline/http';
import type { Hono } from 'hono';
import { z } from 'zod';
import type { ScheduleBackend } from '../../scheduler/schedule-backend.ts';
import { type SkillRepository, skillSlug } from '../../skills/skill-repository.ts';
import type { AuditLog } from '../../stores/audit-log.ts';
import { ISSUE_STATES, ISSUE_TYPES } from '../../stores/beads-store.ts';
import type { AgentStores } from '../../stores/stores.ts';
import { consoleErrors, fromStore, loaded } from './errors.ts';

const newJob = z.object({
  prompt: z.string().trim().min(1),
  when: z.string().trim().min(1),
  job_id: z.string().trim().min(1).optional(),
});

const newSkill = z.object({
  name: z.string().trim().min(1).max(100),
  description: z.string().trim().max(1000).default(''),
  tools: z.array(z.string()).optional(),
  body: z.string().trim().min(1).max(100_000),
});

const query = z.object({
  limit: z.coerce.number().int().min(1).max(200).default(50),
  tool: z.string().min(1).optional(),
  session: z.string().min(1).optional(),
  success: z.stringbool().optional(),
  q: z.string().min(1).optional(),
  before: z
    .string()
    .regex(/^[01]\.\d{1,15}$/)
    .optional(),
});

type Stores = Pick<AgentStores, 'notes' | 'beads' | 'goals'>;

const newIssue = z.object({
  title: z.string().trim().min(1),
  description: z.string().default(''),
  priority: z.int().min(0).max(4).default(2),
  issue_type: z.enum(ISSUE_TYPES).default('task'),
});
const issueChange = z.object({
  title: z.string().trim().min(1).optional(),
  description: z.string().optional(),
  priority: z.int().min(0).max(4).optional(),
  issue_type: z.enum(ISSUE_TYPES).optional(),
  status: z.enum(ISSUE_STATES).optional(),
  reason: z.string().optional(),
});
const boardQuery = z.object({ include_closed: z.stringbool().default(false) });

/** What the agent keeps, as the console reads and changes it. */
export function mountStores(app: Hono<AppEnv>, stores: Stores): void {
  mountNotes(app, stores);
  mountBoard(app, stores);
  app.get('/api/goals', describeRoute({ summary: 'Goals of all sessions' }), async (context) =>
    context.json({ goals: await stores.goals.list() }),
  );
  app.delete('/api/goals/:session', describeRoute({ summary: 'Drop a goal' }), async (context) => {
    await stores.goals.remove(context.req.param('session'));
    return context.json({ ok: true });
  });
}

function mountNotes(app: Hono<AppEnv>, stores: Stores): void {
  app.get('/api/notes/workspace', describeRoute({ summary: 'The notes' }), (context) =>
    context.json(stores.notes.workspace()),
  );
  app.put(
    '/api/notes/workspace',
    describeRoute({ summary: 'Replace the notes' }),
    validate('json', z.looseObject({})),
    async (context) => context.json(await fromStore(() => stores.notes.replace(context.req.valid('json')))),
  );
}

function mountBoard(app: Hono<AppEnv>, stores: Stores): void {
  app.get(
    '/api/beads/issues',
    describeRoute({ summary: 'The task board' }),
    validate('query', boardQuery),
    (context) => context.json({ issues: stores.beads.list(context.req.valid('query').include_closed) }),
  );
  app.post(
    '/api/beads/issues',
    describeRoute({ summary: 'Put an issue on the board' }),
    validate('json', newIssue),
    async (context) =>
      context.json({ issue: await fromStore(() => stores.beads.create(context.req.valid('json'))) }),
  );
  app.patch(
    '/api/beads/issues/:id',
    describeRoute({ summary: 'Change an issue' }),
    validate('json', issueChange),
    async (context) => {
      const change = Object.fromEntries(
        Object.entries(context.req.valid('json')).filter(([, value]) => value !== undefined),
      );
      const issue = await fromStore(() => stores.beads.update(context.req.param('id'), change));
      return context.json({ issue });
    },
  );
}

/** The audit log: what the tools were called with, by whom, and their results. */
export function mountAudit(app: Hono<AppEnv>, { audit }: { audit: AuditLog | undefined }): void {
  app.get(
    '/api/audit',
    describeRoute({ summary: 'Calls of tools, the newest first' }),
    validate('query', query),
    async (context) => {
      const { limit, before, q, ...filter } = context.req.valid('query');
      return context.json(await loaded(audit, 'The audit log').read({ ...filter, search: q }, limit, before));
    },
  );
}

interface SkillRoutes {
  skills: SkillRepository;
  onSkillsChange(): void;
}

/** The skills of the agent: those it may follow, and those that are switched off. */
export function mountSkills(app: Hono<AppEnv>, { skills, onSkillsChange }: SkillRoutes): void {
  app.get('/api/skills', describeRoute({ summary: 'Skills of the agent' }), async (context) =>
    context.json({ skills: await skills.all() }),
  );
  app.put(
    '/api/skills/:slug',
    describeRoute({ summary: 'Write a skill', description: 'The slug is the folder it is kept in.' }),
    validate('json', newSkill),
    async (context) => {
      const slug = context.req.param('slug');
      if (skillSlug(slug) !== slug) throw consoleErrors.config_invalid({ words: badSlug(slug) });
      await skills.write(slug, context.req.valid('json'));
      onSkillsChange();
      return context.json({ ok: true });
    },
  );
  app.delete('/api/skills/:slug', describeRoute({ summary: 'Delete a skill' }), async (context) => {
    const slug = context.req.param('slug');
    if (!(await skills.remove(slug))) throw consoleErrors.not_found({ what: `skill in the folder ${slug}` });
    onSkillsChange();
    return context.json({ ok: true });
  });
}

function badSlug(slug: string): string {
  return `${JSON.stringify(slug)} is no name for a folder: use small letters, digits and -, such as ${skillSlug(slug) || 'my-skill'}.`;
}

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
