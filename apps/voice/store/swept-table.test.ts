import { temporaryDirectory } from '@trunkline/testing';
import { expect, it, onTestFinished } from 'vitest';
import { openVoiceDatabase, SweptTable } from './database.ts';
import { Reloader } from './reload.ts';

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

it('reads once for all who ask while it reads, and again for those after', async () => {
  const gates: PromiseWithResolvers<void>[] = [];
  const renewal = new Reloader(() => {
    gates.push(Promise.withResolvers<void>());
    return gates.at(-1)?.promise ?? Promise.resolve();
  });
  const first = renewal.run();
  const waiting = Array.from({ length: 100 }, () => renewal.run());
  expect(gates).toHaveLength(1);
  gates[0]?.reject(new Error('unreadable'));
  await expect(first).rejects.toThrow('unreadable');
  gates[1]?.resolve();
  await Promise.all(waiting);
  expect(gates).toHaveLength(2);
  const later = renewal.run();
  gates[2]?.resolve();
  await later;
});
