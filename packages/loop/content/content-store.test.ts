import { readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { type TemporaryDirectory, temporaryDirectory } from '@trunkline/testing';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { ContentStore, type ContentStoreOptions } from './content-store.ts';

const hour = 3_600_000;

describe('stored files', () => {
  let home: TemporaryDirectory;
  let store: ContentStore;
  let now = 0;

  const open = (options: Partial<ContentStoreOptions> = {}) => {
    store?.close();
    store = new ContentStore({
      directory: join(home.path, 'content'),
      maxFileBytes: 100,
      maxTotalBytes: 250,
      room: () => undefined,
      secret: 'secret',
      now: () => now,
      ...options,
    });
  };
  const file = (content: string, name = 'a.txt') => ({
    name,
    mediaType: 'text/plain',
    bytes: Buffer.from(content),
  });
  const blobs = () => readdirSync(join(home.path, 'content')).filter((name) => name.length === 64);

  beforeEach(() => {
    now = Date.now();
    home = temporaryDirectory();
    open();
  });
  afterEach(() => {
    store.close();
    home.remove();
  });

  it('are there once for the same bytes, and go with the last conversation that has them', async () => {
    const [mine, theirs] = [
      await store.put(file('same'), 'a', 'one'),
      await store.put(file('same'), 'b', 'two'),
    ];
    expect(mine.id).not.toBe(theirs.id);
    expect(blobs()).toHaveLength(1);
    expect(await store.put(file('same'), 'a', 'one')).toEqual(mine);
    store.forget('one');
    expect(store.find(mine.id)).toBeUndefined();
    expect(String(await store.read(theirs.id))).toBe('same');
    expect(String(await store.readSome(theirs.id, 1, 2))).toBe('am');
    expect(await store.readSome(mine.id, 0, 2)).toBeUndefined();
    store.forget('two');
    expect(blobs()).toEqual([]);
  });

  it('heal when they are sent again, are copied into a conversation once, and keep what was read', async () => {
    const first = await store.put(file('plan'), 'a', 'one');
    store.setText(first.id, 'plan', true);
    for (const name of blobs()) rmSync(join(home.path, 'content', name));
    expect(await store.read(first.id)).toBeUndefined();
    expect(await store.put(file('plan'), 'a', 'one')).toEqual(first);
    expect(String(await store.read(first.id))).toBe('plan');
    const copy = store.use(first.id, 'two');
    expect(copy?.id).not.toBe(first.id);
    expect(store.use(first.id, 'two')).toEqual(copy);
    const again = await store.put(file('plan'), 'a', 'three');
    expect(store.text(again.id)).toEqual({ text: 'plan', isWhole: true });
    expect(store.text((await store.put(file('plan'), 'b', 'three')).id)).toBeUndefined();
  });

  it('that no conversation takes go after a day, and so do those of conversations that are gone', async () => {
    const loose = await store.put(file('loose'), 'a');
    const [kept, gone] = [
      await store.put(file('kept'), 'a', 'here'),
      await store.put(file('gone'), 'a', 'left'),
    ];
    const used = store.use((await store.put(file('used'), 'a')).id, 'here');
    store.prune(() => false);
    expect(blobs()).toHaveLength(4);
    now += 25 * hour;
    store.prune((sessionId) => sessionId === 'here');
    expect([loose, gone].map(({ id }) => store.find(id))).toEqual([undefined, undefined]);
    expect([kept.id, used?.id ?? ''].map((id) => store.find(id)?.sessionId)).toEqual(['here', 'here']);
    expect(blobs()).toHaveLength(2);
  });

  it('that are sent again stay for a day from then', async () => {
    const { id } = await store.put(file('loose'), 'a');
    now += 23 * hour;
    await store.put(file('loose'), 'a');
    now += 2 * hour;
    store.prune(() => false);
    expect(store.find(id)).toBeDefined();
  });

  it('have limits, also for many that come at once', async () => {
    await expect(store.put(file('x'.repeat(101)), 'a')).rejects.toThrow('CORE_MAX_FILE_MB');
    await expect(store.put(file(''), 'a')).rejects.toThrow('a.txt is empty');
    const many = await Promise.allSettled(
      ['a', 'b', 'c', 'd', 'e'].map((letter) => store.put(file(letter.repeat(100)), 'a')),
    );
    expect(many.map(({ status }) => status)).toEqual([
      ...['fulfilled', 'fulfilled'],
      ...['rejected', 'rejected', 'rejected'],
    ]);
    // With 200 bytes for each row.
    expect([store.bytesOf('a'), store.bytesOf('b')]).toEqual([600, 0]);
    open({ room: (owner) => `${owner} has enough` });
    await expect(store.put(file('more'), 'b')).rejects.toThrow('b has enough.');
  });

  it('are served by links that end, and that nobody can make for another file', async () => {
    const [one, two] = [await store.put(file('one'), 'a'), await store.put(file('two'), 'b')];
    const query = new URL(store.link(one.id), 'http://a').searchParams;
    const given = [Number(query.get('expires')), query.get('signature') ?? ''] as const;
    expect(store.isSigned(one.id, ...given)).toBe(true);
    expect(store.isSigned(two.id, ...given)).toBe(false);
    expect(store.isSigned(one.id, given[0] + 1, given[1])).toBe(false);
    now += 1.01 * hour;
    expect(store.isSigned(one.id, ...given)).toBe(false);
  });
});
