import { expect, it } from 'vitest';
import { LineCapacity } from './line-capacity.ts';

/** Two cores of which speech may take 70 %, and a clock that the test moves. */
function open(options: { maxCalls?: number; maxLoad?: number } = {}) {
  let at = 0;
  const lines = new LineCapacity({ maxCalls: 32, maxLoad: 0.7, cores: 2, now: () => at, ...options });
  /** Lets so many calls talk, each of which takes this share of a core. */
  const talk = (calls: number, share: number, seconds: number) => {
    lines.setCalls(calls);
    for (let second = 0; second < seconds; second += 1) {
      at += 1000;
      lines.worked(calls * share * 1000);
    }
  };
  return { lines, talk, pass: (ms: number) => (at += ms) };
}

it('takes MAX_CALLS until it knows what a call costs', () => {
  const { lines, talk } = open();
  expect(lines.capacity).toBe(32);
  talk(1, 0.5, 10);
  expect(lines.capacity).toBe(32);
});

it('takes as many calls as the machine serves, by what calls have cost', () => {
  const { lines, talk, pass } = open();
  talk(2, 0.34, 120);
  expect(lines.capacity).toBe(4);
  lines.setCalls(3);
  lines.admit();
  lines.setCalls(4);
  expect(() => lines.admit()).toThrow(/at most 4 callers/);
  // Known from then on, when nobody calls either.
  lines.setCalls(0);
  pass(3_600_000);
  expect(lines.capacity).toBe(4);
});

it('learns that calls cost less, and takes one call on any machine', () => {
  const { lines, talk } = open();
  talk(1, 3, 120);
  expect(lines.capacity).toBe(1);
  talk(1, 0.1, 600);
  expect(lines.capacity).toBe(13);
});

it('keeps to MAX_CALLS, and counts nothing else without a limit of load', () => {
  const [few, all] = [open({ maxCalls: 2 }), open({ maxLoad: 0 })];
  few.talk(1, 0.01, 120);
  all.talk(1, 3, 120);
  expect([few.lines.capacity, all.lines.capacity]).toEqual([2, 32]);
  few.lines.setCalls(2);
  expect(() => few.lines.admit()).toThrow('All 2 lines are in use.');
});

it('those who wait come before those who call, in their order, while they ask', () => {
  const { lines, pass } = open({ maxCalls: 1 });
  lines.setCalls(1);
  expect(lines.wait('ann')).toMatchObject({
    free: false,
    ahead: 0,
    reason: expect.stringContaining('All 1 lines'),
  });
  expect(lines.wait('bob')).toMatchObject({ free: false, ahead: 1 });
  lines.setCalls(0);
  expect(lines.wait('bob')).toMatchObject({ free: false, ahead: 1 });
  expect(() => lines.admit()).toThrow('kept for somebody who waits');
  expect(() => lines.admit('bob')).toThrow();
  expect(lines.wait('ann')).toEqual({ free: true, ahead: 0, reason: '' });
  lines.admit('ann');
  lines.setCalls(1);
  expect(lines.wait('bob')).toMatchObject({ free: false, ahead: 0 });
  lines.setCalls(0);
  // Bob's page is gone.
  pass(21_000);
  lines.admit();
});
