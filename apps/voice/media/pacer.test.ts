import { FakeClock } from '@trunkline/testing';
import { describe, expect, it } from 'vitest';
import type { AudioFrame } from '../speech/audio/samples.ts';
import { PacedSpeaker, Pacer } from './paced-speaker.ts';

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

/** A speaker on a line that is open, with time that the test moves. */
function createSpeaker(leadMs = 50) {
  const sent: AudioFrame[] = [];
  const state = { time: 1000, late: 0, overflows: 0, started: 0, drained: 0 };
  const speaker = new PacedSpeaker({
    send: (frame) => sent.push(frame),
    now: () => state.time,
    leadMs: () => leadMs,
    onLate: (frames) => {
      state.late += frames;
    },
    onOverflow: () => {
      state.overflows += 1;
    },
  });
  speaker.onStarted(() => {
    state.started += 1;
  });
  speaker.onDrained(() => {
    state.drained += 1;
  });
  speaker.open();
  const sounding = () => sent.filter(({ samples }) => samples.some((sample) => sample !== 0));
  /** Lets time pass in the steps of the timer. */
  const pass = (ms: number, step = 20) => {
    for (let passed = 0; passed < ms; passed += step) {
      state.time += step;
      speaker.advance();
    }
  };
  return { speaker, sent, sounding, state, pass };
}

const sound = (ms: number, sampleRate = 24_000): AudioFrame => ({
  samples: new Int16Array((sampleRate * ms) / 1000).fill(1000),
  sampleRate,
});

