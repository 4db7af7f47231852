import { windowLength } from '../activity/silero/model.ts';

const sampleRate = 16_000;

/** A piece of a sound, in samples. */
interface Span {
  from: number;
  to: number;
}

/** Probabilities at which speech starts, and above which it continues. */
const entering = 0.5;
const staying = 0.35;
/** Shorter sounds are clicks and coughs; a spoken "no" is longer. */
const shortestWindows = 4;
/** -54 dB of full scale; speech into a microphone is louder. */
const quietest = 0.002;
/** Kept around speech, so that no soft consonant is lost. */
const margin = 0.25 * sampleRate;
/** Spans closer than this are joined. */
const joining = 0.6 * sampleRate;
/** The recogniser works best on at most this much. */
const longest = 20 * sampleRate;

/**
 * Where somebody speaks in an utterance, in pieces that the recogniser can take. Silence, hum, noise and clicks give
 * none: a recogniser would find words in them.
 */
export function speechSpans(samples: Float32Array, probabilities: readonly number[]): Span[] {
  const spoken = runsOf(probabilities)
    .map(({ from, to }) => ({ from: from * windowLength, to: Math.min(to * windowLength, samples.length) }))
    .filter((span) => loudness(samples, span) > quietest);
  const joined = joinNear(spoken.map((span) => widen(span, samples.length)));
  return joined.flatMap((span) => cut(span, probabilities));
}

function runsOf(probabilities: readonly number[]): Span[] {
  const runs: Span[] = [];
  let from: number | undefined;
  let sure = 0;
  const finish = (to: number) => {
    if (from !== undefined && sure >= shortestWindows) runs.push({ from, to });
    from = undefined;
    sure = 0;
  };
  for (const [index, probability] of probabilities.entries()) {
    if (probability >= entering) {
      from ??= index;
      sure += 1;
    } else if (probability < staying) finish(index);
  }
  finish(probabilities.length);
  return runs;
}

/** Of the windows that hold a voice. */
export function meanVoice(probabilities: readonly number[], from: number, to: number): number | undefined {
  const voiced = probabilities
    .slice(Math.floor(from / windowLength), Math.ceil(to / windowLength))
    .filter((probability) => probability >= entering);
  return voiced.length === 0 ? undefined : voiced.reduce((sum, value) => sum + value, 0) / voiced.length;
}

function loudness(samples: Float32Array, { from, to }: Span): number {
  let sum = 0;
  for (let index = from; index < to; index += 1) sum += (samples[index] ?? 0) ** 2;
  return Math.sqrt(sum / Math.max(1, to - from));
}

function widen({ from, to }: Span, length: number): Span {
  return { from: Math.max(0, from - margin), to: Math.min(length, to + margin) };
}

function joinNear(spans: readonly Span[]): Span[] {
  const joined: Span[] = [];
  for (const span of spans) {
    const last = joined.at(-1);
    if (last !== undefined && span.from - last.to < joining) last.to = span.to;
    else joined.push({ ...span });
  }
  return joined;
}

/** Cuts long spans where speech is least likely, in the second half of what fits. */
function cut({ from, to }: Span, probabilities: readonly number[]): Span[] {
  if (to - from <= longest) return [{ from, to }];
  const first = Math.ceil((from + longest / 2) / windowLength);
  const last = Math.floor((from + longest) / windowLength);
  let best = last;
  for (let index = last; index >= first; index -= 1) {
    if ((probabilities[index] ?? 1) < (probabilities[best] ?? 1)) best = index;
  }
  const at = best * windowLength;
  return [{ from, to: at }, ...cut({ from: at, to }, probabilities)];
}
