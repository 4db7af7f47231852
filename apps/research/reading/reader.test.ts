import { ExtractionPool } from '@trunkline/documents';
import { createGuardedFetch } from '@trunkline/http';
import { openDatabase } from '@trunkline/storage';
import { afterAll, describe, expect, it } from 'vitest';
import { SearchAggregator } from '../sources/search-aggregator.ts';
import { DocumentStore } from '../store/documents.ts';
import { migrations } from '../store/schema.ts';
import { HostQueue, Reader } from './reader.ts';

const pool = new ExtractionPool({ threads: 1 });
afterAll(() => pool.stop());

describe('the reader', () => {
  it.each(['/api/files/7', 'http://[garbled'])(
    'says that %s cannot be read, and fails nothing else',
    async (url) => {
      const database = openDatabase(':memory:', { migrations });
      const reader = new Reader({
        fetch: createGuardedFetch({ timeoutMs: 1000 }),
        pool,
        hosts: new HostQueue({ perHost: 1, pauseMs: 0, total: 1 }),
        aggregator: new SearchAggregator({ sources: [] }),
        documents: new DocumentStore(database),
      });
      const result = { url, title: 'Gone', snippet: '', source: 'files', documentId: 7 };
      expect(await reader.read(result, 'anonymous', AbortSignal.timeout(60_000))).toEqual({
        problem: `${url} is not there to be read.`,
      });
      database.close();
    },
  );
});

describe('the host queue', () => {
  it('keeps requests to one host few and apart, and those to others free', async () => {
    const waits: number[] = [];
    const wait = async (milliseconds: number) => waits.push(milliseconds);
    const queue = new HostQueue({ perHost: 2, pauseMs: 60_000, total: 3, wait });
    const running = new Map<string, number>();
    const peaks = new Map<string, number>();
    const { signal } = new AbortController();
    const visit = (host: string) =>
      queue.run(host, signal, async () => {
        running.set(host, (running.get(host) ?? 0) + 1);
        peaks.set(host, Math.max(peaks.get(host) ?? 0, running.get(host) ?? 0));
        await new Promise((resolve) => setImmediate(resolve));
        running.set(host, (running.get(host) ?? 0) - 1);
      });
    await Promise.all(['a', 'a', 'a', 'a', 'b', 'c'].map(visit));
    expect(Object.fromEntries(peaks)).toEqual({ a: 2, b: 1, c: 1 });
    expect(waits.map((milliseconds) => Math.round(milliseconds / 60_000))).toEqual([1, 2, 3]);
  });

  it('lets go of what waits when it is called off', async () => {
    const queue = new HostQueue({ perHost: 1, pauseMs: 0, total: 1 });
    const stop = new AbortController();
    const { promise, resolve } = Promise.withResolvers<void>();
    const first = queue.run('a', new AbortController().signal, () => promise);
    const second = queue.run('a', stop.signal, async () => 'never');
    stop.abort(new Error('enough'));
    await expect(second).rejects.toThrow('enough');
    resolve();
    await first;
    expect(await queue.run('a', new AbortController().signal, async () => 'next')).toBe('next');
  });
});
