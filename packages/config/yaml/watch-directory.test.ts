import { mkdirSync, renameSync, rmSync, unlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type TemporaryDirectory, temporaryDirectory, waitFor } from '@trunkline/testing';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { z } from 'zod';
import { type DirectoryChange, type DirectoryWatch, watchDirectory } from '../index.ts';

const schema = z.strictObject({ topic: z.string() });
type Value = z.output<typeof schema>;

let temporary: TemporaryDirectory;
let directory: string;
let changes: DirectoryChange<Value>[];
let errors: [message: string, file: string][];
let open: DirectoryWatch<Value>[];

beforeEach(() => {
  temporary = temporaryDirectory();
  directory = join(temporary.path, 'crons');
  mkdirSync(directory);
  [changes, errors, open] = [[], [], []];
});
afterEach(async () => {
  await Promise.all(open.map((watch) => watch.close()));
  temporary.remove();
});

async function follow(settleMs = 30): Promise<DirectoryWatch<Value>> {
  const watch = await watchDirectory(directory, schema, {
    settleMs,
    onChange: (change) => changes.push(change),
    onError: (error, file) => errors.push([error.message, file]),
  });
  open.push(watch);
  return watch;
}

const write = (file: string, content: string) => writeFileSync(join(directory, file), content);
const topic = (name: string) => `topic: ${name}\n`;

it('loads every YAML file and no other', async () => {
  write('b.yml', topic('b'));
  write('a.yaml', topic('a'));
  for (const file of ['c.yaml.example', 'd.example.yaml', '.hidden.yaml', 'e.yaml~', 'f.json', 'g.yaml.tmp'])
    write(file, 'x: [');
  mkdirSync(join(directory, 'nested'));
  write('nested/h.yaml', 'x: [');
  const watch = await follow();
  expect([...watch.entries]).toEqual([
    ['a.yaml', { topic: 'a' }],
    ['b.yml', { topic: 'b' }],
  ]);
  expect(changes).toEqual([]);
  expect(errors).toEqual([]);
});

it('tells what is added, changed and removed', async () => {
  write('a.yaml', topic('a'));
  const watch = await follow();
  write('b.yaml', topic('b'));
  await waitFor(() => changes.length === 1);
  write('a.yaml', topic('a2'));
  await waitFor(() => changes.length === 2);
  unlinkSync(join(directory, 'b.yaml'));
  await waitFor(() => changes.length === 3);
  expect(changes).toEqual([
    { type: 'add', file: 'b.yaml', value: { topic: 'b' } },
    { type: 'change', file: 'a.yaml', value: { topic: 'a2' } },
    { type: 'remove', file: 'b.yaml' },
  ]);
  expect([...watch.entries]).toEqual([['a.yaml', { topic: 'a2' }]]);
});

it('tells too when a file that was never good is removed', async () => {
  write('a.yaml', 'topic: 5\n');
  await follow();
  unlinkSync(join(directory, 'a.yaml'));
  await waitFor(() => changes.length === 1);
  expect(changes).toEqual([{ type: 'remove', file: 'a.yaml' }]);
});

it('takes a rename for a removal and an addition', async () => {
  write('a.yaml', topic('a'));
  const watch = await follow();
  renameSync(join(directory, 'a.yaml'), join(directory, 'b.yaml'));
  await waitFor(() => changes.length === 2);
  expect(changes.map(({ type, file }) => `${type} ${file}`).sort()).toEqual(['add b.yaml', 'remove a.yaml']);
  expect([...watch.entries.keys()]).toEqual(['b.yaml']);
});

it('loads the others when one is broken at the start, and that one when it is mended', async () => {
  write('a.yaml', topic('a'));
  write('b.yaml', 'topic: 5\n');
  const watch = await follow();
  expect([...watch.entries.keys()]).toEqual(['a.yaml']);
  expect(errors).toEqual([
    [expect.stringContaining('b.yaml:1:8: topic: expected a text, found a number'), 'b.yaml'],
  ]);
  write('b.yaml', topic('b'));
  await waitFor(() => watch.entries.has('b.yaml'));
  expect(changes).toEqual([{ type: 'add', file: 'b.yaml', value: { topic: 'b' } }]);
});

it('keeps the last good version of a file that breaks', async () => {
  write('a.yaml', topic('a'));
  const watch = await follow();
  write('a.yaml', 'topic: [\n');
  await waitFor(() => errors.length === 1);
  expect(errors[0]).toEqual([expect.stringContaining('the last good version stays'), 'a.yaml']);
  expect(watch.entries.get('a.yaml')).toEqual({ topic: 'a' });
  expect(changes).toEqual([]);
});

it('removes a file that was broken when it goes', async () => {
  write('a.yaml', topic('a'));
  const watch = await follow();
  write('a.yaml', 'topic: [\n');
  await waitFor(() => errors.length === 1);
  unlinkSync(join(directory, 'a.yaml'));
  await waitFor(() => changes.length === 1);
  expect(changes).toEqual([{ type: 'remove', file: 'a.yaml' }]);
  expect(watch.entries.size).toBe(0);
});

it('waits for a directory that is not there yet, and bears its removal', async () => {
  directory = join(temporary.path, 'not', 'yet');
  const watch = await follow();
  expect(watch.entries.size).toBe(0);
  mkdirSync(directory, { recursive: true });
  write('a.yaml', topic('a'));
  await waitFor(() => watch.entries.has('a.yaml'));
  rmSync(join(temporary.path, 'not'), { recursive: true });
  await waitFor(() => watch.entries.size === 0);
  mkdirSync(directory, { recursive: true });
  write('a.yaml', topic('again'));
  await waitFor(() => watch.entries.get('a.yaml')?.topic === 'again');
  expect(errors).toEqual([]);
});

it('follows many files at once', async () => {
  const watch = await follow();
  for (let index = 0; index < 100; index++) write(`n${index}.yaml`, topic(`t${index}`));
  await waitFor(() => watch.entries.size === 100);
  expect(changes).toHaveLength(100);
  expect(watch.entries.get('n42.yaml')).toEqual({ topic: 't42' });
});

it('is silent after it was closed', async () => {
  const watch = await follow();
  await watch.close();
  write('a.yaml', topic('a'));
  const other = await follow();
  write('b.yaml', topic('b'));
  await waitFor(() => other.entries.has('b.yaml'));
  expect(watch.entries.size).toBe(0);
  expect(changes).toEqual([{ type: 'add', file: 'b.yaml', value: { topic: 'b' } }]);
});

it('fails on something that is no directory', async () => {
  directory = join(temporary.path, 'file');
  writeFileSync(directory, 'x');
  await expect(follow()).rejects.toThrow('expected a directory that can be read; the system says ENOTDIR');
});
