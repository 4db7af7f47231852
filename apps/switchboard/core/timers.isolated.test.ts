import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { waitFor } from '@trunkline/testing';
import { afterAll, beforeAll, expect, it, vi } from 'vitest';
import { startSwitchboard, type TestSwitchboard } from '../fixtures/start-switchboard.ts';

const hourMs = 3_600_000;
const files = ['deliveries', 'ceremonies', 'schedules', 'flows', 'conversations', 'questions', 'tasks'];

let board: TestSwitchboard;
beforeAll(async () => {
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] });
  board = await startSwitchboard();
});
afterAll(async () => {
  vi.useRealTimers();
  await board.stop();
});

it.each(files)('what cannot be swept or read of %s.db does not end the process', async (file) => {
  const database = new DatabaseSync(join(board.home, 'switchboard', `${file}.db`));
  const tables = database
    .prepare(`SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%'`)
    .all();
  for (const { name } of tables) database.exec(`ALTER TABLE "${name}" RENAME TO "lost_${name}"`);
  board.log.length = 0;
  try {
    vi.advanceTimersByTime(hourMs);
    await waitFor(() => board.log.find((line) => line.includes('no such table')));
    expect((await board.fetch('/healthz')).status).toBe(200);
  } finally {
    for (const { name } of tables) database.exec(`ALTER TABLE "lost_${name}" RENAME TO "${name}"`);
    database.close();
  }
});
