import { existsSync, readdirSync, renameSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { openAccounts } from '@trunkline/accounts';
import { readOptions } from '@trunkline/config';
import { HttpError } from '@trunkline/http';
import { anonymous, encodePrincipal, type Principal, withOrigins } from '@trunkline/identity';
import { FakeClock, temporaryDirectory } from '@trunkline/testing';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { agentOptions } from '../options.ts';
import { startAnswering } from '../tools/answering-server.suite.ts';
import { callTool, toolDeps } from '../tools/call-tool.suite.ts';
import { collectTools } from '../toolset.ts';
import { chooseBackend } from './choose-backend.ts';
import { diagnoseSchedules, strayAdvice } from './diagnose.ts';
import { createInvoke, type DueJob } from './invoke.ts';
import { LocalBackend } from './local-backend.ts';
import type { ScheduleBackend } from './schedule-backend.ts';
import { schedulerTools } from './scheduler-tools.ts';

let home = temporaryDirectory();
let clock = new FakeClock('2026-03-01T10:00:00Z');
let fired: DueJob[] = [];
let warnings: string[] = [];
/** Stopped after each test. */
const opened: ScheduleBackend[] = [];
const logger = {
  info: () => undefined,
  warn: (_fields: object, message: string) => void warnings.push(message),
};
const invoke = async (job: DueJob) => void fired.push(job);
const open = (more: Partial<ConstructorParameters<typeof LocalBackend>[0]> = {}) =>
  new LocalBackend({ directory: home.path, agentName: 'ada', invoke, clock, logger, ...more });
const offered = (scheduler: LocalBackend | undefined) =>
  collectTools([schedulerTools], toolDeps({ scheduler })).tools;
const tools =
  (backend: LocalBackend) =>
  (name: string, input: object = {}) =>
    callTool(offered(backend).find((tool) => tool.name === name)!, input);

beforeEach(() => {
  home = temporaryDirectory();
  clock = new FakeClock('2026-03-01T10:00:00Z');
  fired = [];
  warnings = [];
});
afterEach(async () => {
  for (const backend of opened.splice(0)) await backend.stop();
  home.remove();
});

describe('after the agent got another name', () => {
  const jobsOf = async (more: Parameters<typeof open>[0], added: string[] = []) => {
    const backend = open(more);
    backend.start();
    for (const jobId of added)
      await backend.add({ prompt: `by ${more?.agentName}`, when: '0 8 * * *', jobId });
    const jobs = (await backend.list()).map(({ id, prompt }) => `${id}: ${prompt}`).sort();
    await backend.stop();
    return { jobs, strayNames: backend.strayNames };
  };

  it('its schedules go on, beside those that the new name has', async () => {
    const owner = 'state-of-ada';
    await jobsOf({ agentName: 'ada', owner }, ['plants', 'bins']);
    await jobsOf({ agentName: 'grace' }, ['plants']);
    const jobs = ['ada-plants: by ada', 'bins: by ada', 'plants: by grace'];
    expect(await jobsOf({ agentName: 'grace', owner })).toEqual({ jobs, strayNames: [] });
    // As if the process had been killed before it set the old store aside.
    const moved = readdirSync(join(home.path, 'ada')).find((name) => /^moved-.*db$/.test(name)) ?? '';
    renameSync(join(home.path, 'ada', moved), join(home.path, 'ada', 'jobs.db'));
    expect(await jobsOf({ agentName: 'grace', owner })).toEqual({ jobs, strayNames: [] });
    expect(await jobsOf({ agentName: 'hopper', owner })).toEqual({ jobs, strayNames: [] });
    expect((await jobsOf({ agentName: 'grace', owner })).jobs).toEqual(jobs);
    expect(warnings).toEqual([]);
  });

  it('schedules of another agent stay, and those that nobody owns are named or, in the own folder, taken', async () => {
    await jobsOf({ agentName: 'lovelace', owner: 'state-of-lovelace' }, ['tea']);
    await jobsOf({ agentName: 'ada' }, ['plants']);
    await jobsOf({ agentName: 'empty' });
    expect(await jobsOf({ agentName: 'grace', owner: 'state-of-grace' })).toEqual({
      jobs: [],
      strayNames: ['ada'],
    });
    expect(warnings).toContain('schedules of other agent names do not run');
    const env = { TRUNKLINE_HOME: join(home.path, 'home'), SCHEDULER_DB_DIR: home.path, AGENT_NAME: 'grace' };
    expect(diagnoseSchedules(readOptions(agentOptions, { env }), env)).toEqual([
      {
        subject: 'schedules',
        state: 'warning',
        words: `those of ada (1) in ${home.path} do not run.`,
        advice: strayAdvice,
      },
    ]);
    const own = { agentName: 'grace', owner: 'state-of-grace', isOwn: true };
    expect(await jobsOf(own)).toEqual({ jobs: ['plants: by ada'], strayNames: [] });
    expect((await jobsOf({ agentName: 'lovelace', owner: 'state-of-lovelace' })).jobs).toHaveLength(1);
  });
});

it('gives each owner a tenth of the room, and the operator theirs, however many others have', async () => {
  const backend = open();
  opened.push(backend);
  backend.start();
  const of = (id: string) => {
    const principal: Principal = { kind: 'person', id: `voice:${id}`, via: [] };
    const schedules = backend.for({ owner: `person:voice:${id}`, viewer: principal });
    return (jobId: string) => schedules.add({ prompt: 'Go.', when: '0 8 * * *', jobId, principal });
  };
  const [ava, bob] = [of('ava'), of('bob')];
  for (let count = 0; count < 1000; count += 1) await ava(`ava-${count}`);
  await expect(ava('one-more')).rejects.toThrow('you have 1000 jobs already; cancel some first.');
  await ava('ava-0');
  await bob('bob-0');
  await backend.add({ prompt: 'Go.', when: '0 8 * * *', jobId: 'own' });
  expect(await backend.list()).toHaveLength(1002);
});

describe('the schedule tools', () => {
  it('schedule, list and cancel with the exact words [A086] [A087] [A088]', async () => {
    const backend = open();
    backend.start();
    const call = tools(backend);
    expect(await call('list_schedules')).toBe('No scheduled jobs.');
    expect(
      await call('schedule_task', { prompt: 'water the\nplants', when: '30 8 * * 1', job_id: 'plants' }),
    ).toBe('Scheduled job plants next at 2026-03-02T08:30:00.000Z.');
    const said = await call('schedule_task', { prompt: 'call', when: '2026-03-01T12:00:00' });
    expect(said).toMatch(/^Scheduled job ada-[0-9a-f-]{36} next at 2026-03-01T12:00:00\.000Z\.$/);
    expect((await call('list_schedules')).split('\n')[0]).toBe(
      'plants | next 2026-03-02T08:30:00.000Z | 30 8 * * 1 | water the plants',
    );
    expect(await call('cancel_schedule', { job_id: 'plants' })).toBe('Canceled plants.');
    expect(await call('cancel_schedule', { job_id: 'plants' })).toBe('Error: no such job plants.');
    expect((await call('list_schedules')).split('\n')).toHaveLength(1);
    await backend.stop();
  });

  it.each(['tomorrow', '* * * *', '* * * * * *', '61 * * * *', '2026-13-01', '', '2020-01-01T00:00:00Z'])(
    'refuse "%s" [A086]',
    async (when) => {
      const backend = open();
      backend.start();
      expect(await tools(backend)('schedule_task', { prompt: 'x', when })).toMatch(/^Error: /);
      expect(await backend.list()).toEqual([]);
      await backend.stop();
    },
  );

  it('are absent without a backend [A059]', () => {
    expect(offered(undefined)).toEqual([]);
    const settings = {
      agentName: 'ada',
      schedulerBackend: 'local',
      schedulerDisabled: true,
      schedulerFireTimeoutS: 1,
    };
    expect(
      chooseBackend(settings, {
        ...{ directory: home.path, home: home.path, url: () => '', serviceToken: 'service', logger },
      }),
    ).toBeUndefined();
  });
});

describe('local schedules', () => {
  it('fire, and are kept apart by agent in files of their own [A056] [A087]', async () => {
    const ada = open();
    const bob = open({ agentName: 'bob' });
    ada.start();
    bob.start();
    await ada.add({ prompt: 'go', when: '0 11 * * *', jobId: 'j' });
    expect(await bob.list()).toEqual([]);
    expect(await bob.cancel('j')).toBe(false);
    expect(existsSync(join(home.path, 'ada', 'jobs.db'))).toBe(true);
    await clock.advanceBy(86_400_000 * 2);
    expect(fired.map(({ jobId, prompt, fireId }) => [jobId, prompt, fireId])).toEqual([
      ['j', 'go', 'j@2026-03-01T11:00:00.000Z'],
      ['j', 'go', 'j@2026-03-02T11:00:00.000Z'],
    ]);
    await ada.stop();
    await bob.stop();
  });

  it('keep local time across a clock change', async () => {
    clock = new FakeClock('2026-03-28T00:00:00Z');
    const backend = open({ timezone: 'Europe/Berlin' });
    backend.start();
    await backend.add({ prompt: 'x', when: '30 9 * * *', jobId: 'j' });
    await clock.advanceBy(3 * 86_400_000);
    expect(fired.map(({ fireId }) => fireId.slice(2))).toEqual([
      '2026-03-28T08:30:00.000Z',
      '2026-03-29T07:30:00.000Z',
      '2026-03-30T07:30:00.000Z',
    ]);
    await backend.stop();
  });

  it('survive a restart: a missed fire is made up for once, a stale one is dropped', async () => {
    const first = open();
    first.start();
    await first.add({ prompt: 'daily', when: '0 11 * * *', jobId: 'daily' });
    await first.add({ prompt: 'soon', when: '2026-03-03T09:00:00Z', jobId: 'soon' });
    await first.add({ prompt: 'stale', when: '2026-03-01T11:00:00Z', jobId: 'stale' });
    await first.stop();
    clock = new FakeClock('2026-03-03T10:00:00Z');
    const second = open();
    second.start();
    await clock.advanceBy(1000);
    expect(fired.map(({ fireId }) => fireId).sort()).toEqual([
      'daily@2026-03-02T11:00:00.000Z',
      'soon@2026-03-03T09:00:00.000Z',
    ]);
    expect(warnings).toContain('skipped job that was due more than a day ago');
    await second.stop();
    fired = [];
    const third = open();
    third.start();
    await clock.advanceBy(1000);
    expect(fired).toEqual([]);
    expect((await third.list()).map(({ id }) => id)).toEqual(['daily']);
    await third.stop();
  });

  it('keep a one-shot that failed and try it again, also after a restart', async () => {
    let broken = true;
    const shaky = async (job: DueJob) => {
      fired.push(job);
      if (broken) throw new Error('agent is down');
    };
    const first = open({ invoke: shaky });
    first.start();
    await first.add({ prompt: 'x', when: '2026-03-01T11:00:00Z', jobId: 'j' });
    await clock.advanceBy(3_600_000 + 90_000);
    expect(fired).toHaveLength(2);
    expect(warnings).toContain('scheduled job failed');
    await first.stop();
    broken = false;
    const second = open({ invoke: shaky });
    second.start();
    await clock.advanceBy(1000);
    expect(fired).toHaveLength(3);
    expect(await second.list()).toEqual([]);
    await second.stop();
  });

  it('do not fire a job again while it still runs', async () => {
    const gate = Promise.withResolvers<void>();
    const backend = open({
      invoke: async (job) => {
        fired.push(job);
        await gate.promise;
      },
    });
    backend.start();
    await backend.add({ prompt: 'slow', when: '* * * * *', jobId: 'j' });
    await clock.advanceBy(5 * 60_000);
    expect(fired).toHaveLength(1);
    gate.resolve();
    await clock.advanceBy(60_000);
    expect(fired).toHaveLength(2);
    await backend.stop();
  });
});

describe('a fire', () => {
  async function agent(answer: () => { status?: number; body: string } | undefined) {
    const { url, asked, stop } = await startAnswering(answer);
    const seen = () =>
      asked.map(({ path, headers, body }) => ({
        url: path,
        key: headers['x-api-key'],
        body: JSON.parse(body),
      }));
    return { url, seen, stop };
  }
  const job = { jobId: 'j', prompt: 'do it', principal: anonymous, fireId: 'j@1' };
  const signal = new AbortController().signal;

  it('is a message/send with the job in its metadata [A057] [A011] [A014]', async () => {
    const { url, seen, stop } = await agent(() => ({ body: '{"jsonrpc":"2.0","id":1,"result":{}}' }));
    await createInvoke({
      agentName: 'ada',
      url: () => `${url}/`,
      headers: () => ({ 'x-api-key': 'k' }),
      timeoutS: 5,
      logger,
    })(job, signal);
    expect(seen()).toMatchObject([
      {
        url: '/a2a',
        key: 'k',
        body: {
          jsonrpc: '2.0',
          method: 'message/send',
          params: {
            message: {
              role: 'user',
              messageId: 'j@1',
              parts: [{ kind: 'text', text: 'do it' }],
              metadata: { scheduler_job_id: 'j', channel: 'a2a', agent_name: 'ada' },
            },
          },
        },
      },
    ]);
    stop();
  });

  it('waits no longer than its limit, and that is no failure [A058] [A186]', async () => {
    const { url, seen, stop } = await agent(() => undefined);
    await createInvoke({ agentName: 'ada', url: () => url, timeoutS: 0.1, logger })(job, signal);
    expect(seen()).toHaveLength(1);
    expect(warnings).toEqual(['scheduled turn exceeds SCHEDULER_FIRE_TIMEOUT_S']);
    stop();
  });

  it.each([
    [401, '{}', 'status 401'],
    [200, '{"error":{"code":-32602,"message":"no text"}}', 'refused: no text'],
    [200, '[]', 'cannot be read'],
  ])('fails on status %s with %s', async (status, body, words) => {
    const { url, stop } = await agent(() => ({ status, body }));
    await expect(
      createInvoke({ agentName: 'ada', url: () => url, timeoutS: 5, logger })(job, signal),
    ).rejects.toThrow(words);
    stop();
  });

  it('goes to the switchboard when that is the backend [A052] [A053] [A054] [A055]', async () => {
    let status = 200;
    const { url, seen, stop } = await agent(() => ({ status, body: '{"success":true}' }));
    const settings = {
      agentName: 'ada',
      schedulerBackend: 'switchboard',
      schedulerDisabled: false,
      schedulerFireTimeoutS: 1,
    };
    const around = { directory: home.path, home: home.path, url: () => '', serviceToken: 'service', logger };
    expect(() => chooseBackend(settings, around)).toThrow('SWITCHBOARD_API_KEY');
    const backend = chooseBackend(
      { ...settings, switchboardApiBase: url, switchboardApiKey: 'key' },
      around,
    )!;
    const { id } = await backend.add({ prompt: 'hi', when: '0 9 * * *', jobId: 'morning' });
    expect(id).toBe('ada-morning');
    expect(seen()[0]).toMatchObject({
      url: '/publish',
      key: 'key',
      body: {
        topic: 'command.schedule',
        payload: {
          action: 'add',
          id: 'ada-morning',
          schedule: '0 9 * * *',
          topic: 'cron.ada.ada-morning',
          payload: { content: 'hi', channel: 'a2a', agent_name: 'ada', scheduler_job_id: 'ada-morning' },
        },
      },
    });
    expect(await backend.list()).toEqual([]);
    expect(await backend.cancel('bob-morning')).toBe(false);
    expect(await backend.cancel('ada-morning')).toBe(true);
    expect(seen()[1]!.body).toEqual({
      topic: 'command.schedule',
      payload: { action: 'remove', id: 'ada-morning' },
    });
    status = 401;
    await expect(backend.add({ prompt: 'hi', when: '0 9 * * *' })).rejects.toThrow('SWITCHBOARD_API_KEY');
    await backend.stop();
    stop();
  });

  it('comes back from the switchboard for whoever asked for it, with its marks, and for nobody else', async () => {
    const { url, seen, stop } = await agent(() => ({ status: 200, body: '{"success":true}' }));
    const settings = {
      ...{
        agentName: 'ada',
        schedulerBackend: 'switchboard',
        schedulerDisabled: false,
        schedulerFireTimeoutS: 1,
      },
      ...{ switchboardApiBase: url, switchboardApiKey: 'key' },
    };
    let isDisabled = false;
    const current = (principal: Principal): Principal => {
      if (isDisabled) throw new HttpError('account_disabled', 403, 'The account is disabled.');
      return { ...principal, role: 'member' };
    };
    const around = { ...{ directory: home.path, home: home.path }, url: () => '', serviceToken: 's', logger };
    const open = (isPeer = true) => {
      const backend = chooseBackend(settings, { ...around, current, clock, isPeer })!;
      opened.push(backend);
      return backend;
    };
    const origins = [{ kind: 'fetch_url', source: 'https://evil.example/' }];
    const principal: Principal = { kind: 'approver', id: 'chat:7', via: ['chat'], origins };
    const made = { timezone: 'Europe/Berlin', sessionId: 'chat-7', principal };
    await open().add({ prompt: 'Go.', when: '0 9 * * *', jobId: 'tea', ...made });
    const seal = seen()[0]!.body as { payload: { payload: Record<string, unknown> } };
    const { payload } = seal.payload;
    expect(payload).toMatchObject({ content: 'Go.', origins });
    const board: Principal = { kind: 'agent', id: 'key:ada', via: ['schedule:ada-tea', 'switchboard'] };
    const { on_behalf_of } = payload;
    const sent = { scheduler_job_id: 'ada-tea', channel: 'a2a', on_behalf_of };
    const run = (
      {
        text = 'Go.',
        by = board,
        isPeer = true,
        ...more
      }: { text?: string; by?: Principal; contextId?: string; isPeer?: boolean },
      metadata: object = sent,
    ) =>
      // After a restart.
      open(isPeer).receive!({
        message: {
          messageId: 'm',
          role: 'user',
          parts: [{ type: 'text', text }],
          metadata: { ...metadata },
          ...more,
        },
        ...{ metadata: { ...metadata }, principal: by, strict: false },
      });
    const command = run({});
    expect(command.principal).toEqual({
      ...{ kind: 'person', id: 'chat:7', role: 'member', origins },
      via: ['chat', 'schedule:ada-tea', 'switchboard'],
    });
    expect(JSON.stringify(command)).not.toContain('on_behalf_of');
    const shown = { timezone: 'Europe/Berlin', scheduled_in: 'chat-7' };
    expect(command.metadata).toEqual({ scheduler_job_id: 'ada-tea', channel: 'a2a', ...shown });
    const marked = { ...board, origins: [{ kind: 'schedule', source: 'ada-tea' }] };
    const forged = `${encodePrincipal({ kind: 'operator', id: 'operator', via: [] })}.${String(on_behalf_of).split('.')[1]}`;
    for (const command of [
      run({ text: 'Go elsewhere.' }),
      run({ contextId: 'of-the-person' }),
      run({}, { ...sent, on_behalf_of: forged }),
      run({}, { ...sent, on_behalf_of: 7 }),
    ])
      expect(command.principal).toEqual(marked);
    expect(run({}, { ...sent, scheduler_job_id: 'ada-other' }).principal).toMatchObject({ id: 'key:ada' });
    // Somebody with the token of the agent who has read the schedule. It is 11:00 in Berlin.
    const reader: Principal = { kind: 'agent', id: 'a2a', via: [] };
    const replayed = (scheduled_at?: string, isPeer = false) =>
      run({ by: reader, isPeer }, { ...sent, scheduled_at, scheduled_in: 'chat-8' });
    const unproven = withOrigins(reader, marked.origins);
    expect(replayed('2026-03-01T08:00:00.000Z', true).principal).toEqual(unproven);
    for (const time of [
      ...[undefined, 'soon', '2026-03-01T08:30:00.000Z', '2026-02-28T08:00:00.000Z'],
      '2026-03-02T08:00:00.000Z',
    ])
      expect(replayed(time)).toMatchObject({
        principal: unproven,
        metadata: { scheduler_job_id: 'ada-tea' },
      });
    // A switchboard elsewhere has no other token: a time of the schedule counts, as one task.
    const due = replayed('2026-03-01T08:00:00.000Z');
    expect(due).toMatchObject({ requestId: 'ada-tea@2026-03-01T08:00:00.000Z', metadata: shown });
    expect(due.principal).toMatchObject({ id: 'chat:7', via: ['chat', 'schedule:ada-tea'], origins });
    const guest: Principal = { kind: 'person', id: 'mail:eve', via: [], role: 'guest' };
    expect(run({ by: guest }).principal).toMatchObject({ id: 'mail:eve', role: 'guest' });
    expect(run({}, { scheduler_job_id: 'ada-tea' }).principal).toEqual(board);
    isDisabled = true;
    expect(() => run({})).toThrow('The schedule was not run: The account is disabled.');
    isDisabled = false;
    // Whoever has read the signature puts it back after the schedule was made anew, and after it was cancelled.
    await open().add({ prompt: 'Go.', when: '0 9 * * *', jobId: 'tea', ...made });
    expect(run({}).principal).toEqual(marked);
    const again = seen().at(-1)!.body as typeof seal;
    const renewed = { ...sent, on_behalf_of: again.payload.payload.on_behalf_of };
    expect(run({}, renewed).principal).toMatchObject({ id: 'chat:7' });
    await open().cancel('ada-tea');
    stop();
    expect(run({}, renewed).principal).toEqual(marked);
  });
});

it('runs a job with the rights that its account has by then, and not for one that is disabled or gone', async () => {
  const accounts = openAccounts({ home: home.path, logger });
  const chief = accounts.create({ name: 'Olga', role: 'owner' });
  const { id } = accounts.create({ name: 'Ava', role: 'operator' });
  const backend = open({ current: (principal) => accounts.current(principal) });
  backend.start();
  const principal: Principal = { kind: 'operator', id: `user:${id}`, via: [], role: 'operator' };
  await backend.add({ prompt: 'ring', when: '* * * * *', jobId: 'bell', principal });
  await backend.add({ prompt: 'once', when: '2026-03-01T10:02:30Z', jobId: 'once', principal });
  accounts.update(id, { role: 'member' });
  await clock.advanceTo('2026-03-01T10:01:00Z');
  expect(fired).toMatchObject([
    { jobId: 'bell', principal: { kind: 'person', id: `user:${id}`, role: 'member' } },
  ]);
  accounts.update(id, { disabled: true });
  await clock.advanceTo('2026-03-01T10:03:00Z');
  accounts.remove(id);
  await clock.advanceTo('2026-03-01T10:04:00Z');
  expect(fired).toHaveLength(1);
  expect(warnings).toEqual(Array(4).fill('skipped job of an account that has no access'));
  expect((await backend.list()).map((job) => job.id)).toEqual(['bell']);
  expect(accounts.current({ ...principal, id: `user:${chief.id}` })).toMatchObject({ role: 'operator' });
  await backend.stop();
  accounts.close();
});

it('a fire that could not be noted on a full disk is noted later, and not repeated by a restart', async () => {
  const backend = open();
  backend.start();
  await backend.add({ prompt: 'ring', when: '2026-03-01T10:01:00Z', jobId: 'bell' });
  const database = new DatabaseSync(join(home.path, 'ada', 'jobs.db'));
  for (const change of ['UPDATE', 'DELETE'])
    database.exec(
      `CREATE TRIGGER full_${change} BEFORE ${change} ON jobs BEGIN SELECT RAISE(ABORT, 'disk is full'); END`,
    );
  await clock.advanceTo('2026-03-01T10:01:30Z');
  expect(fired.map(({ jobId }) => jobId)).toEqual(['bell']);
  expect(warnings).toContain('failed to record scheduled run; retrying');
  database.exec('DROP TRIGGER full_UPDATE');
  database.exec('DROP TRIGGER full_DELETE');
  await clock.advanceBy(2000);
  expect(database.prepare('SELECT id FROM jobs').all()).toEqual([]);
  database.close();
  await backend.stop();
  const restarted = open();
  restarted.start();
  await clock.advanceBy(60_000);
  expect(fired).toHaveLength(1);
  await restarted.stop();
});
