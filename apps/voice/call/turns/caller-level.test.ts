import { describe, expect, it } from 'vitest';
import { CallerLevel } from './caller-level.ts';

describe('how loud the caller is', () => {
  it('is not learnt from somebody further away', () => {
    const caller = new CallerLevel();
    for (const level of [-20, -35, -36, -21, -34, -35]) caller.learn(level);
    expect([caller.isFar(-35), caller.isFar(-22)]).toEqual([true, false]);
  });

  it('is not that of one loud turn', () => {
    const caller = new CallerLevel();
    for (const level of [-10, -23]) caller.learn(level);
    expect([caller.isFar(-24), caller.isFar(-36)]).toEqual([false, true]);
  });

  it('is learnt anew from a caller who has moved away', () => {
    const caller = new CallerLevel();
    for (const level of [-10, -10, -24, -25]) caller.learn(level);
    expect(caller.isFar(-25)).toBe(true);
    caller.learn(-25);
    expect([caller.isFar(-25), caller.isFar(-38)]).toEqual([false, true]);
  });
});
