import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { temporaryDirectory } from '@trunkline/testing';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { NotesStore } from './notes-store.ts';

let home = temporaryDirectory();
const file = () => join(home.path, 'notes', 'workspace.json');
const stored = () => JSON.parse(readFileSync(file(), 'utf8'));

beforeEach(() => {
  home = temporaryDirectory();
});
afterEach(() => home.remove());

describe('the notes', () => {
  it('begin with one tab that the agent may use, and survive a restart [A048]', async () => {
    const notes = await NotesStore.open(file(), () => new Date('2026-01-02T03:04:05Z'));
    expect(notes.tabs().map(({ name, permissions }) => [name, permissions])).toEqual([
      ['Notes', { agentRead: true, agentWrite: true }],
    ]);
    await notes.write('notes', 'two words', 'append');
    await notes.write('Notes', 'and more', 'append');
    expect(stored()).toMatchObject({
      version: 1,
      workspaceVersion: 2,
      activeTabId: 'notes',
      tabOrder: ['notes'],
      tabs: {
        notes: {
          content: 'two words\nand more',
          metadata: {
            wordCount: 4,
            characterCount: 18,
            updatedAt: '2026-01-02T03:04:05.000Z',
            history: [{ content: '' }, { content: 'two words' }],
          },
        },
      },
    });
    expect((await NotesStore.open(file())).read('notes')).toBe('two words\nand more');
  });

  it('keep ten earlier versions and go back through them [A080] [A189]', async () => {
    const notes = await NotesStore.open(file());
    for (let number = 1; number <= 12; number += 1) await notes.write('notes', `v${number}`, 'replace');
    expect(stored().tabs.notes.metadata.history.map(({ content }: { content: string }) => content)).toEqual(
      Array.from({ length: 10 }, (_, index) => `v${index + 2}`),
    );
    expect((await notes.revert('notes', 3)).content).toBe('v9');
    expect((await notes.revert('notes', 1)).content).toBe('v8');
    await expect(notes.revert('notes', 7)).rejects.toThrow('has 6 earlier version(s), not 7');
    await expect(notes.revert('notes', 0)).rejects.toThrow('not 0');
    expect((await notes.revert('notes', 6)).content).toBe('v2');
    await expect(notes.revert('notes', 1)).rejects.toThrow('has 0 earlier version(s)');
  });

  it('take a whole notebook from the console unless it is out of date', async () => {
    const notes = await NotesStore.open(file());
    const mine = notes.workspace();
    await notes.write('notes', 'meanwhile', 'append');
    await expect(notes.replace(mine)).rejects.toThrow('changed meanwhile');
    const fresh = notes.workspace();
    fresh.tabs.notes!.permissions = { agentRead: false, agentWrite: false };
    await notes.replace(fresh);
    expect(() => notes.read('notes')).toThrow('not shared');
    await expect(notes.write('notes', 'x', 'append')).rejects.toThrow('not open for writing');
    await expect(notes.replace({ version: 2 })).rejects.toThrow('not readable');
  });

  it('say what is wrong with a damaged file', async () => {
    const notes = await NotesStore.open(file());
    await notes.write('notes', 'x', 'append');
    writeFileSync(file(), '{"version": 1}');
    await expect(NotesStore.open(file())).rejects.toThrow(/workspaceVersion/);
  });

  it('refuse a tab that would grow without end', async () => {
    const notes = await NotesStore.open(file());
    await expect(notes.write('notes', 'x'.repeat(1_000_001), 'append')).rejects.toThrow('longer than');
    expect(notes.read('notes')).toBe('');
  });

  it('go back to an earlier version with its own origins', async () => {
    const notes = await NotesStore.open(file());
    const page = [{ kind: 'fetch_url', source: 'https://outside.example' }];
    await notes.write('notes', 'mine', 'replace');
    await notes.write('notes', 'an order', 'replace', page);
    await notes.write('notes', 'mine again', 'replace');
    const again = await NotesStore.open(file());
    expect((await again.revert('notes', 1)).metadata.origins).toEqual(page);
    expect((await again.revert('notes', 1)).metadata.origins).toBeUndefined();
  });

  it('have so many tabs and bytes of each owner, and nobody takes the room of others', async () => {
    const notes = await NotesStore.open(file());
    const of = (id: string) =>
      notes.for({ owner: `person:voice:${id}`, viewer: { kind: 'person', id: `voice:${id}`, via: [] } });
    const [ava, bob] = [of('ava'), of('bob')];
    for (let count = 0; count < 200; count += 1) await ava.ensure(`Tab ${count}`);
    await expect(ava.ensure('One more')).rejects.toThrow('you have 200 tabs already');
    await bob.ensure('Mine');
    await notes.ensure('Of the operator');
    const given = ava.workspace();
    for (const id of ['a', 'b']) given.tabs[id] = { ...given.tabs[given.tabOrder[1] ?? '']!, id, name: id };
    await expect(ava.replace(given)).rejects.toThrow('you have 200 tabs already');
    const long = bob.workspace();
    const withText = (length: number) => {
      const tab = { ...long.tabs[long.tabOrder.at(-1) ?? '']!, id: 'long', name: 'Long' };
      return { ...long, tabs: { ...long.tabs, long: { ...tab, content: 'x'.repeat(length) } } };
    };
    await expect(bob.replace(withText(20_000_001))).rejects.toThrow(/would take 20\.0 MB .*may take 20 MB/);
    await bob.replace(withText(19_990_000));
    const outcome = await bob.write('Mine', 'y'.repeat(20_000), 'append').then(
      () => 'written',
      (error: Error) => error.message,
    );
    expect(outcome).toContain('may take 20 MB');
    await ava.write('Tab 1', 'a word', 'append');
    await bob.replace({ ...bob.workspace(), tabs: long.tabs });
    await bob.write('Mine', 'y'.repeat(20_000), 'append');
  });

  it('count for the quota that strangers of a surface share', async () => {
    const notes = await NotesStore.open(file());
    const stranger = notes.for({ owner: 'person:mail:x', viewer: { kind: 'person', id: 'mail:x', via: [] } });
    await stranger.ensure('Theirs');
    await stranger.write('Theirs', 'x'.repeat(1000), 'append');
    expect(notes.bytesOf('person:mail:*')).toBeGreaterThan(1000);
    expect(notes.bytesOf('person:chat:*')).toBe(0);
  });
});
