import { existsSync } from 'node:fs';
import { join } from 'node:path';
import {
  type ModelServer,
  type MovableClock,
  movableClock,
  startModelServer,
  type TemporaryDirectory,
  temporaryDirectory,
  waitFor,
} from '@trunkline/testing';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import {
  journalled,
  type ProcessSwitchboard,
  processHome,
  waitForFire,
} from '../fixtures/process-switchboard.ts';

/** Real timers in real processes that are really killed; only what the wall clock shows is set by the tests. */
let directory: TemporaryDirectory;
let clock: MovableClock;
let model: ModelServer;
let isStalled = false;
let home: ReturnType<typeof processHome>;
let board: ProcessSwitchboard;

beforeAll(async () => {
  directory = temporaryDirectory();
  clock = movableClock(directory.path);
  model = await startModelServer({
    script: () => (isStalled ? { fault: 'stall', answer: 'Done.' } : 'Done.'),
  });
  const variables = { TZ: 'America/New_York', LLM_GATEWAY_URL: model.url, LLM_API_KEY: 'k', LLM_MODEL: 'm' };
  home = processHome({ ...variables, ...clock.environment }, clock.nodeFlags);
  home.write(
    'agents/helm.yaml',
    'name: helm\nrole: general\nsystemPrompt: You answer.\nskills: [{ name: chat }]\n',
  );
  board = await home.start();
});
afterEach(async () => {
  for (const { id } of (await board.call('/api/schedules')).body.data.schedules)
    await board.call(`/api/schedules/${id}`, undefined, 'DELETE');
});
afterAll(async () => {
  model.release();
  await home.remove();
  await model.stop();
  directory.remove();
});

const soon = (ms: number) => new Date(clock.now() + ms).toISOString();
const add = (id: string, schedule: string, more: object = {}) =>
  board.call('/api/schedules', { id, schedule, topic: `cron.${id}`, payload: { content: 'Ping' }, ...more });
const done = (id: string) => waitForFire(board, id, 'done');
const statuses = async (id: string): Promise<string> =>
  (await board.call(`/api/schedules/${id}`)).body.data.history
    .map(({ status }: { status: string }) => status)
    .reverse()
    .join();
const become = (id: string, wanted: string) =>
  waitFor(async () => (await statuses(id)) === wanted, { timeoutMs: 60_000, intervalMs: 50 });
const fires = async (id: string) => (await journalled(board, `cron.${id}`)).map(({ id: fireId }) => fireId);

/** Sets the clock of the process while it runs, and waits until it sees it. */
async function setClock(time: string): Promise<void> {
  clock.set(time);
  const next = new Date(Math.floor(Date.parse(time) / 60_000 + 1) * 60_000).toISOString();
  await waitFor(async () => {
    const { body } = await board.call('/api/schedules/preview', { schedule: '* * * * *' });
    return body.data.next[0] === next;
  });
}

/** A clock that was put forward is noticed with the next change of a schedule. */
async function jumpTo(time: string): Promise<void> {
  await setClock(time);
  await add(`noticed-${Date.parse(time)}`, '0 0 1 1 *');
}

async function killAndStart(time?: string): Promise<void> {
  await board.child.kill('SIGKILL');
  if (time !== undefined) clock.set(time);
  board = await home.start();
}

