import { describe, expect, it } from 'vitest';
import { FakeClock } from './clock.ts';

const start = Date.parse('2026-01-01T00:00:00Z');

describe('FakeClock', () => {
  it('starts at a time given as text or number and stands still', () => {
    expect(new FakeClock('2026-01-01T00:00:00Z').now()).toBe(start);
    expect(new FakeClock(start).now()).toBe(start);
  });

  it('runs due timers in order, each at its own time', async () => {
    const clock = new FakeClock(start);
    const seen: [string, number][] = [];
    const note = (name: string) => () => void seen.push([name, clock.now() - start]);
    clock.setTimer(300, note('late'));
    clock.setTimer(100, note('early'));
    clock.setTimer(100, note('early too'));
    clock.setTimer(301, note('not yet'));
    await clock.advanceBy(300);
    expect(seen).toEqual([
      ['early', 100],
      ['early too', 100],
      ['late', 300],
    ]);
    expect(clock.now()).toBe(start + 300);
    expect(clock.pendingTimers).toBe(1);
  });

  it('runs timers that timers set, when they fall into the span', async () => {
    const clock = new FakeClock(start);
    const seen: number[] = [];
    const every = () => {
      seen.push(clock.now() - start);
      clock.setTimer(10, every);
    };
    clock.setTimer(10, every);
    await clock.advanceBy(35);
    expect(seen).toEqual([10, 20, 30]);
  });

  it('lets the work of one timer settle before the next', async () => {
    const clock = new FakeClock(start);
    const seen: string[] = [];
    clock.setTimer(1, () => {
      void (async () => {
        for (let step = 0; step < 20; step += 1) await Promise.resolve();
        seen.push('first');
      })();
    });
    clock.setTimer(2, () => void seen.push('second'));
    await clock.advanceBy(2);
    expect(seen).toEqual(['first', 'second']);
  });

  it('does not run what was cancelled', async () => {
    const clock = new FakeClock(start);
    const seen: string[] = [];
    const timer = clock.setTimer(5, () => void seen.push('cancelled'));
    clock.setTimer(1, () => timer.cancel());
    await clock.advanceBy(10);
    expect(seen).toEqual([]);
    expect(clock.pendingTimers).toBe(0);
  });

  it('advances to a time, and refuses to go back', async () => {
    const clock = new FakeClock(start);
    await clock.advanceTo('2026-01-01T01:00:00Z');
    expect(clock.now()).toBe(start + 3_600_000);
    await expect(clock.advanceTo(start)).rejects.toThrow(/cannot be advanced/);
    await expect(clock.advanceTo('nonsense')).rejects.toThrow(/nonsense/);
  });

  it('jumps without timers coming nearer', async () => {
    const clock = new FakeClock(start);
    const seen: number[] = [];
    clock.setTimer(100, () => void seen.push(clock.now() - start));
    clock.jumpBy(5000);
    await clock.advanceBy(99);
    expect(seen).toEqual([]);
    clock.jumpBy(-1000);
    await clock.advanceBy(1);
    expect(seen).toEqual([4100]);
  });
});
