import { waitFor } from '@trunkline/testing';
import { afterEach, describe, expect, it, onTestFinished } from 'vitest';
import type { RawDocument } from '../document.ts';
import { ParserPool, type ParserPoolOptions } from './parser-pool.ts';

const script = new URL('../extraction-worker.ts', import.meta.url);
const nativeScript = new URL('./native.suite.ts', import.meta.url);
const threadScript = new URL('./thread-id.suite.ts', import.meta.url);
const MEGABYTE = 1024 * 1024;
const slow = '<div><p>Some words.</p></div>'.repeat(MEGABYTE / 4);
const large = '<i>a</i>'.repeat(MEGABYTE / 4);
const page = (html: string): RawDocument => ({ bytes: Buffer.from(html), type: 'text/html', name: 'page' });
const small = page('<main>Words.</main>');

let pool: ParserPool<RawDocument, unknown>;
const open = (options: Omit<ParserPoolOptions, 'script'>) => {
  pool = new ParserPool({ script, ...options });
};
afterEach(() => pool.stop());

describe('threads that parse pages', () => {
  it('end at their memory limit, in words, and the next page is read', async () => {
    open({ threads: 1, memoryMb: 32, timeoutMs: 600_000 });
    await expect(pool.run(page(large))).rejects.toThrow('takes too much memory to read');
    expect(await pool.run(small)).toMatchObject({ text: 'Words.' });
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

  it('take the pages of one owner and another by turns, and keep room in the queue for others', async () => {
    open({ threads: 1, queue: 6 });
    const order: string[] = [];
    const read = (owner: string) => pool.run(small, { owner }).then(() => order.push(owner), String);
    const given = ['ann', 'ann', 'ann', 'ann', 'ann', 'bob', 'bob'].map(read);
    expect(await given[4]).toContain('has to wait for too many others');
    await Promise.all(given);
    expect(order).toEqual(['ann', 'bob', 'ann', 'bob', 'ann', 'ann']);
  });

  it('let go of a page that nobody waits for, under way or not', async () => {
    open({ threads: 1, timeoutMs: 600_000 });
    const stop = new AbortController();
    const given = [page(slow), small].map((task) => pool.run(task, { signal: stop.signal }));
    stop.abort(new Error('enough'));
    expect(await Promise.allSettled(given)).toMatchObject([
      { reason: { message: 'enough' } },
      { reason: { message: 'enough' } },
    ]);
    expect(await pool.run(small)).toMatchObject({ text: 'Words.' });
    await expect(pool.run(small, { signal: stop.signal })).rejects.toThrow('enough');
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

  describe('of native code', () => {
    interface Told {
      pid: number;
      variables: string;
    }
    const openNative = (options: Partial<ParserPoolOptions> = {}) => {
      const own = new ParserPool<string, Told>({
        script: nativeScript,
        threads: 1,
        timeoutMs: 600_000,
        native: true,
        ...options,
      });
      onTestFinished(() => own.stop());
      return own;
    };

    it('are processes without the secrets of the service, which stay for the next task', async () => {
      const own = openNative();
      const { pid, variables } = await own.run('tell');
      expect(pid).not.toBe(process.pid);
      expect(variables).not.toContain('HOME=');
      expect((await own.run('tell')).pid).toBe(pid);
    });

    it('may crash: the task fails in words, and the next one is read', async () => {
      const own = openNative();
      await expect(own.run('crash')).rejects.toThrow(
        'cannot be read: the process that reads it ended with SIGKILL',
      );
      expect((await own.run('tell')).pid).toBeGreaterThan(0);
    });

    it('end at once when nobody waits, at their time limit and when the service stops', async () => {
      const own = openNative();
      const { pid } = await own.run('tell');
      const stop = new AbortController();
      const left = own.run('hang', { signal: stop.signal });
      stop.abort(new Error('enough'));
      await expect(left).rejects.toThrow('enough');
      const { pid: next } = await own.run('tell');
      expect(next).not.toBe(pid);
      const last = own.run('hang').catch(String);
      await own.stop();
      expect(await last).toContain('as the service stops');
      for (const gone of [pid, next]) expect(() => process.kill(gone, 0)).toThrow('ESRCH');
      await expect(openNative({ timeoutMs: 50 }).run('hang')).rejects.toThrow('takes longer than 50 ms');
    });
  });

  it.each([
    ['threads', false],
    ['processes', true],
  ])(
    'of %s may take longer than they work, as on a busy machine, but not without an end',
    async (_, native) => {
      const openOne = (timeoutMs: number) => {
        const own = new ParserPool<string, unknown>({ script: nativeScript, threads: 1, timeoutMs, native });
        onTestFinished(() => own.stop());
        return own;
      };
      expect(await openOne(1000).run('rest')).toMatchObject({ pid: expect.any(Number) });
      await expect(openOne(50).run('sleep')).rejects.toThrow('takes longer than 50 ms');
    },
  );

  it('fail what waits when the service stops', async () => {
    open({ threads: 1 });
    const given = [page(slow), small].map((task) => pool.run(task));
    const ended = Promise.allSettled(given);
    await pool.stop();
    expect((await ended).map(({ status }) => status)).toEqual(['rejected', 'rejected']);
    await expect(pool.run(small)).rejects.toThrow('as the service stops');
  });
});
