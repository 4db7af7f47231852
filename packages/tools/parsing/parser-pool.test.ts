import { waitFor } from '@trunkline/testing';
import { afterEach, describe, expect, it, onTestFinished } from 'vitest';
import type { PageTask } from './page-worker.ts';
import { ParserPool, type ParserPoolOptions } from './parser-pool.ts';

const script = new URL('./page-worker.ts', import.meta.url);
const nativeScript = new URL('./alone.suite.ts', import.meta.url);
const threadScript = new URL('./thread-id.suite.ts', import.meta.url);
const MEGABYTE = 1024 * 1024;
/** Every end tag looks through all open elements: 2 MB take seconds. */
const slow = `${'<div>'.repeat(1900)}${'</p>'.repeat(MEGABYTE / 2)}`;
const large = '<i>a</i>'.repeat(MEGABYTE / 4);
const page = (html: string): PageTask => ({ kind: 'html', input: html });
const small = page('<main>Words.</main>');

let pool: ParserPool<PageTask, unknown>;
const open = (options: Omit<ParserPoolOptions, 'script'>) => {
  pool = new ParserPool({ script, ...options });
};
afterEach(() => pool.stop());

describe('threads that parse pages', () => {
  it('end at their memory limit, in words, and the next page is read', async () => {
    open({ threads: 1, memoryMb: 32 });
    await expect(pool.run(page(large))).rejects.toThrow('takes too much memory to read');
    expect(await pool.run(small)).toEqual({ text: 'Words.' });
  });

  it('end at their time limit, in words', async () => {
    open({ threads: 1, timeoutMs: 100 });
    await expect(pool.run(page(slow))).rejects.toThrow('takes longer than 100 ms to read');
  });

  it('are at most as many as allowed: other pages wait, and those beyond the queue are refused', async () => {
    open({ threads: 1, queue: 1 });
    const results = await Promise.allSettled([1, 2, 3].map(() => pool.run(small)));
    expect(results.map(({ status }) => status)).toEqual(['fulfilled', 'fulfilled', 'rejected']);
  });

  it('let go of a page that nobody waits for, under way or not', async () => {
    open({ threads: 1, timeoutMs: 600_000 });
    const stop = new AbortController();
    const given = [page(slow), small].map((task) => pool.run(task, stop.signal));
    stop.abort(new Error('enough'));
    expect(await Promise.allSettled(given)).toMatchObject([
      { reason: { message: 'enough' } },
      { reason: { message: 'enough' } },
    ]);
    expect(await pool.run(small)).toEqual({ text: 'Words.' });
    await expect(pool.run(small, stop.signal)).rejects.toThrow('enough');
  });

  it('stay for the next page, and end when none comes for a while', async () => {
    const threads = (idleMs: number) => {
      const own = new ParserPool<string, number>({ script: threadScript, threads: 1, idleMs });
      onTestFinished(() => own.stop());
      return () => own.run('');
    };
    const resting = threads(600_000);
    expect(await resting()).toBe(await resting());
    const ending = threads(0);
    const first = await ending();
    await waitFor(async () => (await ending()) !== first);
  });

  it('of native code end with their reply, and none starts beside one that is ending', async () => {
    const own = new ParserPool<object, number>({ script: nativeScript, threads: 1, native: true });
    onTestFinished(() => own.stop());
    const atWork = new Int32Array(new SharedArrayBuffer(4));
    const stop = new AbortController();
    const left = own.run({ atWork, slow: true }, stop.signal);
    const next = own.run({ atWork, slow: false });
    await waitFor(() => Atomics.load(atWork, 0) === 1);
    stop.abort(new Error('enough'));
    await expect(left).rejects.toThrow('enough');
    expect(await next).toBe(1);
  });

  it('fail what waits when the service stops', async () => {
    open({ threads: 1 });
    const given = [page(slow), small].map((task) => pool.run(task));
    const ended = Promise.allSettled(given);
    await pool.stop();
    expect((await ended).map(({ status }) => status)).toEqual(['rejected', 'rejected']);
    await expect(pool.run(small)).rejects.toThrow('as the service stops');
  });
});
