import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { openAccounts } from '@trunkline/accounts';
import { type Bus, BusError } from '@trunkline/bus';
import { waitFor } from '@trunkline/testing';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { schedulerHome, type TestScheduler } from '../fixtures/start-scheduler.ts';
import type { Json } from '../fixtures/start-switchboard.ts';

let place: ReturnType<typeof schedulerHome>;
let board: TestScheduler;

beforeEach(async () => {
  place = schedulerHome('2026-03-02T08:59:30Z');
  board = await place.start();
});
afterEach(async () => {
  await board.stop();
  place.remove();
});

const daily = { id: 'daily-report', schedule: '0 9 * * *', timezone: 'UTC', topic: 'cron.daily-report' };
const add = (more: object = {}): Promise<Json> =>
  board.command({ action: 'add', ...daily, payload: { content: 'Report.' }, ...more });
const file = (id: string) => join(board.workspace, 'crons', `${id}.yaml`);
const fires = () => board.on('cron.daily-report');
const restart = async () => {
  await board.stop();
  board = await place.start();
};
const fired = (count: number) => waitFor(() => fires().length === count);

describe('a schedule', () => {
  it('is on disk before it fires, fires at its time, and notes when [S007][S009][S011][S017][S070][S071][S088]', async () => {
    const { success, data } = await add();
    expect(success).toBe(true);
    expect(data.schedule).toMatchObject({
      type: 'cron',
      state: 'active',
      nextFire: '2026-03-02T09:00:00.000Z',
    });
    expect(readFileSync(file('daily-report'), 'utf8')).toContain('schedule: 0 9 * * *');
    await place.clock.advanceTo('2026-03-02T08:59:59.999Z');
    expect(fires()).toEqual([]);
    await place.clock.advanceBy(1);
    await fired(1);
    expect(fires()[0]).toMatchObject({
      id: 'daily-report@2026-03-02T09:00:00.000Z',
      payload: { content: 'Report.', sender: 'cron', channel: 'cli', scheduleId: 'daily-report' },
    });
    await waitFor(() =>
      readFileSync(file('daily-report'), 'utf8').includes('lastFired: 2026-03-02T09:00:00.000Z'),
    );
  });

  it('has the rights that the account of its maker has by then, and is skipped without them', async () => {
    const accounts = openAccounts({ home: place.home, logger: { warn: () => undefined } });
    const { id, name } = accounts.create({ name: 'Ava', role: 'member' });
    await add({ schedule: '* * * * *', overlap: 'allow', owner: `person:user:${id}` });
    const last = async (status: string) => {
      await place.clock.advanceBy(60_000);
      return await waitFor(async () => (await board.history(daily.id)).find((row) => row.status === status));
    };
    await place.clock.advanceBy(30_000);
    await fired(1);
    expect(fires()[0]?.principal).toEqual({
      kind: 'person',
      id: `user:${id}`,
      via: [`schedule:${daily.id}`],
    });
    accounts.update(id, { role: 'guest' });
    await place.clock.advanceBy(60_000);
    await fired(2);
    expect(fires()[1]?.principal).toMatchObject({ id: `user:${id}`, role: 'guest' });
    accounts.update(id, { disabled: true });
    expect((await last('skipped'))?.detail).toContain(`The account ${name} is disabled`);
    accounts.remove(id);
    await place.clock.advanceBy(60_000);
    await waitFor(async () => (await board.history(daily.id))[0]?.detail?.includes('account was removed'));
    expect(fires()).toHaveLength(2);
    accounts.close();
  });

  it('takes the defaults of its payload, and passes on what it is given [S012][S013][S015]', async () => {
    await add({
      payload: { content: 'Go.', sender: 'ops', channel: 'messenger', skillHint: 'chat', extra: 1 },
    });
    await place.clock.advanceBy(30_000);
    await fired(1);
    expect(fires()[0]?.payload).toMatchObject({
      sender: 'ops',
      channel: 'messenger',
      skillHint: 'chat',
      extra: 1,
    });
  });

  const refused: [string, object][] = [
    ['../../evil', {}],
    ['Upper', {}],
    ['a..b', {}],
    ['', {}],
    ['x'.repeat(80), {}],
    ['bad-cron', { schedule: '99 * * * *' }],
    ['six-fields', { schedule: '* * * * * *' }],
    ['bad-day', { schedule: '2026-02-30T10:00:00Z' }],
    ['bad-zone', { timezone: 'Mars/Olympus' }],
    ['bad-topic', { topic: 'a..b' }],
    ['wrong-type', { type: 'once' }],
    ['no-content', { payload: { sender: 'x' } }],
    ['unknown-field', { colour: 'red' }],
    ['bad-overlap', { overlap: 'maybe' }],
    ['a2a-elsewhere', { topic: 'note.x', payload: { content: 'x', channel: 'a2a', agent_name: 'ava' } }],
  ];

  it('is refused with words when it cannot work, and nothing is written [S007]', async () => {
    for (const [id, more] of refused) {
      const { success, error } = await add({ id, ...more });
      expect([id, success, typeof error]).toEqual([id, false, 'string']);
    }
    expect(readdirSync(join(board.workspace, 'crons'))).toEqual([]);
    expect(existsSync(join(board.workspace, '..', '..', 'evil.yaml'))).toBe(false);
    await waitFor(() => board.on('system.error').length === refused.length);
  });

  it('is paused, stays in the list, and goes on without what passed meanwhile [S016][S073][S074][S091][S092]', async () => {
    await add({ schedule: '* * * * *' });
    expect((await board.command({ action: 'pause', id: 'daily-report' })).data.schedule.state).toBe('paused');
    expect(readFileSync(file('daily-report'), 'utf8')).toContain('enabled: false');
    await place.clock.advanceBy(300_000);
    expect(fires()).toEqual([]);
    const listed = (await board.command({ action: 'list' })).data.schedules;
    expect(listed).toMatchObject([{ id: 'daily-report', state: 'paused', enabled: false, nextFire: null }]);
    await restart();
    await board.command({ action: 'resume', id: 'daily-report' });
    await place.clock.advanceBy(1000);
    expect(fires()).toEqual([]);
    await place.clock.advanceBy(59_000);
    await fired(1);
  });

  it('is removed with its file, active or paused [S075][S089]', async () => {
    await add();
    await add({ id: 'other' });
    await board.command({ action: 'pause', id: 'other' });
    for (const id of ['daily-report', 'other']) {
      expect((await board.command({ action: 'remove', id })).success).toBe(true);
      expect(existsSync(file(id))).toBe(false);
    }
    await place.clock.advanceBy(86_400_000);
    expect(fires()).toEqual([]);
    expect((await board.command({ action: 'remove', id: 'other' })).code).toBe('schedule_unknown');
  });

  it('is listed on schedule.list, with the next five times [S090][S129]', async () => {
    await add({ schedule: '0 9 * * 1-5' });
    await board.bus.publish({ topic: 'command.schedule', payload: { action: 'list' }, correlationId: 'c1' });
    await waitFor(() => board.on('schedule.list').length > 0);
    const list = board.on('schedule.list')[0] as Json;
    expect(list.correlationId).toBe('c1');
    expect(list.payload.schedules[0].next).toEqual(
      ['02', '03', '04', '05', '06'].map((day) => `2026-03-${day}T09:00:00.000Z`),
    );
  });

  it('can be run at once and tried out, beside its times', async () => {
    await add();
    const { data } = await board.command({ action: 'run-now', id: 'daily-report' });
    await fired(1);
    expect(fires()[0]?.correlationId).toBe(data.fireId);
    expect((await board.history('daily-report'))[0]).toMatchObject({ manual: true });
    const preview = await board.command({ action: 'preview', schedule: '*/10 * * * *', timezone: 'UTC' });
    expect(preview.data.next).toHaveLength(5);
    expect((await board.command({ action: 'preview', schedule: 'never' })).success).toBe(false);
    expect((await board.command({ action: 'dance' })).code).toBe('action_unknown');
  });
});

