import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { temporaryDirectory } from '@trunkline/testing';
import { expect, it, onTestFinished } from 'vitest';
import { runningProcesses } from './running.ts';

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
