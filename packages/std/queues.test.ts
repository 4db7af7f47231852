import { afterEach, describe, expect, it, vi } from 'vitest';
import { ConcurrencyLimiter, KeyedQueue, Mutex, QueueFullError, TimeoutError } from './index.ts';

/** A task that ends by hand, and the log of what started. */
function tasks() {
  const started: string[] = [];
  const ends = new Map<string, PromiseWithResolvers<string>>();
  const task = (name: string) => () => {
    started.push(name);
    const end = Promise.withResolvers<string>();
    ends.set(name, end);
    return end.promise;
  };
  const end = async (name: string) => {
    await settle();
    ends.get(name)?.resolve(name);
    await settle();
  };
  return { started, task, end };
}

const settle = async () => {
  for (let step = 0; step < 20; step += 1) await Promise.resolve();
};

afterEach(() => void vi.useRealTimers());

describe('ConcurrencyLimiter', () => {
  it('runs so many at once, the others in the order in which they came', async () => {
    const limiter = new ConcurrencyLimiter({ limit: 2 });
    const { started, task, end } = tasks();
    const all = ['a', 'b', 'c', 'd'].map((name) => limiter.run(task(name)));
    await settle();
    expect(started).toEqual(['a', 'b']);
    expect(limiter).toMatchObject({ running: 2, waiting: 2, isFull: true, isIdle: false });
    await end('b');
    await end('a');
    expect(started).toEqual(['a', 'b', 'c', 'd']);
    await end('c');
    await end('d');
    expect(await Promise.all(all)).toEqual(['a', 'b', 'c', 'd']);
    expect(limiter).toMatchObject({ running: 0, waiting: 0, isIdle: true });
  });

  it('goes on after a failure, thrown at once or later', async () => {
    const limiter = new ConcurrencyLimiter({ limit: 1 });
    const thrown = limiter.run(() => {
      throw new Error('at once');
    });
    const rejected = limiter.run(() => Promise.reject(new Error('later')));
    await expect(thrown).rejects.toThrow('at once');
    await expect(rejected).rejects.toThrow('later');
    await expect(limiter.run(() => 'fine')).resolves.toBe('fine');
  });

  it('rejects whoever comes when too many wait', async () => {
    const limiter = new ConcurrencyLimiter({ limit: 1, maxWaiting: 1 });
    const { task, end } = tasks();
    const first = limiter.run(task('a'));
    const second = limiter.run(task('b'));
    await expect(limiter.run(task('c'))).rejects.toThrow(QueueFullError);
    await expect(limiter.run(task('c'))).rejects.toThrow('1 run and 1 wait already; try again later');
    await end('a');
    await end('b');
    expect(await Promise.all([first, second])).toEqual(['a', 'b']);
  });

  it('forgets a waiter whose signal fires, and refuses one whose signal has fired', async () => {
    const limiter = new ConcurrencyLimiter({ limit: 1 });
    const { started, task, end } = tasks();
    const caller = new AbortController();
    const first = limiter.run(task('a'));
    const gone = limiter.run(task('b'), { signal: caller.signal });
    const last = limiter.run(task('c'));
    caller.abort('left');
    await expect(gone).rejects.toBe('left');
    await expect(limiter.run(task('d'), { signal: caller.signal })).rejects.toBe('left');
    expect(limiter.waiting).toBe(1);
    await end('a');
    await end('c');
    expect(await Promise.all([first, last])).toEqual(['a', 'c']);
    expect(started).toEqual(['a', 'c']);
  });

  it('lets a waiter give up after its time', async () => {
    vi.useFakeTimers();
    const limiter = new ConcurrencyLimiter({ limit: 1 });
    const slot = await limiter.acquire();
    const late = expect(limiter.acquire({ timeoutMs: 500 })).rejects.toThrow(TimeoutError);
    vi.advanceTimersByTime(500);
    await late;
    const early = limiter.acquire({ timeoutMs: 500 });
    slot.release();
    (await early).release();
    expect(vi.getTimerCount()).toBe(0);
    expect(limiter.isIdle).toBe(true);
  });

  it('counts a slot that is released twice once', async () => {
    const limiter = new ConcurrencyLimiter({ limit: 1 });
    const slot = await limiter.acquire();
    slot.release();
    slot.release();
    expect(limiter.running).toBe(0);
  });

  it('gives a free slot at once, and none where all are taken', async () => {
    const limiter = new ConcurrencyLimiter({ limit: 1 });
    const slot = limiter.tryAcquire();
    expect(slot).toBeDefined();
    expect(limiter.tryAcquire()).toBeUndefined();
    const waiting = limiter.acquire();
    slot?.release();
    expect(limiter.tryAcquire()).toBeUndefined();
    (await waiting).release();
    expect(limiter.isIdle).toBe(true);
  });

  it('knows no limit where it is infinite', async () => {
    const limiter = new ConcurrencyLimiter({ limit: Number.POSITIVE_INFINITY });
    await Promise.all(Array.from({ length: 100 }, () => limiter.acquire()));
    expect(limiter).toMatchObject({ running: 100, isFull: false });
  });

  it('tells when nothing runs and nothing waits', async () => {
    const limiter = new ConcurrencyLimiter({ limit: 1 });
    await limiter.idle();
    const { task, end } = tasks();
    void limiter.run(task('a'));
    void limiter.run(task('b'));
    const isIdle = vi.fn();
    const idle = limiter.idle().then(isIdle);
    await end('a');
    expect(isIdle).not.toHaveBeenCalled();
    await end('b');
    await idle;
  });
});

