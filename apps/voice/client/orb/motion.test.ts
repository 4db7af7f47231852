import { describe, expect, it } from 'vitest';
import { Motion } from './motion.ts';

const QUIET = { ear: 0, voice: 0 };

describe('the motion of the orb', () => {
  it('fades from one state into the other within 600 ms', () => {
    const motion = new Motion();
    motion.change('speaking', 1000);
    expect(motion.advance(1000, QUIET, 1).states).toEqual([1, 0, 0, 0]);
    const [idle, , , speaking] = motion.advance(1300, QUIET, 1).states;
    expect(idle).toBeCloseTo(0.5);
    expect(speaking).toBeCloseTo(0.5);
    expect(motion.advance(1600, QUIET, 1).states).toEqual([0, 0, 0, 1]);
  });

  it('goes on from where it is when the state changes again, and always adds up', () => {
    const motion = new Motion();
    motion.change('listening', 0);
    const before = motion.advance(200, QUIET, 1).states;
    motion.change('thinking', 200);
    expect(motion.advance(200, QUIET, 1).states).toEqual(before);
    for (let now = 200; now <= 800; now += 50) {
      const sum = motion.advance(now, QUIET, 1).states.reduce((total, share) => total + share, 0);
      expect(sum).toBeCloseTo(1);
    }
  });

  it('follows voices quickly up and slowly down', () => {
    const motion = new Motion();
    motion.advance(0, QUIET, 1);
    const up = motion.advance(50, { ear: 1, voice: 0 }, 1);
    expect(up.ear).toBeGreaterThan(0.6);
    expect(up.voice).toBe(0);
    expect(motion.advance(100, QUIET, 1).ear).toBeGreaterThan(up.ear * 0.7);
  });

  it('never lets its own time leap, and runs it faster in thought than at rest', () => {
    const resting = new Motion();
    const thinking = new Motion();
    thinking.change('thinking', 0);
    const pass = (motion: Motion) => {
      let last = motion.advance(0, QUIET, 1).time;
      for (let now = 100; now <= 3000; now += 100) last = motion.advance(now, QUIET, 1).time;
      return last;
    };
    expect(pass(thinking)).toBeGreaterThan(pass(resting) * 2);
    const before = resting.advance(3000, QUIET, 1).time;
    // A page that was out of view for an hour.
    expect(resting.advance(3_600_000, QUIET, 1).time - before).toBeLessThan(0.2);
  });

  it('is at rest only when idle, faded and quiet', () => {
    const motion = new Motion();
    motion.advance(0, QUIET, 1);
    expect(motion.isAtRest(0)).toBe(true);
    motion.change('listening', 0);
    motion.advance(5000, QUIET, 1);
    expect(motion.isAtRest(5000)).toBe(false);
    motion.change('idle', 5000);
    expect(motion.isAtRest(5300)).toBe(false);
    expect(motion.isAtRest(5700)).toBe(true);
  });
});
