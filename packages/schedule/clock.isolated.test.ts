import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { systemClock } from './wakeup.ts';

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

describe('systemClock', () => {
  it('waits for delays beyond 31 bits in steps', () => {
    const run = vi.fn();
    const delay = 3 * 2 ** 31 + 5;
    systemClock.setTimer(delay, run);
    vi.advanceTimersByTime(delay - 1);
    expect(run).not.toHaveBeenCalled();
    vi.advanceTimersByTime(1);
    expect(run).toHaveBeenCalledOnce();
    expect(vi.getTimerCount()).toBe(0);
  });

  it('can be cancelled at any step', () => {
    const run = vi.fn();
    const timer = systemClock.setTimer(2 ** 32, run);
    vi.advanceTimersByTime(2 ** 31 + 10);
    timer.cancel();
    expect(vi.getTimerCount()).toBe(0);
    vi.advanceTimersByTime(2 ** 32);
    expect(run).not.toHaveBeenCalled();
  });

  it('runs on the next turn of the event loop when there is no delay, unless cancelled', () => {
    const [run, cancelled] = [vi.fn(), vi.fn()];
    systemClock.setTimer(0, run);
    systemClock.setTimer(-5, cancelled).cancel();
    expect(run).not.toHaveBeenCalled();
    vi.advanceTimersByTime(0);
    expect(run).toHaveBeenCalledOnce();
    expect(cancelled).not.toHaveBeenCalled();
  });

  it('shows the time', () => {
    vi.setSystemTime('2026-01-01T00:00:00Z');
    expect(systemClock.now()).toBe(Date.parse('2026-01-01T00:00:00Z'));
  });
});
