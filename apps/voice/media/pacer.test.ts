import { FakeClock } from '@trunkline/testing';
import { describe, expect, it } from 'vitest';
import { Pacer } from './paced-speaker.ts';

function createPacer() {
  const clock = new FakeClock(0);
  const state = { now: 0, overloads: 0, advanced: 0, rested: 0 };
  const pacer = new Pacer({
    clock,
    now: () => state.now,
    onOverload: () => {
      state.overloads += 1;
    },
  });
  const player = {
    advance: () => {
      state.advanced += 1;
    },
    rest: () => {
      state.rested += 1;
    },
  };
  /** Time passes for timers too. */
  const pass = async (ms: number) => {
    for (let passed = 0; passed < ms; passed += 20) {
      state.now += 20;
      await clock.advanceBy(20);
    }
  };
  return { pacer, player, state, clock, pass };
}

describe('the beat of all lines', () => {
  it('comes every 20 ms while there is a line', async () => {
    const { pacer, player, state, clock, pass } = createPacer();
    await pass(100);
    expect(state.advanced).toBe(0);
    const stop = pacer.add(player);
    await pass(200);
    expect(state.advanced).toBe(10);
    stop();
    await pass(200);
    expect(state.advanced).toBe(10);
    expect(clock.pendingTimers).toBe(0);
  });

  it('is kept by what comes in while timers do not run', () => {
    const { pacer, player, state } = createPacer();
    pacer.add(player);
    for (let frame = 0; frame < 50; frame += 1) {
      state.now += 10;
      pacer.nudge();
    }
    expect(state.advanced).toBe(25);
    expect(state).toMatchObject({ overloads: 0, rested: 0 });
  });

  it('lets lines rest when timers have not run for a second, so that they run again', async () => {
    const { pacer, player, state, pass } = createPacer();
    pacer.add(player);
    for (let frame = 0; frame < 150; frame += 1) {
      state.now += 10;
      pacer.nudge();
    }
    expect(state).toMatchObject({ overloads: 1, rested: 1 });
    await pass(2000);
    pacer.nudge();
    expect(state.overloads).toBe(1);
  });

  it('lets sound be sent further ahead after the machine has kept it waiting, and forgets that', async () => {
    const { pacer, player, state, pass } = createPacer();
    state.now = 5000;
    pacer.add(player);
    await pass(200);
    expect(pacer.leadMs).toBe(50);
    state.now += 70;
    pacer.nudge();
    expect(pacer.leadMs).toBe(90);
    await pass(4000);
    expect(pacer.leadMs).toBeCloseTo(70, 6);
    await pass(10_000);
    expect(pacer.leadMs).toBe(50);
    state.now += 900;
    pacer.nudge();
    expect(pacer.leadMs).toBe(150);
  });

  it('does not take the time between two calls for a wait', async () => {
    const { pacer, player, state, pass } = createPacer();
    const stop = pacer.add(player);
    await pass(100);
    stop();
    await pass(10_000);
    pacer.add(player);
    await pass(100);
    expect(pacer.leadMs).toBe(50);
    expect(state.advanced).toBe(10);
  });
});
