import { join } from 'node:path';
import { temporaryDirectory } from '@trunkline/testing';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type Database, openDatabase } from './database.ts';
import { EventLog, eventLogMigration } from './event-log.ts';

let database: Database;
let log: EventLog<{ text: string }>;
let now: number;
beforeEach(() => {
  now = 1000;
  database = openDatabase(':memory:', { migrations: [eventLogMigration('events')] });
  log = new EventLog(database, 'events', () => now);
});
afterEach(() => database.close());

const sequences = (entries: { sequence: number }[]) => entries.map((entry) => entry.sequence);

describe('EventLog', () => {
  it('gives rising sequences over all streams and reads each stream by itself', () => {
    expect(log.append('a', [{ text: 'one' }, { text: 'two' }])).toEqual([1, 2]);
    expect(log.append('b', [{ text: 'three' }])).toEqual([3]);
    expect(log.append('a', [{ text: 'four' }])).toEqual([4]);
    expect(log.read('a')).toEqual([
      { sequence: 1, stream: 'a', at: 1000, event: { text: 'one' } },
      { sequence: 2, stream: 'a', at: 1000, event: { text: 'two' } },
      { sequence: 4, stream: 'a', at: 1000, event: { text: 'four' } },
    ]);
    expect(sequences(log.read('b'))).toEqual([3]);
  });

  it('reads on after a sequence and up to a limit', () => {
    log.append('a', [{ text: '1' }, { text: '2' }, { text: '3' }, { text: '4' }]);
    expect(sequences(log.read('a', { after: 2 }))).toEqual([3, 4]);
    expect(sequences(log.read('a', { after: 1, limit: 2 }))).toEqual([2, 3]);
    expect(log.read('nobody')).toEqual([]);
  });

  it('appends all events of a call or none', () => {
    const circular: { text: string; self?: unknown } = { text: 'round' };
    circular.self = circular;
    expect(() => log.append('a', [{ text: 'fine' }, circular])).toThrow(/circular/);
    expect(log.read('a')).toEqual([]);
  });

  it('refuses what JSON cannot say instead of storing nothing', () => {
    const untyped = new EventLog<unknown>(database, 'events');
    expect(() => untyped.append('a', [undefined])).toThrow();
    expect(log.read('a')).toEqual([]);
  });

  it('takes part in a transaction of its database', () => {
    const failing = () =>
      database.transaction(() => {
        log.append('a', [{ text: 'lost' }]);
        throw new Error('halfway');
      });
    expect(failing).toThrow('halfway');
    expect(log.read('a')).toEqual([]);
  });

  it('keeps events over a restart', () => {
    const directory = temporaryDirectory();
    const options = { migrations: [eventLogMigration('journal')] };
    const first = openDatabase(join(directory.path, 'a.db'), options);
    new EventLog(first, 'journal').append('a', ['x']);
    first.close();
    const second = openDatabase(join(directory.path, 'a.db'), options);
    const journal = new EventLog(second, 'journal');
    expect(journal.read('a').map((entry) => entry.event)).toEqual(['x']);
    second.close();
    directory.remove();
  });

  it('lets two logs live in one database', () => {
    const both = openDatabase(':memory:', {
      migrations: [eventLogMigration('one'), eventLogMigration('two')],
    });
    expect(new EventLog(both, 'one').append('a', [1, 2])).toEqual([1, 2]);
    expect(new EventLog(both, 'two').append('a', [3])).toEqual([1]);
    expect(sequences(new EventLog(both, 'one').read('a'))).toEqual([1, 2]);
    both.close();
  });

  it('refuses a table name that is not plain', () => {
    expect(() => eventLogMigration('a; DROP TABLE b')).toThrow(
      expect.objectContaining({ code: 'name_refused' }),
    );
    expect(() => new EventLog(database, 'Events')).toThrow(/no table name/);
  });
});
