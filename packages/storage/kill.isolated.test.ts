import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { startChild, type TemporaryDirectory, temporaryDirectory } from '@trunkline/testing';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { readJsonFile, writeFileAtomic } from './atomic-file.ts';
import { openDatabase } from './database.ts';
import { EventLog } from './event-log.ts';
import { logMigrations, rowMigrations } from './fixtures/schema.ts';

const endlessWriter = new URL('./fixtures/endless-writer.ts', import.meta.url);
const rounds = 5;

let directory: TemporaryDirectory;
beforeEach(() => {
  directory = temporaryDirectory();
});
afterEach(() => directory.remove());

/** Lets a child write until it has acknowledged a random number of items, kills it, and gives the last one acknowledged. */
async function killedWriter(
  kind: string,
  path: string,
  first: number,
  durability = 'normal',
): Promise<number> {
  const child = startChild(endlessWriter, { arguments: [kind, path, String(first), durability] });
  await child.waitForLine(new RegExp(`^${first + Math.floor(Math.random() * 40)}$`));
  expect(await child.kill('SIGKILL')).toEqual({ code: null, signal: 'SIGKILL' });
  // The last line counts only when it came whole.
  return Number(child.output().split('\n').at(-2));
}

function upTo(last: number): number[] {
  return Array.from({ length: last + 1 }, (_, number) => number);
}

describe('a writer that is killed at any moment', () => {
  it('leaves every acknowledged transaction whole, with either durability', async () => {
    const path = join(directory.path, 'rows.db');
    let next = 0;
    for (let round = 0; round < rounds; round += 1) {
      const last = await killedWriter('rows', path, next, round % 2 === 0 ? 'normal' : 'full');
      const database = openDatabase(path, { migrations: rowMigrations });
      expect(database.prepare('PRAGMA integrity_check').all()).toEqual([{ integrity_check: 'ok' }]);
      const halves = database
        .prepare<{ number: number; halves: number }>(
          'SELECT number, count(*) AS halves FROM pairs GROUP BY number',
        )
        .all();
      database.close();
      expect(halves.every((row) => row.halves === 2)).toBe(true);
      expect(halves.map((row) => row.number).slice(0, last + 1)).toEqual(upTo(last));
      next = halves.length;
    }
  });

  it('leaves every acknowledged event in the log, in order', async () => {
    const path = join(directory.path, 'log.db');
    let next = 0;
    for (let round = 0; round < rounds; round += 1) {
      const last = await killedWriter('log', path, next);
      const database = openDatabase(path, { migrations: logMigrations });
      const events = new EventLog<number>(database, 'events').read('stream', { limit: 1_000_000 });
      expect(database.prepare('PRAGMA integrity_check').all()).toEqual([{ integrity_check: 'ok' }]);
      database.close();
      expect(events.map((entry) => entry.event).slice(0, last + 1)).toEqual(upTo(last));
      next = events.length;
    }
  });

  it('leaves a whole version of the file, no older than the acknowledged one, and no litter after the next write', async () => {
    const path = join(directory.path, 'version.json');
    let next = 0;
    for (let round = 0; round < rounds; round += 1) {
      const last = await killedWriter('file', path, next);
      const found = (await readJsonFile(path)) as { number: number; filler: string };
      expect(found.number).toBeGreaterThanOrEqual(last);
      expect(found.filler).toHaveLength((found.number * 7919) % 60_000);
      next = found.number + 1;
    }
    await writeFileAtomic(path, '{}');
    expect(readdirSync(directory.path)).toEqual(['version.json']);
  });
});

describe('several processes at once', () => {
  it('create new databases together, over and over', async () => {
    const script = new URL('./fixtures/racing-opener.ts', import.meta.url);
    const start = String(Date.now() + 500);
    const children = [1, 2, 3].map(() => startChild(script, { arguments: [directory.path, start, '100'] }));
    await Promise.all(children.map((child) => child.exited));
    expect(children.map((child) => child.output())).toEqual(children.map(() => 'opened 100\n'));
  });

  it('create, migrate and write one database without a refusal', async () => {
    const path = join(directory.path, 'shared.db');
    const script = new URL('./fixtures/counted-writer.ts', import.meta.url);
    const halves = ['a', 'b', 'c'];
    const children = halves.map((half) => startChild(script, { arguments: [path, half, '100'] }));
    await Promise.all(children.map((child) => child.waitForLine('ready')));
    for (const child of children) child.write('go\n');
    const ends = await Promise.all(children.map((child) => child.exited));
    expect(children.map((child) => child.output())).toEqual(halves.map(() => 'ready\n'));
    expect(ends.map((end) => end.code)).toEqual([0, 0, 0]);
    const database = openDatabase(path, { migrations: rowMigrations });
    expect(database.prepare('SELECT count(*) AS count FROM pairs').get()).toEqual({ count: 300 });
    database.close();
  });
});
