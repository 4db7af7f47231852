import { unlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type TemporaryDirectory, temporaryDirectory, waitFor } from '@trunkline/testing';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { FileFollower } from './watch-yaml.ts';

let temporary: TemporaryDirectory;
let path: string;
let told: (string | undefined)[];

beforeEach(() => {
  temporary = temporaryDirectory();
  path = join(temporary.path, 'a.yaml');
  told = [];
});
afterEach(() => temporary.remove());

function follow(): FileFollower<string | undefined> {
  return new FileFollower<string | undefined>({
    path,
    settleMs: 10,
    parse: (text) => text,
    onChange: (value) => told.push(value),
    onError: (error) => told.push(error.message),
    onGone: () => told.push('gone'),
  });
}

it('says when a file is gone for good, so that it can be forgotten', async () => {
  writeFileSync(path, 'a');
  const follower = follow();
  await follower.load();
  unlinkSync(path);
  follower.poke();
  await waitFor(() => told.includes('gone'));
  expect(told).toEqual([undefined, 'gone']);
});

it('says so of a file that came and went unread', async () => {
  const follower = follow();
  follower.poke();
  await waitFor(() => told.length > 0);
  expect(told).toEqual(['gone']);
});

it('does not say so of a file that came back', async () => {
  const follower = follow();
  follower.poke();
  writeFileSync(path, 'b');
  await waitFor(() => told.length > 0);
  await follower.close();
  expect(told).toEqual(['b']);
});

it('reloads once more when it was poked while it loaded', async () => {
  writeFileSync(path, 'a');
  const follower = follow();
  const loaded = follower.load();
  follower.poke();
  expect(await loaded).toBe('a');
  writeFileSync(path, 'b');
  await waitFor(() => told.includes('b'));
  await follower.close();
});
