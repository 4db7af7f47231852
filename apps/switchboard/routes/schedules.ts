import type { Bus } from '@trunkline/bus';
import { defineErrors, describeRoute, validate } from '@trunkline/http';
import { errorMessage } from '@trunkline/std';
import type { Context, Hono } from 'hono';
import { z } from 'zod';
import { type Caller, seesSchedule } from '../access/caller.ts';
import { checkPublish, type ScheduleOwners } from '../access/check-publish.ts';
import { throwBusFailure } from '../errors.ts';
import { ownerOf } from '../scheduler/record.ts';
import type { Schedules } from '../scheduler/schedules.ts';
import type { SwitchboardEnv } from './guards.ts';

const errors = defineErrors({
  schedule_unknown: [404, ({ words }: { words: string }) => words],
  schedule_exists: [409, ({ words }: { words: string }) => words],
  schedule_refused: [400, ({ words }: { words: string }) => words],
  schedule_foreign: [403, ({ words }: { words: string }) => words],
  schedules_full: [429, ({ words }: { words: string }) => words],
  job_running: [409, ({ words }: { words: string }) => words],
  scheduler_off: [503, 'The scheduler does not run; see /api/plugins.'],
});

const topic = 'command.schedule';
const timeoutMs = 15_000;
const entry = z.looseObject({ id: z.string() });
const listQuery = z.object({
  limit: z.coerce.number().int().min(1).max(10_000).default(1000),
  after: z.string().optional(),
});
const historyQuery = z.object({ limit: z.coerce.number().int().min(1).max(200).default(50) });
const previewBody = z.object({ schedule: z.string(), timezone: z.string().optional() });

type Answer = { success: true; data: unknown } | { success: false; error: string; code: string };

/** Each change is the command that may also be published; a scoped key sees only its own schedules. */
export function mountSchedules(
  app: Hono<SwitchboardEnv>,
  bus: Bus,
  found: () => Schedules | undefined,
): void {
  const schedules = () => found() ?? raise(errors.scheduler_off());
  const send = (context: Context<SwitchboardEnv>, payload: Record<string, unknown>) =>
    sendTo(bus, schedules(), context, payload);
  const { schedule_unknown, schedule_exists, schedule_refused, schedules_full, job_running } = errors;
  const all = describeRoute({ summary: 'Schedules with their next five times, in the order of their ids' });
  app.get('/api/schedules', all, validate('query', listQuery), (context) => {
    const { limit, after = '' } = context.req.valid('query');
    const own = schedules()
      .list()
      .filter((view) => isSeen(context.get('caller'), ownerOf(view)));
    const rest = own.filter(({ id }) => id > after).sort((one, other) => (one.id < other.id ? -1 : 1));
    return context.json({ success: true, data: { count: own.length, schedules: rest.slice(0, limit) } });
  });
  const one = describeRoute({
    summary: 'A schedule and what it did, the newest first',
    errors: [schedule_unknown],
  });
  app.get('/api/schedules/:id', one, validate('query', historyQuery), (context) => {
    const id = context.req.param('id');
    const isVisible = isSeen(context.get('caller'), schedules().ownerOfHistory(id));
    const known = isVisible ? schedules().get(id) : undefined;
    const history = isVisible ? schedules().history(id, context.req.valid('query').limit) : [];
    if (known === undefined && history.length === 0)
      throw schedule_unknown({ words: `There is no schedule ${id}.` });
    return context.json({ success: true, data: { schedule: known ?? null, history } });
  });
  const add = describeRoute({
    summary: 'Adds a schedule',
    status: 201,
    errors: [schedule_exists, schedule_refused, schedules_full],
  });
  app.post('/api/schedules', add, validate('json', entry), async (context) => {
    const body = context.req.valid('json');
    return context.json(
      { success: true, data: await send(context, { ...body, action: 'add', onlyNew: true }) },
      201,
    );
  });
  const replace = describeRoute({
    summary: 'Adds or replaces a schedule',
    errors: [schedule_refused, schedules_full],
  });
  app.put('/api/schedules/:id', replace, validate('json', z.looseObject({})), async (context) => {
    const body = { ...context.req.valid('json'), id: context.req.param('id'), action: 'add' };
    return context.json({ success: true, data: await send(context, body) });
  });
  const remove = describeRoute({ summary: 'Removes a schedule', errors: [schedule_unknown] });
  app.delete('/api/schedules/:id', remove, async (context) => {
    const command = { action: 'remove', id: context.req.param('id') };
    return context.json({ success: true, data: await send(context, command) });
  });
  for (const action of ['pause', 'resume', 'run-now'] as const) {
    const act = describeRoute({
      summary: `Does with a schedule: ${action}`,
      errors: [schedule_unknown, job_running],
    });
    app.post(`/api/schedules/:id/${action}`, act, async (context) => {
      const command = { action, id: context.req.param('id') };
      return context.json({ success: true, data: await send(context, command) });
    });
  }
  const preview = describeRoute({
    summary: 'The next five times of an expression',
    errors: [schedule_refused],
  });
  app.post('/api/schedules/preview', preview, validate('json', previewBody), (context) => {
    const { schedule, timezone } = context.req.valid('json');
    return context.json({
      success: true,
      data: { next: previewed(() => schedules().preview(schedule, timezone)) },
    });
  });
}

function isSeen({ admin, name }: Caller, owner: string | null | undefined): boolean {
  return admin || seesSchedule(name, owner);
}

async function sendTo(
  bus: Bus,
  owners: ScheduleOwners,
  context: Context<SwitchboardEnv>,
  given: Record<string, unknown>,
): Promise<unknown> {
  const caller = context.get('caller');
  const principal = context.get('principal');
  const { payload } = checkPublish(caller, { topic, payload: given, principal }, owners);
  const source = { interface: 'api', userId: caller.name };
  const answer = await bus.request(topic, payload, { timeoutMs, source, principal }).catch(throwBusFailure);
  const outcome = answer.payload as Answer;
  if (outcome.success) return outcome.data;
  const { code, error: words } = outcome;
  const known = [
    'schedule_unknown',
    'schedule_exists',
    'schedule_foreign',
    'schedules_full',
    'job_running',
  ] as const;
  const found = known.find((name) => name === code);
  if (found !== undefined) throw errors[found]({ words });
  throw errors.schedule_refused({ words });
}

function previewed(work: () => string[]): string[] {
  try {
    return work();
  } catch (error) {
    throw errors.schedule_refused({ words: errorMessage(error) }, { cause: error });
  }
}

function raise(error: Error): never {
  throw error;
}