describe('paced output', () => {
  it('sends silence in step with time while nothing is said', () => {
    const { sent, sounding, pass, speaker } = createSpeaker();
    pass(1000);
    expect(sent.length).toBeGreaterThanOrEqual(100);
    expect(sent.length).toBeLessThanOrEqual(101);
    expect(sounding()).toEqual([]);
    expect(speaker.playedMs).toBe(0);
  });

  it('starts at once and stays less than 60 ms ahead, so that it can be cut', () => {
    const { speaker, sounding, pass, state } = createSpeaker();
    pass(200);
    const begun = state.time;
    speaker.enqueue(sound(5000));
    expect(state.started).toBe(1);
    expect(sounding().length).toBeGreaterThan(0);
    for (let turn = 0; turn < 100; turn += 1) {
      pass(20);
      const ahead = speaker.playedMs - (state.time - begun);
      expect(ahead).toBeGreaterThan(0);
      expect(ahead).toBeLessThanOrEqual(60);
    }
    expect(state.late).toBe(0);
  });

  it.each([8000, 16_000, 24_000, 44_100, 48_000])('cuts %i Hz into frames of exactly 10 ms', (rate) => {
    const { speaker, sounding, pass } = createSpeaker();
    for (let piece = 0; piece < 7; piece += 1) speaker.enqueue(sound(13, rate));
    pass(400);
    expect(sounding().every(({ samples }) => samples.length === rate / 100)).toBe(true);
    expect(sounding().every(({ sampleRate }) => sampleRate === rate)).toBe(true);
    expect(sounding().length).toBe(10);
  });

  it('puts pieces that come in time together without a gap', () => {
    const { speaker, sent, sounding, pass } = createSpeaker();
    for (let piece = 0; piece < 30; piece += 1) {
      speaker.enqueue(sound(35));
      pass(20);
    }
    pass(1000);
    const first = sent.indexOf(sounding()[0] as AudioFrame);
    const whole = sent.slice(first, first + 105).every(({ samples }) => !samples.includes(0));
    expect(whole).toBe(true);
    expect(speaker.playedMs).toBeCloseTo(1050, 6);
  });

  it.each([22_050, 88_200, 96_000])('brings %i Hz, which a line cannot take, to 48 kHz', (rate) => {
    const { speaker, sounding, pass } = createSpeaker();
    speaker.enqueue(sound(500, rate));
    pass(800);
    expect(new Set(sounding().map(({ sampleRate, samples }) => `${sampleRate}/${samples.length}`))).toEqual(
      new Set(['48000/480']),
    );
    expect(speaker.playedMs).toBeGreaterThan(495);
    expect(speaker.playedMs).toBeLessThanOrEqual(500);
  });

  it('counts as played what was sound, not what filled the last frame', () => {
    const { speaker, pass, state } = createSpeaker();
    speaker.enqueue(sound(25));
    expect(speaker.queuedMs + speaker.playedMs).toBeCloseTo(25, 6);
    pass(100);
    expect(speaker.playedMs).toBeCloseTo(25, 6);
    expect(speaker.queuedMs).toBe(0);
    expect(state).toMatchObject({ started: 1, drained: 1 });
    speaker.enqueue(sound(30));
    pass(100);
    expect(speaker.playedMs).toBeCloseTo(55, 6);
    expect(state).toMatchObject({ started: 2, drained: 2 });
  });

  it('plays sounds of several rates one after the other', () => {
    const { speaker, sounding, pass } = createSpeaker();
    speaker.enqueue(sound(30, 24_000));
    speaker.enqueue(sound(30, 44_100));
    pass(200);
    expect(sounding().map(({ sampleRate }) => sampleRate)).toEqual([
      24_000, 24_000, 24_000, 44_100, 44_100, 44_100,
    ]);
  });

  it('pauses and goes on where it was', () => {
    const { speaker, sounding, pass, state } = createSpeaker();
    speaker.enqueue(sound(1000));
    pass(200);
    speaker.pause();
    const [played, frames] = [speaker.playedMs, sounding().length];
    pass(500);
    expect(sounding().length).toBe(frames);
    expect(speaker.playedMs).toBe(played);
    speaker.resume();
    pass(1000);
    expect(speaker.playedMs).toBeCloseTo(1000, 6);
    expect(state).toMatchObject({ started: 1, drained: 1, late: 0 });
  });

  it('sends again after a pause what the page cuts off, each sample once', () => {
    const { speaker, sent, pass, state } = createSpeaker();
    const samples = Int16Array.from({ length: 24_000 }, (_, index) => index + 1);
    const openedAt = state.time;
    pass(200);
    speaker.enqueue({ samples, sampleRate: 24_000 });
    pass(210, 10);
    const [playedMs, queuedMs] = [speaker.playedMs, speaker.queuedMs];
    speaker.pause();
    // A frame is heard when it is due; those of later are cut off.
    const heard = sent.slice(0, (state.time - openedAt) / 10 + 1);
    expect(sent.length).toBeGreaterThan(heard.length);
    expect(speaker.playedMs).toBeLessThan(playedMs);
    expect(speaker.playedMs + speaker.queuedMs).toBeCloseTo(playedMs + queuedMs, 6);
    pass(500);
    const paused = sent.length;
    speaker.resume();
    pass(1500);
    const sounds = [...heard, ...sent.slice(paused)].flatMap((frame) => [...frame.samples]);
    expect(sounds.filter((sample) => sample !== 0)).toEqual([...samples]);
    expect(speaker.playedMs).toBeCloseTo(1000, 6);
    expect(state).toMatchObject({ started: 1, drained: 1 });
  });

  it('has at most 60 ms on its way while somebody speaks, however busy the machine is', () => {
    const { speaker, pass, state } = createSpeaker(150);
    pass(200);
    const begun = state.time;
    const ahead = () => speaker.playedMs - (state.time - begun);
    speaker.enqueue(sound(5000));
    pass(400);
    expect(ahead()).toBeGreaterThan(100);
    speaker.duck(true);
    pass(100);
    for (let turn = 0; turn < 20; turn += 1) {
      expect(ahead()).toBeGreaterThan(0);
      expect(ahead()).toBeLessThanOrEqual(60);
      pass(20);
    }
    speaker.duck(false);
    pass(20);
    expect(ahead()).toBeGreaterThan(100);
    expect(state.late).toBe(0);
  });

  it('throws away what waits, and says nothing of an end', () => {
    const { speaker, sounding, pass, state } = createSpeaker();
    speaker.enqueue(sound(1000));
    pass(100);
    speaker.clear();
    const frames = sounding().length;
    pass(500);
    expect(sounding().length).toBe(frames);
    expect(speaker.queuedMs).toBe(0);
    expect(state.drained).toBe(0);
    speaker.enqueue(sound(50));
    pass(200);
    expect(state).toMatchObject({ started: 2, drained: 1 });
  });

  it('catches up after a delay and counts what was late', () => {
    const { speaker, pass, state } = createSpeaker();
    speaker.enqueue(sound(2000));
    pass(200);
    pass(160, 160);
    expect(state.late).toBeGreaterThan(8);
    const { late } = state;
    pass(500);
    expect(state.late).toBe(late);
    expect(speaker.playedMs).toBeGreaterThan(850);
  });

  it('does not catch up with a machine that slept', () => {
    const { speaker, sent, pass } = createSpeaker();
    speaker.enqueue(sound(20_000));
    pass(200);
    const before = sent.length;
    pass(10_000, 10_000);
    expect(sent.length - before).toBeLessThanOrEqual(6);
    expect(speaker.playedMs).toBeLessThan(400);
  });

  it('refuses to hold more than ten minutes', () => {
    const { speaker, state } = createSpeaker();
    for (let minute = 0; minute < 12; minute += 1) speaker.enqueue(sound(60_000, 8000));
    expect(state.overflows).toBe(1);
    expect(speaker.queuedMs).toBeLessThan(11 * 60_000);
  });

  it('sends nothing before the line is open', () => {
    const sent: AudioFrame[] = [];
    const speaker = new PacedSpeaker({
      send: (frame) => sent.push(frame),
      now: () => 0,
      leadMs: () => 50,
      onLate: () => undefined,
      onOverflow: () => undefined,
    });
    speaker.enqueue(sound(100));
    speaker.advance();
    expect(sent).toEqual([]);
    expect(speaker.queuedMs).toBeCloseTo(100, 6);
  });
});