describe('a slot that is lent', () => {
  it('serves others meanwhile, and its holder comes back before all newcomers', async () => {
    const limiter = new ConcurrencyLimiter({ limit: 1 });
    const { started, task, end } = tasks();
    const slot = await limiter.acquire();
    const lent = slot.lend(task('wait'));
    const other = limiter.run(task('other'));
    const newcomer = limiter.run(task('newcomer'));
    await settle();
    expect(started).toEqual(['wait', 'other']);
    await end('wait');
    await end('other');
    expect(await lent).toBe('wait');
    expect(started).toEqual(['wait', 'other']);
    slot.release();
    await settle();
    await end('newcomer');
    expect(await Promise.all([other, newcomer])).toEqual(['other', 'newcomer']);
    expect(limiter.isIdle).toBe(true);
  });

  it('is taken again when the last of several waits has ended', async () => {
    const limiter = new ConcurrencyLimiter({ limit: 1 });
    const { task, end } = tasks();
    const slot = await limiter.acquire();
    const lends = [slot.lend(task('a')), slot.lend(task('b'))];
    await end('a');
    expect(limiter.running).toBe(0);
    await end('b');
    await Promise.all(lends);
    expect(limiter.running).toBe(1);
    slot.release();
    expect(limiter.running).toBe(0);
  });

  it('is exceeded by a holder whose signal fires while others use it', async () => {
    const limiter = new ConcurrencyLimiter({ limit: 1 });
    const { started, task, end } = tasks();
    const caller = new AbortController();
    const slot = await limiter.acquire();
    const lent = slot.lend(task('wait'), caller.signal);
    const other = limiter.run(task('other'));
    const next = limiter.run(task('next'));
    await end('wait');
    caller.abort();
    expect(await lent).toBe('wait');
    expect(limiter.running).toBe(2);
    await end('other');
    expect(started).toEqual(['wait', 'other']);
    slot.release();
    await settle();
    await end('next');
    await Promise.all([other, next]);
    expect(limiter.isIdle).toBe(true);
  });

  it('does not come back once it was released', async () => {
    const limiter = new ConcurrencyLimiter({ limit: 1 });
    const { task, end } = tasks();
    const slot = await limiter.acquire();
    const lent = slot.lend(task('wait'));
    const other = limiter.run(task('other'));
    await end('wait');
    slot.release();
    await lent;
    expect(limiter).toMatchObject({ running: 1, waiting: 0 });
    await end('other');
    await other;
    expect(limiter.isIdle).toBe(true);
  });
});

it('runs one at a time in a mutex, within its bound', async () => {
  const mutex = new Mutex({ maxWaiting: 1 });
  const { started, task, end } = tasks();
  const all = [mutex.run(task('a')), mutex.run(task('b'))];
  await expect(mutex.run(task('c'))).rejects.toThrow(QueueFullError);
  expect(started).toEqual(['a']);
  await end('a');
  await end('b');
  expect(await Promise.all(all)).toEqual(['a', 'b']);
});

describe('KeyedQueue', () => {
  it('keeps the order of a key while other keys go on', async () => {
    const queue = new KeyedQueue();
    const { started, task, end } = tasks();
    const all = [queue.run('x', task('x1')), queue.run('x', task('x2')), queue.run('y', task('y1'))];
    await settle();
    expect(started).toEqual(['x1', 'y1']);
    expect([queue.size, queue.running('x'), queue.waiting('x'), queue.waiting('z')]).toEqual([2, 1, 1, 0]);
    await end('x1');
    expect(started).toEqual(['x1', 'y1', 'x2']);
    await end('x2');
    await end('y1');
    await Promise.all(all);
    expect(queue.size).toBe(0);
  });

  it('goes on after a failure', async () => {
    const queue = new KeyedQueue();
    await expect(queue.run('x', () => Promise.reject(new Error('broken')))).rejects.toThrow('broken');
    await expect(queue.run('x', () => 'fine')).resolves.toBe('fine');
  });

  it('bounds each key alone, and runs several of one where it may', async () => {
    const queue = new KeyedQueue({ limit: 2, maxWaiting: 0 });
    const ends = [await queue.acquire('x'), await queue.acquire('x'), await queue.acquire('y')];
    await expect(queue.acquire('x')).rejects.toThrow(QueueFullError);
    for (const release of ends) release();
    expect(queue.size).toBe(0);
  });

  it('lets a waiter leave, and keeps no key for it', async () => {
    const queue = new KeyedQueue();
    const caller = new AbortController();
    const release = await queue.acquire('x');
    const gone = queue.run('x', () => 'never', { signal: caller.signal });
    caller.abort('left');
    await expect(gone).rejects.toBe('left');
    release();
    expect(queue.size).toBe(0);
    await expect(queue.run('x', () => 'never', { signal: caller.signal })).rejects.toBe('left');
    expect(queue.size).toBe(0);
  });

  it('tells when no key has work', async () => {
    const queue = new KeyedQueue();
    await queue.idle();
    const { task, end } = tasks();
    void queue.run('x', task('x1'));
    const isIdle = vi.fn();
    const idle = queue.idle().then(isIdle);
    await settle();
    void queue.run('y', task('y1'));
    await end('x1');
    expect(isIdle).not.toHaveBeenCalled();
    await end('y1');
    await idle;
  });
});
