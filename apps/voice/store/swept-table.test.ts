import { temporaryDirectory } from '@trunkline/testing';
import { expect, it, onTestFinished } from 'vitest';
import { openVoiceDatabase, SweptTable } from './database.ts';

it('forgets a value after a day, and frees its place while others are written', () => {
  const { path, remove } = temporaryDirectory();
  const database = openVoiceDatabase(path);
  onTestFinished(() => {
    database.close();
    remove();
  });
  let now = 1_000_000_000;
  const table = new SweptTable<string>(database, 'conversations', () => now);
  table.set('old', 'a');
  expect(table.get('old')).toBe('a');
  now += 25 * 60 * 60 * 1000;
  expect(table.get('old')).toBeUndefined();
  table.set('new', 'b');
  const { count } =
    database.prepare<{ count: number }>('SELECT count(*) AS count FROM conversations').get() ?? {};
  expect([count, table.entries()]).toEqual([1, [['new', 'b']]]);
});
