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

const answer = (
  message: { correlationId: string },
  payload: object = { content: 'ok', taskState: 'completed' },
) => board.bus.publish({ topic: 'agent.skill.response.x', correlationId: message.correlationId, payload });
const restart = async () => {
  await board.stop();
  board = await place.start();
};
const add = (more: object): Promise<Json> =>
  board.command({
    action: 'add',
    id: 'daily-report',
    topic: 'cron.daily-report',
    payload: { content: 'Report.' },
    ...more,
  });
const fires = () => board.on('cron.daily-report');
const fired = (count: number) => waitFor(() => fires().length === count);

describe('overlap', () => {
  const minutely = { schedule: '* * * * *', timezone: 'UTC' };
  const statuses = async () => (await board.history('daily-report')).map(({ status }) => status).reverse();

  it('skips a fire while the run before goes on, and says so', async () => {
    await add(minutely);
    await place.clock.advanceBy(150_000);
    await waitFor(async () => (await statuses()).length === 3);
    expect(await statuses()).toEqual(['fired', 'skipped', 'skipped']);
    await answer(fires()[0] as Json);
    await waitFor(async () => (await statuses())[0] === 'done');
    await place.clock.advanceBy(60_000);
    await fired(2);
  });

  it('keeps what runs in mind over a restart', async () => {
    await add(minutely);
    await place.clock.advanceBy(30_000);
    await fired(1);
    const first = fires()[0] as Json;
    await restart();
    await place.clock.advanceBy(60_000);
    await waitFor(async () => (await statuses()).join() === 'fired,skipped');
    await answer(first, { error: 'it broke', taskState: 'failed' });
    await waitFor(async () => (await statuses())[0] === 'failed');
    expect((await board.history('daily-report')).at(-1)?.detail).toBe('it broke');
    await place.clock.advanceBy(60_000);
    await fired(1);
  });

  it('lets fires wait their turn', async () => {
    await add({ ...minutely, overlap: 'queue' });
    await place.clock.advanceBy(90_000);
    await fired(1);
    await answer(fires()[0] as Json);
    await fired(2);
    expect(fires()[1]?.id).toBe('daily-report@2026-03-02T09:01:00.000Z');
  });

  it('lets them run side by side', async () => {
    await add({ ...minutely, overlap: 'allow' });
    await place.clock.advanceBy(90_000);
    await fired(2);
  });
});
