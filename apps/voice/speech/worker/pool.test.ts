import { expect, it, onTestFinished } from 'vitest';
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
  await expect.poll(() => logged, { timeout: 60_000 }).toEqual(['failed to start another thread']);
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
  await expect.poll(alone, { interval: 20, timeout: 60_000 }).toBe(1);
});