describe('on the real clock, over kill -9', () => {
  it('commands: each stands as it was answered', async () => {
    for (const id of ['kept', 'paused', 'resumed', 'removed']) await add(id, '0 9 * * *');
    await board.call('/api/schedules/paused/pause', {});
    await board.call('/api/schedules/resumed/pause', {});
    await board.call('/api/schedules/resumed/resume', {});
    await board.call('/api/schedules/removed', undefined, 'DELETE');
    const { fireId } = (await board.call('/api/schedules/kept/run-now', {})).body.data;
    await done('kept');
    await killAndStart();
    const { schedules } = (await board.call('/api/schedules')).body.data;
    expect(schedules.map(({ id, state }: { id: string; state: string }) => [id, state])).toEqual([
      ['kept', 'active'],
      ['paused', 'paused'],
      ['resumed', 'active'],
    ]);
    expect(await fires('kept')).toEqual([fireId]);
  });

  it('missed fires: made up for once, and left out when more than a day late', async () => {
    await setClock('2026-03-02T08:10:00Z');
    await add('hourly', '0 * * * *');
    await add('late', '2026-03-02T09:30:00Z');
    await killAndStart('2026-03-02T13:20:00Z');
    await done('hourly');
    await done('late');
    expect(await fires('hourly')).toEqual(['hourly@2026-03-02T13:00:00.000Z']);
    await add('too-late', '2026-03-02T14:00:00Z');
    await killAndStart('2026-03-03T14:10:00Z');
    expect((await waitForFire(board, 'too-late', 'missed')).detail).toContain('24');
    expect(await fires('too-late')).toEqual([]);
    expect(await fires('late')).toHaveLength(1);
  });

  it('zones and changes of the clock: wall time is kept, and a time that is left out runs right after [S010][S069]', async () => {
    await setClock('2026-03-29T00:59:57Z');
    await add('berlin', '30 2 * * *', { timezone: 'Europe/Berlin' });
    await add('new-york', '30 2 * * *');
    const { schedule } = (await board.call('/api/schedules/new-york')).body.data;
    expect([schedule.timezone, schedule.next[0]]).toEqual(['America/New_York', '2026-03-29T06:30:00.000Z']);
    await done('berlin');
    await killAndStart('2026-03-30T00:29:58Z');
    await become('berlin', 'done,done');
    expect(await fires('berlin')).toEqual([
      'berlin@2026-03-29T01:00:00.000Z',
      'berlin@2026-03-30T00:30:00.000Z',
    ]);
  });

  it('one-shots: fire once, and their file goes', async () => {
    await add('once', soon(500));
    await done('once');
    await waitFor(() => !existsSync(join(home.workspace, 'crons', 'once.yaml')));
    await killAndStart();
    expect((await board.call('/api/schedules')).body.data.count).toBe(0);
    expect(await fires('once')).toHaveLength(1);
    expect(await statuses('once')).toBe('done');
  });

  it('pausing: nothing fires, and what passed meanwhile is left out', async () => {
    await setClock('2026-04-02T08:50:00Z');
    await add('resting', '0 * * * *');
    await board.call('/api/schedules/resting/pause', {});
    await jumpTo('2026-04-02T09:00:10Z');
    await killAndStart('2026-04-02T10:30:00Z');
    await board.call('/api/schedules/resting/resume', {});
    await jumpTo('2026-04-02T11:00:10Z');
    await done('resting');
    expect(await fires('resting')).toEqual(['resting@2026-04-02T11:00:00.000Z']);
  });

  it('overlap: a fire is skipped while the run before goes on, which a restart does not forget', async () => {
    await setClock('2026-05-02T09:00:30Z');
    isStalled = true;
    const before = model.chats().length;
    await add('minutely', '* * * * *', { overlap: 'skip' });
    await jumpTo('2026-05-02T09:01:05Z');
    await waitFor(() => model.chats().length === before + 1);
    await killAndStart('2026-05-02T09:02:05Z');
    await become('minutely', 'fired,skipped');
    isStalled = false;
    model.release();
    await become('minutely', 'done,skipped');
    await jumpTo('2026-05-02T09:03:05Z');
    await become('minutely', 'done,skipped,done');
    expect(await fires('minutely')).toEqual([
      'minutely@2026-05-02T09:01:00.000Z',
      'minutely@2026-05-02T09:03:00.000Z',
    ]);
  });

  it('jitter: a fire comes at its own moment within the span, once', async () => {
    const at = soon(300);
    const ids = ['jitter-a', 'jitter-b', 'jitter-c'];
    for (const id of ids) await add(id, at, { jitterMs: 2500 });
    await killAndStart();
    for (const id of ids) {
      const { scheduledAt, firedAt } = await done(id);
      expect(firedAt).toBeGreaterThanOrEqual(scheduledAt);
      expect(await fires(id)).toEqual([`${id}@${at}`]);
    }
  });

  it('delays past 2^31 ms: nothing fires before its time', async () => {
    const at = soon(40 * 86_400_000);
    await add('far', at);
    await add('near', soon(300));
    await done('near');
    await killAndStart();
    expect((await board.call('/api/schedules/far')).body.data.history).toEqual([]);
    await jumpTo(new Date(Date.parse(at) + 1000).toISOString());
    await done('far');
    expect(await fires('far')).toEqual([`far@${at}`]);
  });

  it('clock jumps: ahead fires once for what was passed, back fires nothing again', async () => {
    await setClock('2026-06-02T09:10:00Z');
    await add('jumpy', '0 * * * *');
    await jumpTo('2026-06-02T12:10:00Z');
    await done('jumpy');
    await setClock('2026-06-02T11:59:57Z');
    await add('after', '2026-06-02T12:00:01Z');
    await done('after');
    expect(await statuses('jumpy')).toBe('done');
    await killAndStart('2026-06-02T11:59:59Z');
    await add('again', '2026-06-02T12:00:02Z');
    await done('again');
    expect(await fires('jumpy')).toEqual(['jumpy@2026-06-02T12:00:00.000Z']);
  });
});
