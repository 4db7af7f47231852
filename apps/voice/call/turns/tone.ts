/** How the pitch moved at the end of what was said. */
export type Tone = 'rising' | 'falling' | 'level';

const rate = 8000;
const spanMs = 300;
const frameSamples = 320;
const hopSamples = 160;
/** Voices lie between 70 and 400 Hz. */
const [shortestLag, longestLag] = [rate / 400, Math.ceil(rate / 70)];
const voicedAbove = 0.5;
const loudAbove = 1e-5;
const rises = 1.12;
const falls = 0.92;

/** Looks at the last 300 ms of voice in samples at 16 kHz that may end in silence. */
export function toneOf(samples: Float32Array): Tone {
  const pitches = lastPitches(halved(samples));
  if (pitches.length < 4) return 'level';
  const third = Math.max(2, Math.floor(pitches.length / 3));
  const change = median(pitches.slice(-third)) / median(pitches.slice(0, third));
  return change > rises ? 'rising' : change < falls ? 'falling' : 'level';
}

function halved(samples: Float32Array): Float32Array {
  const recent = samples.subarray(-16_000);
  return Float32Array.from(
    { length: recent.length >> 1 },
    (_, index) => ((recent[2 * index] ?? 0) + (recent[2 * index + 1] ?? 0)) / 2,
  );
}

/** Pitches of the last voiced frames, oldest first. */
function lastPitches(samples: Float32Array): number[] {
  const pitches: number[] = [];
  const wanted = Math.floor((spanMs * rate) / 1000 / hopSamples);
  for (let start = samples.length - frameSamples - longestLag; start >= 0; start -= hopSamples) {
    const pitch = pitchAt(samples, start);
    if (pitch !== undefined) pitches.unshift(pitch);
    // A gap before the last syllables belongs to what was said earlier.
    else if (pitches.length >= 4) break;
    if (pitches.length >= wanted) break;
  }
  return pitches;
}

/** The lag at which the sound is most like itself, as a frequency; undefined where there is no voice. */
function pitchAt(samples: Float32Array, start: number): number | undefined {
  const energy = correlation(samples, start, 0);
  if (energy / frameSamples < loudAbove) return undefined;
  let best = 0;
  let bestLag = 0;
  for (let lag = shortestLag; lag <= longestLag; lag += 1) {
    const shifted = correlation(samples, start + lag, 0);
    const likeness = correlation(samples, start, lag) / Math.sqrt(energy * shifted + Number.EPSILON);
    // A longer lag must be clearly better: every multiple of the true one fits too.
    if (likeness > best + 0.02) [best, bestLag] = [likeness, lag];
  }
  return best > voicedAbove ? rate / bestLag : undefined;
}

function correlation(samples: Float32Array, start: number, lag: number): number {
  let sum = 0;
  for (let index = start; index < start + frameSamples; index += 1)
    sum += (samples[index] ?? 0) * (samples[index + lag] ?? 0);
  return sum;
}

function median(values: number[]): number {
  return values.toSorted((left, right) => left - right)[values.length >> 1] ?? 0;
}
