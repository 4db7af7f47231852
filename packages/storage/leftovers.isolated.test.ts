import { existsSync, promises, writeFileSync } from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import { join } from 'node:path';
import { temporaryDirectory } from '@trunkline/testing';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { writeFileAtomic } from './atomic-file.ts';

const directory = temporaryDirectory();
const path = join(directory.path, 'state.json');
const litter = join(directory.path, '.state.json.999999999-0a1b2c3d.tmp');

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['performance'] });
  vi.spyOn(promises, 'readdir');
  syncBuiltinESMExports();
});
afterEach(() => {
  vi.useRealTimers();
  vi.restoreAllMocks();
  syncBuiltinESMExports();
  directory.remove();
});

it('lists a directory once a minute, however many files are written into it', async () => {
  for (let number = 0; number < 50; number += 1)
    await writeFileAtomic(join(directory.path, `${number}.json`), '{}');
  expect(promises.readdir).toHaveBeenCalledTimes(1);
  writeFileSync(litter, 'part');
  await vi.advanceTimersByTimeAsync(60_000);
  await writeFileAtomic(path, '{}');
  expect(promises.readdir).toHaveBeenCalledTimes(2);
  expect(existsSync(litter)).toBe(false);
});
