import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { type TemporaryDirectory, temporaryDirectory } from '@trunkline/testing';
import { afterEach, beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { copyDatabase } from './data-directory.ts';
import { type Database, openDatabase } from './database.ts';

describe('database', () => {
  const notes = 'CREATE TABLE notes (id INTEGER PRIMARY KEY, text TEXT NOT NULL)';

  let directory: TemporaryDirectory;
  let path: string;
  beforeEach(() => {
    directory = temporaryDirectory();
    path = join(directory.path, 'deep', 'down', 'data.db');
  });
  afterEach(() => directory.remove());

  function texts(database: Database): string[] {
    return database
      .prepare<{ text: string }>('SELECT text FROM notes ORDER BY id')
      .all()
      .map((row) => row.text);
  }

  function pragma(database: Database, name: string): unknown {
    return Object.values(database.prepare(`PRAGMA ${name}`).get() ?? {})[0];
  }

  describe('openDatabase', () => {
    it('creates the directories and sets WAL, foreign keys, a busy timeout and the durability asked for', () => {
      const database = openDatabase(path, { migrations: [notes] });
      expect(database.path).toBe(path);
      expect(pragma(database, 'journal_mode')).toBe('wal');
      expect(pragma(database, 'foreign_keys')).toBe(1);
      expect(pragma(database, 'busy_timeout')).toBe(5000);
      expect(pragma(database, 'synchronous')).toBe(1);
      database.close();
      const strict = openDatabase(path, { migrations: [notes], durability: 'full' });
      expect(pragma(strict, 'synchronous')).toBe(2);
      strict.close();
    });

    it('enforces foreign keys', () => {
      const database = openDatabase(':memory:', {
        migrations: [notes, 'CREATE TABLE tags (note INTEGER NOT NULL REFERENCES notes (id))'],
      });
      expect(() => database.exec('INSERT INTO tags VALUES (7)')).toThrow(/FOREIGN KEY/);
      database.close();
    });

    it('keeps a memory database off the disk', () => {
      const database = openDatabase(':memory:', { migrations: [notes] });
      expect(database.path).toBe(':memory:');
      expect(existsSync(':memory:')).toBe(false);
      database.close();
    });

    it('says that a file is no database', () => {
      const file = join(directory.path, 'text.db');
      writeFileSync(file, 'this is no database at all, only some text that is long enough');
      expect(() => openDatabase(file, { migrations: [] })).toThrow(
        expect.objectContaining({ code: 'database_damaged', message: expect.stringContaining(file) }),
      );
    });
  });

  describe('migrations', () => {
    it('run once each, in order, over several starts', () => {
      const ran: string[] = [];
      const step = (name: string) => () => void ran.push(name);
      openDatabase(path, { migrations: [notes, step('two')] }).close();
      openDatabase(path, { migrations: [notes, step('two'), step('three')] }).close();
      openDatabase(path, { migrations: [notes, step('two'), step('three')] }).close();
      expect(ran).toEqual(['two', 'three']);
    });

    it('that fail leave the version before them intact', () => {
      openDatabase(path, { migrations: [notes] }).close();
      const broken = `INSERT INTO notes (text) VALUES ('half done'); CREATE TABLE notes (again)`;
      expect(() => openDatabase(path, { migrations: [notes, broken] })).toThrow(
        expect.objectContaining({
          code: 'database_migration',
          message: expect.stringMatching(/^Migration 2 .*version 1/),
        }),
      );
      const database = openDatabase(path, { migrations: [notes] });
      expect(texts(database)).toEqual([]);
      database.close();
    });

    it('refuse a database of a newer program', () => {
      openDatabase(path, { migrations: [notes, 'SELECT 1', 'SELECT 1'] }).close();
      expect(() => openDatabase(path, { migrations: [notes] })).toThrow(
        expect.objectContaining({
          code: 'database_newer',
          message: expect.stringMatching(/version 3.*knows only 1/),
        }),
      );
    });

    it('may use the database they are given, transactions included', () => {
      const database = openDatabase(path, {
        migrations: [
          notes,
          (self) => self.transaction(() => self.prepare('INSERT INTO notes (text) VALUES (?)').run('seed')),
        ],
      });
      expect(texts(database)).toEqual(['seed']);
      database.close();
    });
  });

  describe('statements', () => {
    it('are compiled once per text and take values by place or by name', () => {
      const database = openDatabase(':memory:', { migrations: [notes] });
      const insert = database.prepare('INSERT INTO notes (text) VALUES (:text)');
      expect(database.prepare('INSERT INTO notes (text) VALUES (:text)')).toBe(insert);
      expect(insert.run({ text: 'named' })).toEqual({ changes: 1, lastInsertRowid: 1 });
      const placed = database.prepare('INSERT INTO notes (text) VALUES (?)');
      expect(placed.run('placed')).toEqual({ changes: 1, lastInsertRowid: 2 });
      expect(texts(database)).toEqual(['named', 'placed']);
      expect(database.prepare('SELECT * FROM notes WHERE id = 9').get()).toBeUndefined();
      expect(
        [...database.prepare<{ id: number }>('SELECT id FROM notes').iterate()].map((row) => row.id),
      ).toEqual([1, 2]);
      database.close();
    });

    it('are forgotten when there are too many, and compiled again when needed', () => {
      const database = openDatabase(':memory:', { migrations: [] });
      const first = database.prepare('SELECT 0');
      for (let number = 1; number <= 300; number += 1) database.prepare(`SELECT ${number}`).get();
      expect(database.prepare('SELECT 0')).not.toBe(first);
      expect(database.prepare('SELECT 0 AS zero').get()).toEqual({ zero: 0 });
      database.close();
    });

    it('report wrong SQL and broken constraints as SQLite says them', () => {
      const database = openDatabase(':memory:', { migrations: [notes] });
      expect(() => database.prepare('SELEC 1')).toThrow(/syntax error/);
      expect(() => database.prepare('INSERT INTO notes (text) VALUES (?)').run(null)).toThrow(/NOT NULL/);
      database.close();
    });

    it('name the database when its disk is full', () => {
      const database = openDatabase(path, { migrations: [notes] });
      database.exec('PRAGMA max_page_count = 4');
      const insert = database.prepare('INSERT INTO notes (text) VALUES (?)');
      expect(() => database.transaction(() => insert.run('x'.repeat(100_000)))).toThrow(
        expect.objectContaining({ code: 'disk_full', message: expect.stringContaining(path) }),
      );
      insert.run('small');
      expect(texts(database)).toEqual(['small']);
      database.close();
    });
  });

  describe('transaction', () => {
    let database: Database;
    beforeEach(() => {
      database = openDatabase(path, { migrations: [notes] });
    });
    afterEach(() => database.close());

    const add = (text: string) => database.prepare('INSERT INTO notes (text) VALUES (?)').run(text);

    it('gives back what the work returns and keeps what it wrote', () => {
      expect(database.transaction(() => add('kept').lastInsertRowid)).toBe(1);
      expect(texts(database)).toEqual(['kept']);
    });

    it.each(['a statement', 'an inner transaction'])(
      'keeps nothing when the disk is full, although the work catches the failure of %s and goes on',
      (part) => {
        database.exec('PRAGMA max_page_count = 4');
        const tooMuch = () => add('x'.repeat(100_000));
        const work = () => {
          add('before');
          try {
            if (part === 'a statement') tooMuch();
            else database.transaction(tooMuch);
          } catch {
            add('after');
          }
          database.transaction(() => add('inside'));
        };
        expect(() => database.transaction(work)).toThrow(expect.objectContaining({ code: 'disk_full' }));
        expect(texts(database)).toEqual([]);
        database.transaction(() => add('later'));
        expect(texts(database)).toEqual(['later']);
      },
    );

    it('undoes everything when the work throws, and passes the error on', () => {
      const failing = () =>
        database.transaction(() => {
          add('lost');
          throw new Error('halfway');
        });
      expect(failing).toThrow('halfway');
      add('after');
      expect(texts(database)).toEqual(['after']);
    });

    it('undoes only the inner part when the outer work catches its error', () => {
      database.transaction(() => {
        add('outer');
        expect(() =>
          database.transaction(() => {
            add('inner');
            throw new Error('inner');
          }),
        ).toThrow('inner');
        database.transaction(() => add('second inner'));
      });
      expect(texts(database)).toEqual(['outer', 'second inner']);
    });

    it('refuses asynchronous work and undoes what it had written', () => {
      expect(() => database.transaction(async () => add('early'))).toThrow(
        expect.objectContaining({ code: 'database_transaction' }),
      );
      expect(texts(database)).toEqual([]);
    });
  });

  describe('close', () => {
    it('may be called twice, moves the log into the file, and further use says so', () => {
      const database = openDatabase(path, { migrations: [notes] });
      database.prepare('INSERT INTO notes (text) VALUES (?)').run('kept');
      database.close();
      database.close();
      expect(existsSync(`${path}-wal`)).toBe(false);
      expect(() => database.exec('SELECT 1')).toThrow(expect.objectContaining({ code: 'database_closed' }));
      expect(() => database.prepare('SELECT 1')).toThrow(`The database ${path} is closed.`);
      const plain = new DatabaseSync(path);
      expect(plain.prepare('SELECT text FROM notes').get()).toEqual({ text: 'kept' });
      plain.close();
    });

    it('does not wait for another reader', () => {
      const database = openDatabase(path, { migrations: [notes] });
      const reader = new DatabaseSync(path);
      reader.exec('BEGIN');
      reader.prepare('SELECT * FROM notes').all();
      database.prepare('INSERT INTO notes (text) VALUES (?)').run('kept');
      database.close();
      reader.exec('COMMIT');
      expect(reader.prepare('SELECT text FROM notes').all()).toEqual([{ text: 'kept' }]);
      reader.close();
    });
  });
});

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
