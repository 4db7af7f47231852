import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { temporaryDirectory } from '@trunkline/testing';
import { expect, it, onTestFinished } from 'vitest';
import { copyDatabase } from './data-directory.ts';
import { openDatabase } from './database.ts';

function folder(): string {
  const directory = temporaryDirectory();
  onTestFinished(directory.remove);
  return directory.path;
}

it('copies what an open database has committed, whatever its name', async () => {
  const path = folder();
  const [from, to] = [join(path, 'a #1 100%?.db'), join(path, 'b.db')];
  using database = closing(openDatabase(from, { migrations: ['CREATE TABLE notes (text TEXT)'] }));
  database.prepare("INSERT INTO notes VALUES ('kept')").run();
  await copyDatabase(from, to);
  using copy = closing(openDatabase(to, { migrations: ['CREATE TABLE notes (text TEXT)'] }));
  expect(copy.prepare('SELECT text FROM notes').all()).toEqual([{ text: 'kept' }]);
});

it('makes no database in the place of one that is gone', async () => {
  const path = folder();
  const from = join(path, 'gone.db');
  await expect(copyDatabase(from, join(path, 'b.db'))).rejects.toMatchObject({ code: 'database_open' });
  expect(existsSync(from)).toBe(false);
});

it('names a file that is no database', async () => {
  const path = folder();
  const from = join(path, 'damaged.db');
  writeFileSync(from, 'no database at all');
  await expect(copyDatabase(from, join(path, 'b.db'))).rejects.toMatchObject({
    code: 'database_damaged',
    message: expect.stringContaining(from),
  });
});

function closing<Value extends { close(): void }>(value: Value): Value & Disposable {
  return Object.assign(value, { [Symbol.dispose]: () => value.close() });
}