describe('a one-shot', () => {
  const once = { schedule: '2026-03-02T09:30:00Z' };

  it('fires once, and its file goes [S008][S009][S072]', async () => {
    expect((await add(once)).data.schedule.type).toBe('once');
    await place.clock.advanceTo('2026-03-02T09:30:00Z');
    await fired(1);
    await waitFor(() => !existsSync(file('daily-report')));
    await restart();
    await place.clock.advanceBy(3_600_000);
    expect(fires()).toEqual([]);
    expect(await board.history('daily-report')).toHaveLength(1);
  });

  it('fires late when it was missed by less than a day [S076][S150]', async () => {
    await add(once);
    await board.stop();
    place.clock.jumpBy(23 * 3_600_000);
    board = await place.start();
    await fired(1);
    expect((await board.history('daily-report'))[0]).toMatchObject({ missed: true });
  });

  it('is left out with schedule.missed when it was missed by more [S076][S150]', async () => {
    await add({ ...once, owner: 'person:voice:ava' });
    await board.stop();
    place.clock.jumpBy(25 * 3_600_000);
    board = await place.start();
    await waitFor(() => !existsSync(file('daily-report')));
    expect(fires()).toEqual([]);
    expect(board.on('schedule.missed')[0]?.payload).toMatchObject({
      id: 'daily-report',
      scheduledAt: '2026-03-02T09:30:00.000Z',
    });
    expect(board.on('schedule.missed')[0]?.principal).toMatchObject({
      kind: 'person',
      id: 'voice:ava',
      via: ['scheduler'],
    });
    expect((await board.history('daily-report'))[0]).toMatchObject({ status: 'missed' });
  });

  it('waits longer than a timer can', async () => {
    await add({ schedule: '2026-05-02T09:30:00Z' });
    await place.clock.advanceTo('2026-05-02T09:29:59Z');
    expect(fires()).toEqual([]);
    await place.clock.advanceBy(1000);
    await fired(1);
  });
});

