import type { Outcome, Span, TrialKind } from './trial.ts';

/** Pauses put into mid-sentence. */
export const pausesMs = [600, 1000, 1500, 2000] as const;
/** A shorter silence is none that people notice. */
const momentMs = 300;

/** By the kind of the trials. */
export interface Score {
  sentence: {
    count: number;
    /** From the end of the sentence to the first sound. */
    p50: number;
    p90: number;
    /** Answered before its end. */
    early: number;
    unanswered: number;
  };
  /** Percent of the places where the answer began within the pause. */
  pause: { places: number; percent: Record<string, number>; mean: number };
  noise: Overlaps;
  backchannel: Overlaps;
  interruption: {
    count: number;
    /** From the onset to silence. */
    p50: number;
    p90: number;
    /** Spoken over to the end, or gone on after a pause. */
    missed: number;
  };
}

export interface Overlaps {
  count: number;
  /** The speech stopped and did not go on: ids of the trials. */
  stopped: string[];
  /** It stopped for a moment and went on. */
  paused: string[];
  /** Median length of those pauses. */
  pauseMs: number;
  /** Something else was said, although nobody had asked for it. */
  answered: string[];
}

export function score(outcomes: readonly Outcome[]): Score {
  const of = (kind: TrialKind) => outcomes.filter((outcome) => outcome.kind === kind);
  const delays = of('sentence').map(answerDelay);
  const answered = delays.filter((delay) => delay !== undefined && delay >= 0) as number[];
  const interruptions = of('interruption').map(overlapOf);
  const silenced = interruptions.flatMap(({ stop, silentAtMs }) => (stop === 'for good' ? [silentAtMs] : []));
  return {
    sentence: {
      count: delays.length,
      p50: quantile(answered, 0.5),
      p90: quantile(answered, 0.9),
      early: delays.filter((delay) => delay !== undefined && delay < 0).length,
      unanswered: delays.filter((delay) => delay === undefined).length,
    },
    pause: cutOffOf(of('pause')),
    noise: overlapsOf(of('noise')),
    backchannel: overlapsOf(of('backchannel')),
    interruption: {
      count: interruptions.length,
      p50: quantile(silenced, 0.5),
      p90: quantile(silenced, 0.9),
      missed: interruptions.length - silenced.length,
    },
  };
}

/** From the end of the sound to the first of the assistant's, negative before it. */
export function answerDelay({ spans, lengthMs }: Outcome): number | undefined {
  const [first] = spans;
  return first && first.fromMs - lengthMs;
}

function cutOffOf(outcomes: readonly Outcome[]): Score['pause'] {
  const delays = outcomes.map((outcome) => answerDelay(outcome) ?? Infinity);
  const percent = (pauseMs: number) =>
    (100 * delays.filter((delay) => delay < pauseMs).length) / Math.max(1, delays.length);
  const each = pausesMs.map((pauseMs) => [String(pauseMs), percent(pauseMs)] as const);
  const mean = each.reduce((sum, [, share]) => sum + share, 0) / each.length;
  return { places: outcomes.length, percent: Object.fromEntries(each), mean };
}

interface Overlap {
  /** What became of the answer that was being heard. */
  stop: 'none' | 'for a moment' | 'for good';
  /** When it ended, where it stopped for good. */
  silentAtMs: number;
  /** The longest silence within it. */
  pauseMs: number;
  /** Something else was said. */
  answered: boolean;
}

/** What happened to the answer that was being heard when the sound came. */
export function overlapOf({ spans, watchedMs }: Outcome): Overlap {
  const answered = spans.some(({ speech }) => speech === 'other');
  const heard = spans.filter(({ speech }) => speech === 'answer');
  const silentAtMs = heard.at(-1)?.toMs ?? 0;
  const pauseMs = Math.max(0, ...heard.map((_, index) => (index === 0 ? 0 : silenceBefore(heard, index))));
  if (watchedMs - silentAtMs > momentMs) return { stop: 'for good', silentAtMs, pauseMs, answered };
  return { stop: pauseMs > momentMs ? 'for a moment' : 'none', silentAtMs, pauseMs, answered };
}

function silenceBefore(heard: readonly Span[], index: number): number {
  return (heard[index]?.fromMs ?? 0) - (heard[index - 1]?.toMs ?? 0);
}

function overlapsOf(outcomes: readonly Outcome[]): Overlaps {
  const overlaps = outcomes.map((outcome) => ({ id: outcome.id, ...overlapOf(outcome) }));
  const paused = overlaps.filter(({ stop }) => stop === 'for a moment');
  const lengths = paused.map(({ pauseMs }) => pauseMs);
  const ids = (chosen: readonly { id: string }[]) => chosen.map(({ id }) => id);
  return {
    count: outcomes.length,
    stopped: ids(overlaps.filter(({ stop }) => stop === 'for good')),
    paused: ids(paused),
    pauseMs: quantile(lengths, 0.5),
    answered: ids(overlaps.filter(({ answered }) => answered)),
  };
}

function quantile(values: readonly number[], share: number): number {
  return values.toSorted((left, right) => left - right)[Math.floor(values.length * share)] ?? 0;
}
