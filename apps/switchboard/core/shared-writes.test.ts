import { join } from 'node:path';
import { type Database, openDatabase } from '@trunkline/storage';
import { type TemporaryDirectory, temporaryDirectory } from '@trunkline/testing';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { SharedWrites } from './store.ts';

const migrations = ['CREATE TABLE words (word TEXT PRIMARY KEY) STRICT'];
let [directory, database, reader] = [] as unknown as [TemporaryDirectory, Database, Database];
let writes: SharedWrites;

beforeEach(() => {
  directory = temporaryDirectory();
  const path = join(directory.path, 'words.db');
  database = openDatabase(path, { migrations });
  reader = openDatabase(path, { migrations });
  writes = new SharedWrites(database);
});

afterEach(() => {
  database.close();
  reader.close();
  directory.remove();
});

const add = (word: string) => database.prepare('INSERT INTO words (word) VALUES (?)').run(word).changes;
const kept = () =>
  reader
    .prepare<{ word: string }>('SELECT word FROM words ORDER BY word')
    .all()
    .map(({ word }) => word);

it('keeps all of one write or nothing, whatever becomes of those beside it', async () => {
  const half = () => {
    add('half');
    throw new Error('in the middle');
  };
  const all = [writes.run(() => add('one')), writes.run(half), writes.run(() => add('two'))];
  expect(kept()).toEqual([]);
  const outcomes = await Promise.allSettled(all);
  expect(outcomes.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled']);
  expect(kept()).toEqual(['one', 'two']);
});

it('tells nobody that a write is kept when the disk had no room for it', async () => {
  const pages = database.prepare<{ page_count: number }>('PRAGMA page_count').get()?.page_count;
  database.exec(`PRAGMA max_page_count = ${pages}`);
  const all = ['one', 'x'.repeat(100_000), 'two'].map((word) => writes.run(() => add(word)));
  const outcomes = await Promise.allSettled(all);
  expect(outcomes.map((outcome) => outcome.status === 'rejected' && outcome.reason.code)).toEqual([
    'disk_full',
    'disk_full',
    'disk_full',
  ]);
  expect(kept()).toEqual([]);
  await writes.run(() => add('small'));
  expect(kept()).toEqual(['small']);
});
