import type { AppEnv } from '@trunkline/http';
import type { Principal } from '@trunkline/identity';
import type { Hono } from 'hono';
import { z } from 'zod';
import type { Owners } from '../../owners.ts';
import { previewSchedule, type ScheduleBackend } from '../../scheduler/schedule-backend.ts';
import { type SkillRepository, skillSlug } from '../../skills/skill-repository.ts';
import type { AuditLog } from '../../stores/audit-log.ts';
import { ISSUE_STATES, ISSUE_TYPES } from '../../stores/beads-store.ts';
import type { AgentStores } from '../../stores/stores.ts';
import { jsonRoutes } from '../json-routes.ts';
import { consoleErrors, loaded } from './errors.ts';

const newJob = z.object({
  prompt: z.string().trim().min(1),
  when: z.string().trim().min(1),
  timezone: z.string().trim().min(1).max(100).optional(),
  job_id: z.string().trim().min(1).optional(),
  /** The conversation that shows its runs. */
  session_id: z.string().min(1).max(500).optional(),
});

const timesOf = newJob.pick({ when: true }).extend({ timezone: newJob.shape.timezone.default('UTC') });

const newSkill = z.object({
  name: z.string().trim().min(1).max(100),
  description: z.string().trim().max(1000).default(''),
  tools: z.array(z.string()).optional(),
  body: z.string().trim().min(1).max(100_000),
});

const auditQuery = z.object({
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

type Stores = Pick<AgentStores, 'notes' | 'beads' | 'goals'> & { owners: Owners };

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
export function mountStores(app: Hono<AppEnv>, { notes, beads, goals, owners: { actor } }: Stores): void {
  const route = jsonRoutes(app);
  route.get('/api/notes/workspace', { summary: 'The notes' }, ({ principal }) =>
    notes.for(actor(principal)).workspace(),
  );
  const replace = { summary: 'Replace the notes', json: z.looseObject({}) };
  route.put('/api/notes/workspace', replace, ({ json, principal }) =>
    notes.for(actor(principal)).replace(json),
  );
  const board = { summary: 'The task board', query: boardQuery };
  route.get('/api/beads/issues', board, ({ query, principal }) => ({
    issues: beads.for(actor(principal)).list(query.include_closed),
  }));
  const create = { summary: 'Put an issue on the board', json: newIssue };
  route.post('/api/beads/issues', create, ({ json, principal }) => ({
    issue: beads.for(actor(principal)).create(json),
  }));
  const change = { summary: 'Change an issue', json: issueChange };
  route.patch('/api/beads/issues/:id', change, ({ param, json, principal }) => ({
    issue: beads.for(actor(principal)).update(param.id, json),
  }));
  route.get('/api/goals', { summary: 'Goals of all sessions' }, async ({ principal }) => ({
    goals: await goals.for(actor(principal)).list(),
  }));
  route.delete('/api/goals/:session', { summary: 'Drop a goal' }, async ({ param, principal }) => {
    await goals.for(actor(principal)).remove(param.session);
    return { ok: true };
  });
}

/** The audit log: what the tools were called with, by whom, and their results. */
export function mountAudit(app: Hono<AppEnv>, { audit }: { audit: AuditLog | undefined }): void {
  const calls = { summary: 'Calls of tools, the newest first', query: auditQuery };
  jsonRoutes(app).get('/api/audit', calls, ({ query: { limit, before, q, ...filter } }) =>
    loaded(audit, 'The audit log').read({ ...filter, search: q }, limit, before),
  );
}

interface SkillRoutes {
  skills: SkillRepository;
  onSkillsChange(): void;
}

/** The skills of the agent: those it may follow, and those that are switched off. */
export function mountSkills(app: Hono<AppEnv>, { skills, onSkillsChange }: SkillRoutes): void {
  const route = jsonRoutes(app);
  route.get('/api/skills', { summary: 'Skills of the agent' }, async () => ({ skills: await skills.all() }));
  const write = {
    summary: 'Write a skill',
    description: 'The slug is the folder it is kept in.',
    json: newSkill,
  };
  route.put('/api/skills/:slug', write, async ({ param: { slug }, json }) => {
    if (skillSlug(slug) !== slug) throw consoleErrors.config_invalid({ words: badSlug(slug) });
    await skills.write(slug, json);
    onSkillsChange();
    return { ok: true };
  });
  route.delete('/api/skills/:slug', { summary: 'Delete a skill' }, async ({ param: { slug } }) => {
    if (!(await skills.remove(slug))) throw consoleErrors.not_found({ what: `skill in the folder ${slug}` });
    onSkillsChange();
    return { ok: true };
  });
}

function badSlug(slug: string): string {
  return `${JSON.stringify(slug)} is no name for a folder: use small letters, digits and -, such as ${skillSlug(slug) || 'my-skill'}.`;
}

/** Scheduled turns, as the console shows and plans them. */
export function mountScheduler(
  app: Hono<AppEnv>,
  routes: { scheduler(): ScheduleBackend | undefined; owners: Owners },
): void {
  const scheduler = (principal: Principal) =>
    loaded(routes.scheduler(), 'The scheduler').for(routes.owners.actor(principal));
  const control = (principal: Principal) =>
    loaded(scheduler(principal).control, 'The control of schedules kept by a switchboard');
  const route = jsonRoutes(app);
  route.get('/api/scheduler/jobs', { summary: 'Scheduled jobs' }, async ({ principal }) => ({
    jobs: await scheduler(principal).list(),
  }));
  const schedule = { summary: 'Schedule a prompt', json: newJob };
  route.post('/api/scheduler/jobs', schedule, async ({ json, principal }) => {
    const { job_id: jobId, session_id: sessionId, ...job } = json;
    return { job: await scheduler(principal).add({ ...job, jobId, sessionId, principal }) };
  });
  const preview = { summary: 'The next times of a schedule, before it is saved', json: timesOf };
  route.post('/api/scheduler/preview', preview, ({ json: { when, timezone } }) => ({
    upcoming: previewSchedule(when, timezone, Date.now()),
  }));
  const actions = {
    pause: { summary: 'Let a job rest', act: 'pause' },
    resume: { summary: 'Go on with a job', act: 'resume' },
    run: { summary: 'Run a job now', act: 'runNow' },
  } as const;
  for (const [action, { summary, act }] of Object.entries(actions))
    route.post(`/api/scheduler/jobs/:id/${action}`, { summary }, ({ param, principal }) => {
      control(principal)[act](param.id);
      return { ok: true };
    });
  const cancel = { summary: 'Cancel a job' };
  route.delete('/api/scheduler/jobs/:id', cancel, async ({ param: { id }, principal }) => {
    if (!(await scheduler(principal).cancel(id))) throw consoleErrors.not_found({ what: `job ${id}` });
    return { ok: true };
  });
}
