import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type Database, openDatabase } from './database.ts';
import { TtlTable, ttlTableMigration } from './ttl-table.ts';

let database: Database;
let table: TtlTable<{ name: string }>;
let now: number;
beforeEach(() => {
  now = 1000;
  database = openDatabase(':memory:', { migrations: [ttlTableMigration('sessions')] });
  table = new TtlTable(database, 'sessions', () => now);
});
afterEach(() => database.close());

const rows = () => database.prepare<{ count: number }>('SELECT count(*) AS count FROM sessions').get()?.count;

describe('TtlTable', () => {
  it('gives a value until its end and not at it, swept or not', () => {
    table.set('a', { name: 'Ada' }, 500);
    now = 1499;
    expect(table.get('a')).toEqual({ name: 'Ada' });
    now = 1500;
    expect(table.get('a')).toBeUndefined();
    expect(table.entries()).toEqual([]);
    expect(rows()).toBe(1);
  });

  it('replaces value and end', () => {
    table.set('a', { name: 'Ada' }, 500);
    table.set('a', { name: 'Bob' }, 5000);
    now = 2000;
    expect(table.get('a')).toEqual({ name: 'Bob' });
  });

  it('deletes, and says whether something live was there', () => {
    table.set('a', { name: 'Ada' }, 500);
    table.set('b', { name: 'Bob' }, 100);
    now = 1200;
    expect(table.delete('a')).toBe(true);
    expect(table.delete('a')).toBe(false);
    expect(table.delete('b')).toBe(false);
  });

  it('stores a first value only, until that has expired', () => {
    expect(table.setIfAbsent('delivery', { name: 'first' }, 300)).toBe(true);
    expect(table.setIfAbsent('delivery', { name: 'second' }, 300)).toBe(false);
    expect(table.get('delivery')).toEqual({ name: 'first' });
    now = 1300;
    expect(table.setIfAbsent('delivery', { name: 'third' }, 300)).toBe(true);
    expect(table.get('delivery')).toEqual({ name: 'third' });
  });

  it('sweeps what has expired, at its own time or a given one', () => {
    table.set('a', { name: 'Ada' }, 100);
    table.set('b', { name: 'Bob' }, 200);
    table.set('c', { name: 'Cid' }, 300);
    expect(table.sweep()).toBe(0);
    expect(table.sweep(1100)).toBe(1);
    now = 1200;
    expect(table.sweep()).toBe(1);
    expect(table.entries()).toEqual([['c', { name: 'Cid' }]]);
    expect(rows()).toBe(1);
  });

  it('refuses a time to live that is no number', () => {
    expect(() => table.set('a', { name: 'Ada' }, Number.NaN)).toThrow(/time to live/);
    expect(() => table.set('a', { name: 'Ada' }, Number.POSITIVE_INFINITY)).toThrow(/time to live/);
  });
});
