import { describe, expect, it } from 'vitest';
import { mergeRecordings } from './measure.ts';
import { answerDelay, overlapOf, score } from './score.ts';
import { answerTo, levelOf, longAnswer, type Outcome, type Span, speechOf, type Trial } from './trial.ts';

const answer = (fromMs: number, toMs: number): Span => ({ fromMs, toMs, speech: 'answer' });
const other = (fromMs: number, toMs: number): Span => ({ fromMs, toMs, speech: 'other' });

function outcome(kind: Outcome['kind'], ...spans: Span[]): Outcome {
  return {
    id: `${kind}-${spans[0]?.fromMs ?? 'none'}`,
    kind,
    lengthMs: 2000,
    watchedMs: 6000,
    spans,
    latestMs: 10,
  };
}

describe('the score of a product', () => {
  it('counts the delay of an answer from the end of the sound', () => {
    expect(answerDelay(outcome('sentence', other(2400, 2400)))).toBe(400);
    expect(answerDelay(outcome('sentence', other(1500, 1700)))).toBe(-500);
    expect(answerDelay(outcome('sentence'))).toBeUndefined();
  });

  it('leaves answers that come too early or never out of the delays, and counts them', () => {
    const outcomes = [2300, 2400, 2900, 1000].map((fromMs) => outcome('sentence', other(fromMs, fromMs)));
    const { sentence } = score([...outcomes, outcome('sentence')]);
    expect(sentence).toEqual({ count: 5, p50: 400, p90: 900, early: 1, unanswered: 1 });
  });

  it('counts a place as cut off at every pause that is longer than the wait', () => {
    const places = [
      outcome('pause', other(2500, 2500)),
      outcome('pause', other(3200, 3200)),
      outcome('pause', other(4000, 4000)),
      outcome('pause'),
    ];
    const { pause } = score(places);
    expect(pause).toEqual({
      places: 4,
      percent: { 600: 25, 1000: 25, 1500: 50, 2000: 50 },
      mean: 37.5,
    });
  });

  it('tells speech that goes on from speech that pauses and speech that stops', () => {
    expect(overlapOf(outcome('noise', answer(0, 5990)))).toMatchObject({ stop: 'none', answered: false });
    expect(overlapOf(outcome('noise', answer(0, 500), answer(700, 5990)))).toMatchObject({ stop: 'none' });
    expect(overlapOf(outcome('noise', answer(0, 500), answer(2900, 5990)))).toMatchObject({
      stop: 'for a moment',
      pauseMs: 2400,
    });
    expect(overlapOf(outcome('noise', answer(0, 500), other(900, 1400)))).toMatchObject({
      stop: 'for good',
      silentAtMs: 500,
      answered: true,
    });
    expect(overlapOf(outcome('noise'))).toMatchObject({ stop: 'for good', silentAtMs: 0 });
  });

  it('names the false interruptions, and counts the interruptions that were missed', () => {
    const outcomes = [
      outcome('noise', answer(0, 5990)),
      outcome('backchannel', answer(0, 400), other(900, 1400)),
      outcome('backchannel', answer(10, 400), answer(1400, 5990)),
      outcome('interruption', answer(0, 200), other(2500, 2700)),
      outcome('interruption', answer(0, 600)),
      outcome('interruption', answer(0, 200), answer(2500, 6000)),
    ];
    const { noise, backchannel, interruption } = score(outcomes);
    expect(noise).toMatchObject({ count: 1, stopped: [], paused: [], answered: [] });
    expect(backchannel).toMatchObject({
      count: 2,
      stopped: ['backchannel-0'],
      paused: ['backchannel-10'],
      pauseMs: 1000,
      answered: ['backchannel-0'],
    });
    expect(interruption).toMatchObject({ count: 3, p50: 600, p90: 600, missed: 1 });
  });
});

describe('results of several runs', () => {
  it('are those of the last run that played a kind', () => {
    const result = (spans: Span[], failures: string[]) => ({
      score: score([outcome('sentence', ...spans), outcome('pause', ...spans)]),
      cpuPercent: 5,
      lateMs: 10,
      failures,
    });
    const earlier = result([other(2400, 2400)], ['sentence-a: late', 'pause-b: late']);
    const later = result([other(3000, 3000)], []);
    const merged = mergeRecordings(earlier, later, ['pause']);
    expect(merged.score.sentence.p50).toBe(400);
    expect(merged.score.pause.percent).toEqual(later.score.pause.percent);
    expect(merged.failures).toEqual(['sentence-a: late']);
    expect(mergeRecordings(undefined, later, ['pause'])).toEqual(later);
  });
});

describe('the stubs of both products', () => {
  it('know the answer that is spoken over from all else, also sentence by sentence', () => {
    for (const sentence of longAnswer.match(/[^.]+\./g) ?? [])
      expect(speechOf(levelOf(sentence))).toBe('answer');
    expect(speechOf(levelOf('Sorry, what did you say?'))).toBe('other');
    expect(speechOf(levelOf(' '))).toBe('other');
  });

  it('give a long answer first where it is spoken over', () => {
    const trial = { kind: 'noise' } as Trial;
    expect(answerTo(trial, 1)).toBe(longAnswer);
    expect(answerTo(trial, 2)).not.toBe(longAnswer);
    expect(answerTo({ kind: 'sentence' } as Trial, 1)).not.toBe(longAnswer);
  });
});
