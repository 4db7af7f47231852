import { describe, expect, it, onTestFinished } from 'vitest';
import { loggerInto } from '../speech.suite.ts';
import { WorkerHost, type WorkerHostOptions, type WorkOptions } from './host.ts';

/** Work of a caller that ends when it is told to. */
interface Held {
  release(): void;
  result: Promise<unknown>;
}

function start(threads: number, options: Partial<WorkerHostOptions> = {}) {
  const logged: string[] = [];
  const host = new WorkerHost({
    name: 'the test',
    script: new URL('./fixtures/obedient-worker.ts', import.meta.url),
    threads,
    logger: loggerInto(logged),
    ...options,
  });
  onTestFinished(() => host.close());
  const echo = (value: number, options: WorkOptions = {}) => host.ask({ do: 'echo', value }, options);
  const hold = (options: WorkOptions = {}): Held => {
    const controller = new AbortController();
    const result = host.ask({ do: 'listen' }, { ...options, signal: controller.signal });
    result.catch(() => undefined);
    return { release: () => controller.abort(new Error('released')), result };
  };
  return { host, echo, hold, logged };
}

it('callers take turns: one with much to do does not make another wait for all of it', async () => {
  const { echo, hold } = start(1);
  const running = hold({ caller: 'ann' });
  const order: string[] = [];
  const note = (name: string, options: WorkOptions) => echo(1, options).then(() => order.push(name));
  const done = Promise.all([
    ...['ann 1', 'ann 2', 'ann 3'].map((name) => note(name, { caller: 'ann' })),
    note('bob 1', { caller: 'bob' }),
    note('bob 2', { caller: 'bob' }),
    note('cleo 1', { caller: 'cleo' }),
    note('ann urgent', { caller: 'ann', urgent: true }),
  ]);
  running.release();
  await done;
  expect(order).toEqual(['ann urgent', 'bob 1', 'cleo 1', 'ann 1', 'bob 2', 'ann 2', 'ann 3']);
});

it('a guess that runs is stopped for work that somebody waits for', async () => {
  const { echo, hold } = start(1);
  const guess = hold({ caller: 'ann', droppable: true });
  const final = echo(7, { caller: 'bob', urgent: true });
  await expect(guess.result).rejects.toMatchObject({ code: 'dropped' });
  expect(await final).toBe(7);
});

it('guesses wait behind all other work, and an older one is dropped for a newer one', async () => {
  const { echo, hold } = start(1);
  const running = hold({ caller: 'ann' });
  const order: string[] = [];
  const note = (name: string, options: WorkOptions) =>
    echo(1, options).then(
      () => order.push(name),
      (error: { code: string }) => order.push(`${name} ${error.code}`),
    );
  const done = Promise.all([
    note('guess of bob', { caller: 'bob', droppable: true }),
    note('guess of cleo', { caller: 'cleo', droppable: true }),
    note('final', { caller: 'ann', urgent: true }),
    note('later', { caller: 'ann' }),
  ]);
  running.release();
  await done;
  expect(order).toEqual(['guess of bob dropped', 'final', 'later', 'guess of cleo']);
});

it('another thread starts when work waits, and loads its model first', async () => {
  const { host, echo, hold } = start(2, { warmUp: [{ do: 'echo', value: 0 }] });
  expect(await echo(1)).toBe(1);
  const first = hold();
  const guess = echo(3, { droppable: true });
  expect(host.threads).toBe(1);
  // The first thread is taken as long as the test lasts.
  expect(await echo(2)).toBe(2);
  expect(host.threads).toBe(2);
  expect(await guess).toBe(3);
  first.release();
});

it('a caller alone gets no second thread', async () => {
  const { host, echo, hold } = start(2);
  expect(await echo(1, { caller: 'ann' })).toBe(1);
  const first = hold({ caller: 'ann' });
  const second = echo(2, { caller: 'ann' });
  expect(host.threads).toBe(1);
  first.release();
  expect([await second, host.threads]).toEqual([2, 1]);
});

it('a thread that cannot load its model is given up, is not tried again at once, and the first does the work', async () => {
  const { host, echo, hold, logged } = start(2, { warmUp: [{ do: 'fail' }] });
  expect(await echo(1)).toBe(1);
  const first = hold();
  const waiting = echo(2);
  await expect.poll(() => logged).toEqual(['failed to start another thread']);
  // As long as another attempt would take.
  expect(await start(1).echo(8)).toBe(8);
  expect(logged).toEqual(['failed to start another thread']);
  const later = [echo(3), echo(4)];
  first.release();
  expect([await waiting, ...(await Promise.all(later))]).toEqual([2, 3, 4]);
  expect(logged).toEqual(['failed to start another thread']);
  expect(host.threads).toBe(1);
});

it('a thread that has nothing to do ends, while another works on', async () => {
  const { host, echo, hold } = start(2, { idleMs: 300 });
  expect(await echo(1)).toBe(1);
  const first = hold({ caller: 'ann' });
  // The first thread is taken.
  expect(await echo(2, { caller: 'bob' })).toBe(2);
  expect(host.threads).toBe(2);
  first.release();
  const alone = async () => {
    await echo(3, { caller: 'ann' });
    return host.threads;
  };
  await expect.poll(alone, { interval: 20 }).toBe(1);
});

describe('host', () => {
  /** What the worker of these tests can be told to do. */
  type Work = { do: 'echo' | 'work' | 'fail' | 'crash' | 'exit' | 'stick' | 'listen'; value?: number };

  function start(options: Partial<WorkerHostOptions> = {}) {
    const logged: string[] = [];
    const host = new WorkerHost({
      name: 'the test',
      script: new URL('./fixtures/obedient-worker.ts', import.meta.url),
      maxWaiting: 5,
      timeoutMs: 60_000,
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
});
