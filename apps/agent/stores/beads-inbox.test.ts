import { join } from 'node:path';
import { ownerKey, type Principal } from '@trunkline/identity';
import { temporaryDirectory } from '@trunkline/testing';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { BeadsStore } from './beads-store.ts';
import { InboxStore } from './inbox-store.ts';

let home = temporaryDirectory();
let now = new Date('2026-01-01T00:00:00Z');
const clock = () => now;

beforeEach(() => {
  home = temporaryDirectory();
  now = new Date('2026-01-01T00:00:00Z');
});
afterEach(() => home.remove());

describe('the task board', () => {
  it('numbers issues, never a number twice, and survives a restart [A049]', () => {
    const path = join(home.path, 'deep', 'issues.db');
    const board = new BeadsStore(path, clock);
    const base = { description: '', issue_type: 'task' as const };
    expect(board.create({ ...base, title: 'low', priority: 3 }).id).toBe('bd-1');
    expect(board.create({ ...base, title: 'high', priority: 0 }).id).toBe('bd-2');
    board.update('BD-1', { status: 'closed', reason: 'done' });
    board.close();
    const again = new BeadsStore(path, clock);
    expect(again.list(false).map(({ title }) => title)).toEqual(['high']);
    expect(again.list(true).map(({ id }) => id)).toEqual(['bd-2', 'bd-1']);
    expect(again.get('bd-1')).toMatchObject({ status: 'closed', reason: 'done', priority: 3 });
    expect(again.create({ ...base, title: 'third', priority: 2 }).id).toBe('bd-3');
    for (const id of ['bd-9', '1', 'bd-1; DROP TABLE issues'])
      expect(() => again.get(id)).toThrow(`no such issue ${id}.`);
    again.close();
  });
});

describe('the inbox', () => {
  const open = () => new InboxStore(join(home.path, 'inbox.db'), clock);

  it('gives items by urgency, each once', () => {
    const inbox = open();
    inbox.add({ text: 'c', priority: 'later' });
    inbox.add({ text: 'b', priority: 'next', source: 'mail' });
    inbox.add({ text: 'a', priority: 'now' });
    expect(inbox.list({ floor: 'later' }).map(({ text }) => text)).toEqual(['a', 'b', 'c']);
    expect(inbox.take({ floor: 'next', limit: 1 }).map(({ text }) => text)).toEqual(['a']);
    expect(inbox.take({ floor: 'next' }).map(({ text }) => text)).toEqual(['b']);
    expect(inbox.take({ floor: 'next' })).toEqual([]);
    inbox.close();
    const again = open();
    expect(again.take({ floor: 'later' }).map(({ text }) => text)).toEqual(['c']);
    expect(again.list({ floor: 'later', includeDelivered: true })).toHaveLength(3);
    expect(() => again.deliver(99)).toThrow('no such inbox item 99');
    again.close();
  });

  it('takes the same key again only after five minutes', () => {
    const inbox = open();
    const item = { text: 'x', priority: 'next', dedupKey: 'k' } as const;
    expect(inbox.add(item)?.id).toBe(1);
    now = new Date(now.getTime() + 299_000);
    expect(inbox.add(item)).toBeUndefined();
    now = new Date(now.getTime() + 2000);
    expect(inbox.add(item)?.id).toBe(2);
    inbox.close();
  });

  it('refuses in words what is less urgent than all of too many that wait', () => {
    const inbox = open();
    for (let number = 1; number <= 1000; number += 1) inbox.add({ text: `${number}`, priority: 'next' });
    expect(() => inbox.add({ text: 'late', priority: 'later' })).toThrow('the inbox is full');
    expect(inbox.add({ text: 'urgent', priority: 'now' })).toMatchObject({ text: 'urgent' });
    inbox.close();
  });

  it('drops the oldest of the least urgent when too many wait', () => {
    const inbox = open();
    inbox.add({ text: 'urgent', priority: 'now' });
    for (let number = 1; number <= 1001; number += 1) inbox.add({ text: `${number}`, priority: 'later' });
    const waiting = inbox.list({ floor: 'later', limit: 5000 });
    expect(waiting).toHaveLength(1000);
    expect(waiting.slice(0, 2).map(({ text }) => text)).toEqual(['urgent', '3']);
    inbox.close();
  });

  it('drops nothing of one owner for what another sends', () => {
    const inbox = open();
    const viewer: Principal = { kind: 'person', id: 'user:ava', via: [] };
    const ofAva = inbox.for({ owner: ownerKey(viewer), viewer });
    ofAva.add({ text: 'of Ava', priority: 'later' });
    for (let number = 1; number <= 1001; number += 1) inbox.add({ text: `${number}`, priority: 'now' });
    expect(ofAva.list({ floor: 'later' })).toMatchObject([{ text: 'of Ava' }]);
    inbox.close();
  });
});
