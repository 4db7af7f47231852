import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { waitFor } from '@trunkline/testing';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { startSwitchboard, type TestSwitchboard } from '../fixtures/start-switchboard.ts';

const daily = (id: string) =>
  `id: ${id}\nschedule: "0 9 * * *"\ntopic: cron.${id}\npayload: { content: Go. }\n`;

let board: TestSwitchboard;
beforeEach(async () => {
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] });
  board = await startSwitchboard({ files: { 'crons/first.yaml': daily('first') } });
});
afterEach(async () => {
  vi.useRealTimers();
  await board.stop();
});

const schedules = async () => {
  const { body } = await board.call('/api/schedules');
  return body.data.schedules.map(({ id }: { id: string }) => id);
};

it('a schedule that cannot be noted in schedules.db runs all the same', async () => {
  const database = new DatabaseSync(join(board.home, 'switchboard', 'schedules.db'));
  database.exec('ALTER TABLE files RENAME TO lost');
  board.write('crons/second.yaml', daily('second'));
  await waitFor(async () => (await schedules()).includes('second'));
  rmSync(join(board.workspace, 'crons', 'first.yaml'));
  await waitFor(async () => !(await schedules()).includes('first'));
  database.exec('ALTER TABLE lost RENAME TO files');
  database.close();
  board.write('crons/third.yaml', daily('third'));
  await waitFor(async () => (await schedules()).includes('third'));
});

it('the folder may be taken away', async () => {
  rmSync(join(board.workspace, 'crons'), { recursive: true });
  vi.advanceTimersByTime(5 * 60_000);
  expect((await board.fetch('/healthz')).status).toBe(200);
});
