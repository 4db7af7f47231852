import { existsSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { readOptions } from '@trunkline/config';
import { waitFor } from '@trunkline/testing';
import { expect, it } from 'vitest';
import { openBus } from '../core/open-bus.ts';
import type { Json, TestSwitchboard } from '../fixtures/start-switchboard.ts';
import { switchboardOptions } from '../options.ts';

interface SharingBoards {
  /** Two on one bus. */
  boards: () => readonly TestSwitchboard[];
  natsUrl: () => string;
}

const ways = [
  [0, 1],
  [1, 0],
] as const;

/** A file of `crons/` that is saved, changed or removed by hand at one switchboard counts at all; either of them leads. */
export function describeSharedSchedules({ boards, natsUrl }: SharingBoards): void {
  const at = (index: number) => boards()[index] as TestSwitchboard;
  const path = (index: number, id: string) => join(at(index).workspace, 'crons', `${id}.yaml`);
  const text = (id: string, schedule: string, content: string) =>
    `# rings\nid: ${id}\nschedule: "${schedule}"\ntimezone: UTC\ntopic: cron.${id}\npayload: { content: ${content} }\n`;
  const save = (index: number, id: string, schedule: string, content = 'Hello') =>
    at(index).write(`crons/${id}.yaml`, text(id, schedule, content));
  const lists = () =>
    Promise.all(
      boards().map(async (board) => (await board.call('/api/schedules')).body.data.schedules as Json[]),
    );
  /** Once both list the same: the schedules whose ids begin so. */
  const listed = (prefix: string, isAwaited: (schedules: Json[]) => boolean) =>
    waitFor(async () => {
      const [one = [], other] = await lists();
      const found = one.filter(({ id }) => id.startsWith(prefix));
      return isDeepStrictEqual(one, other) && isAwaited(found) ? found : undefined;
    });
  const runs = async (id: string): Promise<Json[]> =>
    (await at(0).call(`/api/bus/history?topic=cron.${id}&limit=100`)).body.data.messages;
  /** How often a schedule's file was shared, whoever wrote it. */
  const sharings = async (id: string): Promise<number> => {
    const history = await at(0).call('/api/bus/history?topic=config.files&limit=1000');
    return history.body.data.messages.filter(({ message }: Json) => message.payload.entry?.name === id)
      .length;
  };

  it.each(ways)('schedules that are saved, changed and removed by hand (%i, %i)', async (from, to) => {
    const id = `gong-${from}`;
    // Half an hour away, and missed once: it runs at once, at whichever leads, which writes into its file when. That is no save.
    const hourly = `${(new Date().getUTCMinutes() + 30) % 60} * * * *`;
    const lastFired = new Date(Date.now() - 2 * 3_600_000).toISOString();
    at(from).write(`crons/${id}.yaml`, `${text(id, hourly, 'Hello')}lastFired: ${lastFired}\n`);
    const [{ lastFired: ran }] = await listed(
      id,
      ([found]) => ![undefined, lastFired].includes(found?.lastFired),
    );
    await waitFor(() => [0, 1].some((index) => readFileSync(path(index, id), 'utf8').includes(ran)));
    // The other way, comments included.
    save(to, id, hourly, 'Changed');
    await listed(id, ([found]) => found?.payload.content === 'Changed' && found.lastFired === ran);
    expect(readFileSync(path(from, id), 'utf8')).toContain(text(id, hourly, 'Changed'));
    // A file with a slip stays where it is.
    save(from, id, 'soon');
    await waitFor(async () =>
      JSON.stringify((await at(from).call('/api/workspace')).body.data.problems).includes(`${id}.yaml`),
    );
    save(from, id, hourly, 'Mended');
    await listed(id, ([found]) => found?.payload.content === 'Mended');
    at(to).write(`crons/${id}.yaml`, `# a comment alone\n${text(id, hourly, 'Mended')}`);
    await waitFor(() => readFileSync(path(from, id), 'utf8').startsWith('# a comment alone'));
    rmSync(path(to, id));
    await listed(id, ({ length }) => length === 0);
    expect(existsSync(path(from, id))).toBe(false);
    expect(await runs(id)).toHaveLength(1);
    expect(await sharings(id)).toBe(5);
  });

  it.each(ways)(
    'one that runs at its time once, and one that was removed (%i, %i)',
    async (from, to) => {
      // On a busy machine both may take longer than the time until they run; then there is more of it.
      for (let aheadMs = 5000; ; aheadMs *= 2) {
        const [kept, removed] = [`kept-${from}-${aheadMs}`, `removed-${from}-${aheadMs}`];
        const time = Date.now() + aheadMs;
        save(from, kept, new Date(time + 1000).toISOString());
        save(from, removed, new Date(time).toISOString());
        const isListed = (found: Json[]) =>
          [kept, removed].every((id) => found.some((each) => each.id === id));
        await listed('', (found) => isListed(found) || Date.now() > time);
        if (existsSync(path(to, removed))) rmSync(path(to, removed));
        await listed(removed, ({ length }) => length === 0);
        const isInTime = Date.now() < time;
        await waitFor(async () => (await runs(kept)).length > 0, { timeoutMs: aheadMs + 30_000 });
        // Its file goes everywhere once it has run.
        await listed(kept, ({ length }) => length === 0);
        for (const index of boards().keys())
          await waitFor(() => !existsSync(path(index, kept)) && !existsSync(path(index, removed)));
        expect(await runs(kept)).toHaveLength(1);
        if (!isInTime) continue;
        expect(await runs(removed)).toEqual([]);
        break;
      }
    },
    240_000,
  );

  it('one that was given another time while it ran', async () => {
    const [before, after] = ['2098-01-01T00:00:00Z', '2099-01-01T00:00:00Z'];
    save(0, 'postponed', after);
    await listed('postponed', ({ length }) => length === 1);
    // As the leader tells once it has run: first of the time that it had, then of the one that it has.
    const program = await openBus(readOptions(switchboardOptions, { env: { NATS_URL: natsUrl() } }), {});
    try {
      const tell = (ended: string, schedule: string) =>
        program.publish({
          topic: 'schedule.fires',
          payload: { origin: 'leader', entry: { ended, schedule } },
        });
      save(0, 'over', before);
      await listed('over', ({ length }) => length === 1);
      await tell('postponed', before);
      await tell('over', before);
      await listed('over', ({ length }) => length === 0);
      await listed('postponed', ({ length }) => length === 1);
      await tell('postponed', after);
      await listed('postponed', ({ length }) => length === 0);
    } finally {
      await program.stop();
    }
  });
}
