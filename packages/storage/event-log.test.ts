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
    expect(log.readAll().map((entry) => entry.event.text)).toEqual(['one', 'two', 'three', 'four']);
  });

  it('reads on after a sequence and up to a limit', () => {
    log.append('a', [{ text: '1' }, { text: '2' }, { text: '3' }, { text: '4' }]);
    expect(sequences(log.read('a', { after: 2 }))).toEqual([3, 4]);
    expect(sequences(log.read('a', { after: 1, limit: 2 }))).toEqual([2, 3]);
    expect(sequences(log.readAll({ after: 3, limit: 5 }))).toEqual([4]);
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
    expect(log.lastSequence()).toBe(0);
  });

  it('knows the last sequence of a stream and of all', () => {
    expect(log.lastSequence()).toBe(0);
    expect(log.lastSequence('a')).toBe(0);
    log.append('a', [{ text: '1' }]);
    log.append('b', [{ text: '2' }]);
    expect(log.lastSequence('a')).toBe(1);
    expect(log.lastSequence()).toBe(2);
  });

  it('never gives a sequence twice, even when its stream is gone', () => {
    log.append('a', [{ text: '1' }, { text: '2' }]);
    expect(log.deleteStream('a')).toBe(2);
    expect(log.lastSequence('a')).toBe(0);
    expect(log.lastSequence()).toBe(2);
    expect(log.append('a', [{ text: '3' }])).toEqual([3]);
  });

  it('prunes what is older than a time', () => {
    log.append('a', [{ text: 'old' }]);
    now = 2000;
    log.append('a', [{ text: 'new' }]);
    expect(log.prune(2000)).toBe(1);
    expect(log.readAll().map((entry) => entry.event.text)).toEqual(['new']);
  });

  it('does not prune what a registered reader has still to see', () => {
    log.append('a', [{ text: '1' }, { text: '2' }, { text: '3' }]);
    log.advance('slow', 1);
    log.advance('fast', 3);
    expect(log.prune(5000)).toBe(1);
    expect(sequences(log.readAll())).toEqual([2, 3]);
    log.deleteCursor('slow');
    expect(log.prune(5000)).toBe(2);
  });

  it('moves cursors forward only', () => {
    expect(log.cursor('reader')).toBe(0);
    expect(log.advance('reader', 5)).toBe(5);
    expect(log.advance('reader', 3)).toBe(5);
    expect(log.cursor('reader')).toBe(5);
  });

  it('takes part in a transaction of its database', () => {
    const failing = () =>
      database.transaction(() => {
        log.append('a', [{ text: 'lost' }]);
        log.advance('reader', 1);
        throw new Error('halfway');
      });
    expect(failing).toThrow('halfway');
    expect(log.readAll()).toEqual([]);
    expect(log.cursor('reader')).toBe(0);
  });

  it('keeps events and cursors over a restart', () => {
    const directory = temporaryDirectory();
    const options = { migrations: [eventLogMigration('journal')] };
    const first = openDatabase(join(directory.path, 'a.db'), options);
    new EventLog(first, 'journal').append('a', ['x']);
    new EventLog(first, 'journal').advance('reader', 1);
    first.close();
    const second = openDatabase(join(directory.path, 'a.db'), options);
    const journal = new EventLog(second, 'journal');
    expect(journal.read('a').map((entry) => entry.event)).toEqual(['x']);
    expect(journal.cursor('reader')).toBe(1);
    second.close();
    directory.remove();
  });

  it('lets two logs live in one database', () => {
    const both = openDatabase(':memory:', {
      migrations: [eventLogMigration('one'), eventLogMigration('two')],
    });
    new EventLog(both, 'one').append('a', [1, 2]);
    new EventLog(both, 'two').append('a', [3]);
    expect(new EventLog(both, 'one').lastSequence()).toBe(2);
    expect(new EventLog(both, 'two').lastSequence()).toBe(1);
    both.close();
  });

  it('refuses a table name that is not plain', () => {
    expect(() => eventLogMigration('a; DROP TABLE b')).toThrow(
      expect.objectContaining({ code: 'name_refused' }),
    );
    expect(() => new EventLog(database, 'Events')).toThrow(/no table name/);
  });
});
