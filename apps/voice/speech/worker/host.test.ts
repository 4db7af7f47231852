import { describe, expect, it, onTestFinished } from 'vitest';
import { loggerInto } from '../speech.suite.ts';
import { WorkerHost, type WorkerHostOptions } from './host.ts';

/** What the worker of these tests can be told to do. */
type Work = { do: 'echo' | 'work' | 'fail' | 'crash' | 'exit' | 'stick' | 'listen'; value?: number };

function start(options: Partial<WorkerHostOptions> = {}) {
  const logged: string[] = [];
  const host = new WorkerHost({
    name: 'the test',
    script: new URL('./fixtures/obedient-worker.ts', import.meta.url),
    maxWaiting: 5,
    timeoutMs: 20_000,
    logger: loggerInto(logged),
    ...options,
  });
  onTestFinished(() => host.close());
  return { host, logged, ask: (work: Work, more = {}) => host.ask(work, more) };
}

describe('a worker', () => {
  it('answers', async () => {
    const { ask } = start();
    expect(await ask({ do: 'echo', value: 7 })).toBe(7);
  });

  it('reports what work for calls took: no loading, and nothing else', async () => {
    const worked: number[] = [];
    const { ask } = start({ onWorked: (ms) => worked.push(ms) });
    await ask({ do: 'work', value: 7 }, { caller: 'ann' });
    await ask({ do: 'work', value: 800 });
    await expect(ask({ do: 'exit' }, { caller: 'ann' })).rejects.toThrow();
    await ask({ do: 'work', value: 9 }, { caller: 'bob' });
    expect(worked).toEqual([7, 9]);
  });

  it('that works for calls alone reports all of it', async () => {
    const worked: number[] = [];
    const { ask } = start({ servesOnlyCalls: true, onWorked: (ms) => worked.push(ms) });
    await ask({ do: 'work', value: 5 });
    expect(worked).toEqual([5]);
  });

  it('that is released works again when it is needed, and loses no work that runs', async () => {
    const { host, ask, logged } = start();
    expect(await ask({ do: 'echo', value: 1 })).toBe(1);
    await host.release();
    const running = ask({ do: 'echo', value: 2 });
    await host.release();
    expect([await running, logged]).toEqual([2, []]);
  });

  it('works one piece after the other, urgent ones first', async () => {
    const { ask } = start();
    const order: string[] = [];
    const note = (name: string, urgent: boolean) =>
      ask({ do: 'echo', value: 1 }, { urgent }).then(() => order.push(name));
    await Promise.all([
      note('running', false),
      note('later', false),
      note('first', true),
      note('second', true),
    ]);
    expect(order).toEqual(['running', 'first', 'second', 'later']);
  });

  it('is told to stop by a signal', async () => {
    const { ask } = start();
    const controller = new AbortController();
    const listening = ask({ do: 'listen' }, { signal: controller.signal });
    controller.abort(new Error('changed my mind'));
    await expect(listening).rejects.toThrow('changed my mind');
    expect(await ask({ do: 'echo', value: 1 })).toBe(1);
    await expect(ask({ do: 'echo' }, { signal: AbortSignal.abort(new Error('too late')) })).rejects.toThrow(
      'too late',
    );
  });

  it('hands on errors in their words', async () => {
    const { ask } = start();
    await expect(ask({ do: 'fail' })).rejects.toMatchObject({ code: 'missing', message: 'not there' });
  });

  it.each(['crash', 'exit'] as const)(
    'that dies (%s) fails what it did, and is there again for the rest',
    async (how) => {
      const { ask, logged } = start();
      const [dead, next] = await Promise.allSettled([ask({ do: how }), ask({ do: 'echo', value: 5 })]);
      expect(dead).toMatchObject({ status: 'rejected', reason: { code: 'crashed' } });
      expect(next).toEqual({ status: 'fulfilled', value: 5 });
      expect(logged).toEqual(['speech worker died; it restarts when it is needed']);
    },
  );

  it('that is stuck is given up, and another is there for the rest', async () => {
    const worked: number[] = [];
    const { ask } = start({ timeoutMs: 4000, onWorked: (ms) => worked.push(ms) });
    const sticking = ask({ do: 'stick' }, { caller: 'ann' });
    const [stuck, next] = await Promise.allSettled([sticking, ask({ do: 'echo', value: 5 })]);
    expect(worked).toEqual([]);
    expect(stuck).toMatchObject({ status: 'rejected', reason: { code: 'timeout' } });
    expect(next).toEqual({ status: 'fulfilled', value: 5 });
  });

  it('refuses more than may wait', async () => {
    const { ask } = start({ maxWaiting: 1 });
    const controller = new AbortController();
    const { signal } = controller;
    const running = ask({ do: 'listen' }, { signal });
    const waiting = ask({ do: 'listen' }, { signal });
    await expect(ask({ do: 'echo' })).rejects.toMatchObject({ code: 'busy' });
    controller.abort();
    await Promise.allSettled([running, waiting]);
  });

  it('fails what waits when it is closed, and takes nothing more', async () => {
    const { host, ask } = start();
    const asked = Promise.allSettled([ask({ do: 'listen' }), ask({ do: 'echo' })]);
    await host.close();
    for (const outcome of await asked) expect(outcome).toMatchObject({ reason: { code: 'closed' } });
    await expect(ask({ do: 'echo' })).rejects.toMatchObject({ code: 'closed' });
  });

  it('is not cut off in the middle of its work when it is closed', async () => {
    const { host, ask } = start();
    await ask({ do: 'echo' });
    const listening = ask({ do: 'listen' });
    const waiting = ask({ do: 'echo', value: 1 });
    await Promise.all([
      host.close(),
      expect(listening).rejects.toThrow('is closed'),
      expect(waiting).rejects.toThrow('is closed'),
    ]);
    await expect(ask({ do: 'echo' })).rejects.toThrow('is closed');
  });
});
