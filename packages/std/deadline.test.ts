import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { Deadline, formatDuration, TimeoutError, whenAborted, withTimeout } from './index.ts';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

it('fires with a timeout error when the time is up', () => {
  const deadline = new Deadline({ timeoutMs: 1000 });
  vi.advanceTimersByTime(999);
  expect(deadline.signal.aborted).toBe(false);
  vi.advanceTimersByTime(1);
  expect(deadline).toMatchObject({ isExpired: true, isAbortedByCaller: false });
  expect(deadline.signal.reason).toBeInstanceOf(TimeoutError);
  expect(deadline.signal.reason).toMatchObject({
    name: 'TimeoutError',
    message: 'not finished within 1 s',
  });
});

it("fires with the caller's reason, before or after it was made", () => {
  const caller = new AbortController();
  const deadline = new Deadline({ timeoutMs: 1000, signal: caller.signal });
  const reason = new Error('the caller left');
  caller.abort(reason);
  const late = new Deadline({ timeoutMs: 1000, signal: caller.signal });
  for (const { signal, isExpired, isAbortedByCaller } of [deadline, late])
    expect([signal.reason, isExpired, isAbortedByCaller]).toEqual([reason, false, true]);
  expect(vi.getTimerCount()).toBe(0);
});

it('starts its time again when it is extended, but never fires twice', () => {
  const deadline = new Deadline({ timeoutMs: 1000 });
  vi.advanceTimersByTime(900);
  deadline.extend();
  vi.advanceTimersByTime(900);
  expect(deadline.signal.aborted).toBe(false);
  deadline.abort();
  deadline.extend();
  expect(deadline.signal.reason).toMatchObject({ name: 'AbortError' });
  expect(deadline.isExpired).toBe(false);
  expect(vi.getTimerCount()).toBe(0);
});

it('does not take back an announced wait when there is progress meanwhile', () => {
  const deadline = new Deadline({ timeoutMs: 1000 });
  deadline.extend(5000);
  vi.advanceTimersByTime(100);
  deadline.extend();
  vi.advanceTimersByTime(5899);
  expect(deadline.signal.aborted).toBe(false);
  vi.advanceTimersByTime(1);
  expect(deadline.isExpired).toBe(true);
});

it('ends however often it is extended when all its time is up, and tells so', () => {
  const deadline = new Deadline({ timeoutMs: 1000, totalMs: 2500 });
  for (let round = 0; round < 3; round += 1) {
    vi.advanceTimersByTime(800);
    deadline.extend();
  }
  expect(deadline.signal.aborted).toBe(false);
  vi.advanceTimersByTime(100);
  expect(deadline).toMatchObject({ isExpired: true, isTotalExpired: true });
  expect(deadline.signal.reason).toMatchObject({ message: 'not finished within 2.5 s' });
  const silent = new Deadline({ timeoutMs: 1000, totalMs: 2500 });
  vi.advanceTimersByTime(1000);
  expect(silent).toMatchObject({ isExpired: true, isTotalExpired: false });
  expect(vi.getTimerCount()).toBe(0);
});

it('leaves nothing behind when it is cleared', () => {
  const caller = new AbortController();
  const deadline = new Deadline({ timeoutMs: 1000, signal: caller.signal });
  deadline.clear();
  caller.abort();
  vi.advanceTimersByTime(2000);
  expect(deadline.signal.aborted).toBe(false);
});

it('waits for limits that a timer cannot hold', () => {
  const deadline = new Deadline({ timeoutMs: Number.MAX_SAFE_INTEGER });
  vi.advanceTimersByTime(1000);
  expect(deadline.signal.aborted).toBe(false);
  deadline.clear();
});

it('takes its timers from a clock', () => {
  const timers: { delayMs: number; run: () => void }[] = [];
  const clock = {
    setTimer(delayMs: number, run: () => void) {
      timers.push({ delayMs, run });
      return { cancel: vi.fn() };
    },
  };
  const deadline = new Deadline({ timeoutMs: 50, clock });
  expect(timers[0]?.delayMs).toBe(50);
  timers[0]?.run();
  expect(deadline.isExpired).toBe(true);
});

it('gives what the work gives, or throws what it throws', async () => {
  await expect(withTimeout({ timeoutMs: 1000 }, async () => 'done')).resolves.toBe('done');
  const failing = withTimeout({ timeoutMs: 1000 }, () => Promise.reject(new Error('broken')));
  await expect(failing).rejects.toThrow('broken');
  expect(vi.getTimerCount()).toBe(0);
});

it('ends work that ignores its signal', async () => {
  const caller = new AbortController();
  const late = withTimeout({ timeoutMs: 1000 }, () => Promise.withResolvers().promise);
  const left = withTimeout({ timeoutMs: 1000, signal: caller.signal }, () => Promise.withResolvers().promise);
  const results = Promise.allSettled([late, left]);
  caller.abort('left');
  vi.advanceTimersByTime(1000);
  expect(await results).toEqual([
    { status: 'rejected', reason: expect.any(TimeoutError) },
    { status: 'rejected', reason: 'left' },
  ]);
});

it('does not start work for a caller who left', async () => {
  const work = vi.fn(async () => 'done');
  const run = withTimeout({ timeoutMs: 1000, signal: AbortSignal.abort('left') }, work);
  await expect(run).rejects.toBe('left');
  expect(work).not.toHaveBeenCalled();
});

it('waits for a signal, also one that has fired', async () => {
  await expect(whenAborted(AbortSignal.abort('early'))).rejects.toBe('early');
});

it.each([
  [0, '0 ms'],
  [999, '999 ms'],
  [1000, '1 s'],
  [1450, '1.5 s'],
  [10_000, '10 s'],
  [10_100, '11 s'],
  [120_000, '120 s'],
  [121_000, '3 minutes'],
  [7_200_000, '120 minutes'],
  [7_201_000, '3 hours'],
])('shows %i ms as %s', (milliseconds, text) => {
  expect(formatDuration(milliseconds)).toBe(text);
});