describe('a recurring schedule', () => {
  it('makes up once for what was missed while it was down [S076][S150]', async () => {
    await add({ schedule: '*/10 * * * *' });
    await place.clock.advanceTo('2026-03-02T09:00:00Z');
    await fired(1);
    await board.stop();
    place.clock.jumpBy(5 * 3_600_000 + 60_000);
    board = await place.start();
    await fired(1);
    expect(fires()[0]?.id).toBe('daily-report@2026-03-02T14:00:00.000Z');
    await place.clock.advanceBy(60_000);
    expect(fires()).toHaveLength(1);
  });

  it('does not make up for what is more than a day ago [S076][S150]', async () => {
    await add({ schedule: '0 9 1 * *' });
    await board.stop();
    place.clock.jumpBy(32 * 86_400_000);
    board = await place.start();
    await place.clock.advanceBy(60_000);
    await waitFor(async () => (await board.history('daily-report'))[0]?.status === 'missed');
    expect(fires()).toEqual([]);
    expect(existsSync(file('daily-report'))).toBe(true);
  });

  it('keeps wall time when the clocks change [S010]', async () => {
    await add({ schedule: '30 2 * * *', timezone: 'Europe/Berlin' });
    const { data } = await board.command({ action: 'preview', id: 'daily-report' });
    expect(data.next[0]).toBe('2026-03-03T01:30:00.000Z');
    await board.stop();
    place.clock.jumpBy(Date.parse('2026-03-28T12:00:00Z') - place.clock.now());
    board = await place.start();
    await fired(1);
    // On 29 March 02:30 does not exist in Berlin: it runs right after the leap.
    await place.clock.advanceTo('2026-03-29T01:00:00Z');
    await fired(2);
    await place.clock.advanceTo('2026-03-30T00:30:00Z');
    await fired(3);
    expect(fires().map(({ id }) => id.split('@')[1])).toEqual([
      '2026-03-28T01:30:00.000Z',
      '2026-03-29T01:00:00.000Z',
      '2026-03-30T00:30:00.000Z',
    ]);
  });

  it('fires once when the wall clock jumps ahead, and not again when it jumps back', async () => {
    await add({ schedule: '0 * * * *' });
    place.clock.jumpBy(3_600_000);
    await place.clock.advanceBy(31_000);
    await fired(1);
    place.clock.jumpBy(-1_800_000);
    await place.clock.advanceBy(31_000);
    expect(fires()).toHaveLength(1);
  });

  it('spreads its fires by the jitter, the same after a restart', async () => {
    await add({ jitterMs: 50_000 });
    await place.clock.advanceTo('2026-03-02T09:00:00Z');
    expect(fires()).toEqual([]);
    await restart();
    await place.clock.advanceBy(50_000);
    await fired(1);
    expect(fires()[0]?.id).toBe('daily-report@2026-03-02T09:00:00.000Z');
  });
});

it('takes commands though it could not listen for them at first', async () => {
  await board.stop();
  let refusals = 1;
  const meet = (bus: Bus): Bus =>
    new Proxy(bus, {
      get(real, name) {
        const found = Reflect.get(real, name);
        if (typeof found !== 'function') return found;
        return (...given: unknown[]) => {
          const isRefused = name === 'subscribe' && given[0] === 'command.schedule' && refusals-- > 0;
          return isRefused
            ? Promise.reject(new BusError('unavailable', 'There is no leader.'))
            : found.apply(real, given);
        };
      },
    });
  board = await place.start({ meet });
  expect(await add()).toMatchObject({ success: true });
  expect(board.log.join('')).toContain('failed to listen for schedule commands; retrying');
});
