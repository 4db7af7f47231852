import { mountSmallDisk, waitFor } from '@trunkline/testing';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { schedulerHome, type TestScheduler } from '../fixtures/start-scheduler.ts';

const place = schedulerHome('2026-03-02T08:59:30Z');
const disk = mountSmallDisk(place.home, 32);
afterAll(() => {
  disk.unmount();
  place.remove();
});

describe.skipIf(disk.leftOut !== undefined)('a full disk', () => {
  let board: TestScheduler;
  beforeAll(async () => {
    board = await place.start();
  });
  afterAll(() => board.stop());

  it('keeps no outcome from the history: it is noted when there is room again, without a restart', async () => {
    const ids = ['one', 'two', 'three', 'four'];
    const record = { schedule: '2026-03-02T09:00:00Z', payload: { content: 'Go.' } };
    for (const id of ids) await board.command({ action: 'add', id, topic: `cron.${id}`, ...record });
    await place.clock.advanceBy(30_000);
    const statuses = async () =>
      (await Promise.all(ids.map((id) => board.history(id)))).map(([newest]) => newest?.status);
    await waitFor(async () => (await statuses()).every((status) => status === 'fired'));
    // Their files are gone, so that nothing makes room later.
    await waitFor(async () => (await board.command({ action: 'list' })).data.count === 0);
    disk.fill();
    for (const id of ids) {
      const [fire] = board.on(`cron.${id}`);
      const payload = { content: 'ok', taskState: 'completed' };
      const correlationId = fire?.correlationId ?? '';
      await board.bus.publish({ topic: 'agent.skill.response.x', correlationId, payload });
    }
    const complaints = () =>
      board.log.filter((line) => line.includes('failed to record the end of a scheduled run'));
    await waitFor(() => complaints().length === ids.length);
    await place.clock.advanceBy(5000);
    expect(await statuses()).toEqual(ids.map(() => 'fired'));
    disk.free();
    await place.clock.advanceBy(30_000);
    await waitFor(async () => (await statuses()).every((status) => status === 'done'));
  });
});
