import { existsSync, readdirSync, readFileSync, rmSync, unlinkSync, watch } from 'node:fs';
import { join } from 'node:path';
import { waitFor } from '@trunkline/testing';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
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
const file = (id: string) => join(board.workspace, 'crons', `${id}.yaml`);
const fires = (topic: string) => board.on(topic);
const fired = (count: number, topic: string) => waitFor(() => fires(topic).length === count);

describe('files of crons/', () => {
  const text =
    'id: by-hand # mine\nschedule: "* * * * *"\ntimezone: UTC\ntopic: cron.by-hand\npayload: { content: Hello }\n';

  it('are taken up, followed and dropped while it runs, and keep their comments [S070]', async () => {
    board.write('crons/by-hand.yaml', text);
    await waitFor(async () => (await board.command({ action: 'list' })).data.count === 1);
    await place.clock.advanceBy(30_000);
    await fired(1, 'cron.by-hand');
    await waitFor(() => readFileSync(file('by-hand'), 'utf8').includes('lastFired'));
    expect(readFileSync(file('by-hand'), 'utf8')).toContain('# mine');
    await answer(fires('cron.by-hand')[0] as Json);
    board.write('crons/by-hand.yaml', text.replace('Hello', 'Changed'));
    const content = async () => (await board.command({ action: 'list' })).data.schedules[0].payload.content;
    await waitFor(async () => (await content()) === 'Changed');
    unlinkSync(file('by-hand'));
    await waitFor(async () => (await board.command({ action: 'list' })).data.count === 0);
  });

  it('that are wrong are told, and the last good version stays', async () => {
    board.write('crons/by-hand.yaml', text);
    await waitFor(async () => (await board.command({ action: 'list' })).data.count === 1);
    board.write('crons/by-hand.yaml', text.replace('"* * * * *"', '"soon"'));
    await waitFor(() => board.problems.list().length === 1);
    expect(board.problems.list()[0]?.error).toContain('by-hand.yaml:2:');
    await place.clock.advanceBy(30_000);
    await fired(1, 'cron.by-hand');
    board.write('crons/misnamed.yaml', text);
    await waitFor(() => board.problems.list().length === 2);
    board.write('crons/by-hand.yaml', text);
    await waitFor(() => board.problems.list().length === 1);
  });

  it('that are removed while the time of their fire is written into them stay away', async () => {
    const ids = Array.from({ length: 20 }, (_, number) => `by-hand-${number}`);
    for (const id of ids) board.write(`crons/${id}.yaml`, text.replaceAll('by-hand', id));
    await waitFor(async () => (await board.command({ action: 'list' })).data.count === ids.length);
    // The new content lies beside the file before it takes its place.
    const meddler = watch(join(board.workspace, 'crons'), (_, name) => {
      const [, written] = /^\.(.+\.yaml)\..*tmp$/.exec(name ?? '') ?? [];
      if (written !== undefined) rmSync(join(board.workspace, 'crons', written), { force: true });
    });
    await place.clock.advanceBy(30_000);
    await waitFor(async () => (await board.command({ action: 'list' })).data.count === 0);
    meddler.close();
    expect(readdirSync(join(board.workspace, 'crons'))).toEqual([]);
    expect(board.log.filter((line) => line.includes('not up to date'))).toEqual([]);
  });

  it('that get another time by hand right after they fired are not removed', async () => {
    const once = text.replace('"* * * * *"', '2026-03-02T09:00:00Z');
    board.write('crons/by-hand.yaml', once);
    await waitFor(async () => (await board.command({ action: 'list' })).data.count === 1);
    const later = once.replace('09:00:00Z', '09:30:00Z');
    await board.bus.subscribe('cron.by-hand', ({ id }) => {
      if (id.includes('09:00:00')) board.write('crons/by-hand.yaml', later);
    });
    await place.clock.advanceBy(30_000);
    await waitFor(
      async () =>
        (await board.command({ action: 'list' })).data.schedules[0]?.nextFire === '2026-03-02T09:30:00.000Z',
    );
    await place.clock.advanceTo('2026-03-02T09:30:00Z');
    await fired(2, 'cron.by-hand');
    await waitFor(() => !existsSync(file('by-hand')));
  });

  it('that get another time by hand while their removal waits for another change stay', async () => {
    const once = text.replace('"* * * * *"', '2026-03-02T09:00:00Z');
    board.write('crons/by-hand.yaml', once);
    await waitFor(async () => (await board.command({ action: 'list' })).data.count === 1);
    const { controlPlane } = board.context;
    const published = Promise.withResolvers<void>();
    // As a change is held up while NATS is away.
    const forget = controlPlane.onWrite(() => published.promise);
    const route = 'name: bell\nwhen: { topic: bell.rang }\nthen: { skill: chat }\n';
    const other = controlPlane.writeText('route', 'bell', route, { actor: 'ava' });
    const remove = vi.spyOn(controlPlane, 'remove');
    await place.clock.advanceBy(30_000);
    await fired(1, 'cron.by-hand');
    await waitFor(() => remove.mock.calls.length === 1);
    const later = once.replace('09:00:00Z', '09:30:00Z');
    board.write('crons/by-hand.yaml', later);
    published.resolve();
    forget();
    await other;
    await expect(remove.mock.results[0]?.value).rejects.toMatchObject({ code: 'change_overtaken' });
    const edits: (string | null)[] = [];
    await controlPlane.noteEdit('cron', 'by-hand', async (found) => void edits.push(found));
    expect(edits).toEqual([later]);
    await waitFor(
      async () =>
        (await board.command({ action: 'list' })).data.schedules[0]?.nextFire === '2026-03-02T09:30:00.000Z',
    );
    await place.clock.advanceTo('2026-03-02T09:30:00Z');
    await waitFor(() => !existsSync(file('by-hand')));
  });

  it('hold an edit for other switchboards, also when the time of a run is written into it first', async () => {
    const { controlPlane } = board.context;
    const edits: (string | null)[] = [];
    const look = () => controlPlane.noteEdit('cron', 'by-hand', async (found) => void edits.push(found));
    const run = (from: string, lastFired: string) => {
      const to = `${from}lastFired: ${lastFired}\n`;
      return controlPlane.editText('cron', 'by-hand', { from, to }, { actor: 'scheduler', quiet: true });
    };
    await controlPlane.writeText('cron', 'by-hand', text, { actor: 'ava' });
    await run(text, '2026-03-02T08:00:00Z');
    await look();
    expect(edits).toEqual([]);
    const edited = text.replace('Hello', 'Changed');
    board.write('crons/by-hand.yaml', edited);
    await run(edited, '2026-03-02T08:30:00Z');
    await look();
    expect(edits).toEqual([`${edited}lastFired: 2026-03-02T08:30:00Z\n`]);
    await look();
    expect(edits).toHaveLength(1);
  });

  it('that are examples are left out', async () => {
    board.write('crons/by-hand.yaml.example', text);
    board.write('crons/by-hand.example.yaml', text);
    await restart();
    expect((await board.command({ action: 'list' })).data.count).toBe(0);
  });
});
