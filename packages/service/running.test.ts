import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { temporaryDirectory } from '@trunkline/testing';
import { expect, it, onTestFinished } from 'vitest';
import { isServedAt, neighbours, recordRunning, runningProcesses } from './running.ts';

it('finds the processes of a home, whatever else lies beside their records', () => {
  const home = temporaryDirectory();
  onTestFinished(home.remove);
  const folder = join(home.path, 'running');
  mkdirSync(join(folder, 'stray'), { recursive: true });
  const record = { pid: process.ppid, urls: ['http://127.0.0.1:1'] };
  writeFileSync(join(folder, 'a.json'), JSON.stringify(record));
  writeFileSync(join(folder, 'b.json'), 'broken');
  expect(runningProcesses(home.path)).toEqual([record]);
});

it('passes over records that are odd, and removes only those of processes that are gone', async () => {
  const home = temporaryDirectory();
  onTestFinished(home.remove);
  const folder = join(home.path, 'running');
  mkdirSync(folder);
  const { pid: gone } = spawnSync(process.execPath, ['--version']);
  const records = {
    'more-names.json': { pid: process.ppid, urls: [], names: ['agent'] },
    'no-address.json': { pid: process.ppid, urls: [''], names: ['agent'] },
    'gone.json': { pid: gone, urls: ['http://127.0.0.1:1'], names: ['agent'] },
  };
  for (const [name, record] of Object.entries(records))
    writeFileSync(join(folder, name), JSON.stringify(record));
  // A record that another version is just writing.
  writeFileSync(join(folder, 'half.json'), '{"pid":');
  expect(isServedAt(home.path, 'http://127.0.0.1:1')).toBe(false);
  expect(await neighbours(home.path)).toEqual([]);
  expect(readdirSync(folder).sort()).toEqual(['half.json', 'more-names.json', 'no-address.json']);
});

it('records its own process until it is told to stop', async () => {
  const home = temporaryDirectory();
  onTestFinished(home.remove);
  const record = await recordRunning(home.path, [{ name: 'agent', url: 'http://127.0.0.1:7870' }]);
  expect(isServedAt(home.path, 'http://127.0.0.1:7870/operator')).toBe(true);
  expect(await neighbours(home.path)).toEqual([]);
  record.remove();
  expect(existsSync(join(home.path, 'running', `${process.pid}.json`))).toBe(false);
});
