import { statSync } from 'node:fs';
import { join } from 'node:path';
import { startChild, temporaryDirectory } from '@trunkline/testing';
import { expect, it, onTestFinished } from 'vitest';
import { holdDirectory } from './data-directory.ts';

const holder = join(import.meta.dirname, 'fixtures/directory-holder.ts');

function directory(): string {
  const temporary = temporaryDirectory();
  onTestFinished(temporary.remove);
  return join(temporary.path, 'data');
}

const inUse = (path: string) =>
  expect.objectContaining({ code: 'directory_in_use', message: expect.stringContaining(path) });

it('lets one hold a directory at a time, and the next when it is released', () => {
  const path = directory();
  const first = holdDirectory(path);
  expect(() => holdDirectory(path)).toThrow(inUse(path));
  first.release();
  first.release();
  holdDirectory(path).release();
  expect(statSync(join(path, 'in-use.lock')).size).toBe(0);
});

it('is held by a process until that is killed', async () => {
  const path = directory();
  const child = startChild(holder, { arguments: [path] });
  onTestFinished(async () => void (await child.kill()));
  await child.waitForLine('held');
  expect(() => holdDirectory(path)).toThrow(inUse(path));
  await child.kill('SIGKILL');
  holdDirectory(path).release();
});
