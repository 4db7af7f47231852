// When does a caller's turn end? Human recordings, whole and cut in mid-sentence, judged by our endpointing and by
// silence of a fixed length. Recordings: Debian's prompts for Asterisk (one speaker) and LibriVox sentences, English.
import { readFileSync } from 'node:fs';
import { parse } from 'yaml';
import { endpointingDelay, toneOf } from '../apps/voice/call/turns/endpointing.ts';
import { hasLocalVoices, openLocalVoices } from '../apps/voice/cases/harness/local-voices.suite.ts';
import { type HumanRecording, humanRecordings } from '../apps/voice/cases/harness/recordings.suite.ts';
import { loadTurnModel } from '../apps/voice/speech/ending/turn-model.ts';
import type { BenchResult } from './result.ts';

const rate = 16_000;
const clipLimit = 48;
const developmentLimit = 120;
/** Pauses put into mid-sentence. */
const pausesMs = [600, 1000, 1500, 2000];
/** A shorter rest of the voice is no pause: stops between sounds last as long. */
const fluentMs = 100;

interface Clip {
  /** The recording. */
  name: string;
  text: string;
  /** What our model gives. */
  finished: number;
  /** How long the speaker's own voice rests at the place. */
  ownPauseMs: number;
  /** Silence after which the turn ends, by our rules and by our model. */
  ruled: number;
  modelled: number;
}

export async function run(): Promise<BenchResult[]> {
  const judged = await judgeClips((clips) => clips.measured);
  return judged === undefined ? [] : resultsOf(judged.whole, judged.cut);
}

interface Judged {
  whole: Clip[];
  cut: Clip[];
}

export interface SpokenPart extends NamedSound {
  text: string;
}

/** The measured recordings up to each place in mid-sentence; undefined where they cannot be had. */
export async function midSentenceParts(): Promise<SpokenPart[] | undefined> {
  const recordings = (await hasLocalVoices()) ? await humanRecordings(['prompts', 'readings']) : undefined;
  if (recordings === undefined) return undefined;
  const voices = await openLocalVoices();
  try {
    const { recognizer } = voices.open().speech;
    const parts: SpokenPart[] = [];
    for (const { name, samples } of clipsOf(recordings).measured) {
      const all = await recognizer.recognize(samples, { final: true });
      if (!isOneSentence(all)) continue;
      for (const place of dipsOf(samples)) {
        const part = samples.subarray(0, place);
        const text = await recognizer.recognize(withPause(part), { final: true });
        if (isBeginning(text, all) && isMidSentence({ name, text }))
          parts.push({ name, samples: part, text });
      }
    }
    return parts;
  } finally {
    await voices.close();
  }
}

async function judgeClips(choose: (clips: Clips) => NamedSound[]): Promise<Judged | undefined> {
  const recordings = (await hasLocalVoices()) ? await humanRecordings(['prompts', 'readings']) : undefined;
  if (recordings === undefined) return undefined;
  const voices = await openLocalVoices();
  try {
    const { speech } = voices.open();
    const model = await loadTurnModel();
    const judge = async (name: string, samples: Float32Array, ownPauseMs = 0): Promise<Clip> => {
      let continuation: number | undefined;
      const onContinuation = (logProbability: number | undefined) => {
        continuation = logProbability;
      };
      const text = await speech.recognizer.recognize(samples, { final: true, onContinuation });
      const pause = { text, tone: toneOf(samples), usualPauseMs: 0 };
      const finished = await model({ text, language: 'en', samples, continuation });
      const modelled = endpointingDelay({ ...pause, finished });
      return { name, text, finished, ownPauseMs, ruled: endpointingDelay(pause), modelled };
    };
    const [whole, cut]: [Clip[], Clip[]] = [[], []];
    for (const { name, samples } of choose(clipsOf(recordings))) {
      const all = await judge(name, samples);
      if (!isOneSentence(all.text)) continue;
      whole.push(all);
      for (const place of dipsOf(samples)) {
        const part = await judge(name, withPause(samples.subarray(0, place)), ownPauseAt(samples, place));
        if (isBeginning(part.text, all.text)) cut.push(part);
      }
    }
    return { whole, cut };
  } finally {
    await voices.close();
  }
}

export interface NamedSound {
  name: string;
  samples: Float32Array;
}

/** The measured recordings that are one whole sentence each, without silence around them; undefined where they cannot be had. */
export async function wholeSentences(): Promise<NamedSound[] | undefined> {
  const recordings = (await hasLocalVoices()) ? await humanRecordings(['prompts', 'readings']) : undefined;
  if (recordings === undefined) return undefined;
  const voices = await openLocalVoices();
  try {
    const { recognizer } = voices.open().speech;
    const sentences: NamedSound[] = [];
    for (const { name, samples } of clipsOf(recordings).measured) {
      const text = await recognizer.recognize(samples, { final: true });
      const spoken = samples.subarray(0, samples.length - pauseLength);
      if (isOneSentence(text) && !(name in labels.fragments)) sentences.push({ name, samples: spoken });
    }
    return sentences;
  } finally {
    await voices.close();
  }
}

interface Clips {
  measured: NamedSound[];
  /** Other prompts by the speaker of most of the measured ones, to choose limits by. */
  development: NamedSound[];
}

function clipsOf(recordings: readonly HumanRecording[]): Clips {
  const spoken = recordings
    .map(({ name, set, samples }) => ({ name, set, samples: spokenPart(samples) }))
    .filter(({ samples }) => samples.length > 1.2 * rate && samples.length < 20 * rate);
  const clips = spoken.map(({ name, samples }) => ({ name, samples }));
  const prompts = spoken.filter(({ set }) => set === 'prompts').length;
  const step = Math.max(1, clips.length / clipLimit);
  const isMeasured = (index: number) => Math.floor(index / step) !== Math.floor((index - 1) / step);
  const others = clips.filter((_, index) => index < prompts && !isMeasured(index));
  return {
    measured: clips.filter((_, index) => isMeasured(index)),
    development: others.filter((_, index) => index % Math.ceil(others.length / developmentLimit) === 0),
  };
}

const frame = rate / 50;

function loudness(samples: Float32Array): number[] {
  return Array.from({ length: Math.floor(samples.length / frame) }, (_, index) => {
    const window = samples.subarray(index * frame, (index + 1) * frame);
    return Math.sqrt(window.reduce((sum, sample) => sum + sample * sample, 0) / frame);
  });
}

/** Without the silence around it. */
function spokenPart(samples: Float32Array): Float32Array {
  const levels = loudness(samples);
  const floor = 0.05 * Math.max(...levels);
  const first = levels.findIndex((level) => level > floor);
  const last = levels.findLastIndex((level) => level > floor);
  return withPause(samples.subarray(first * frame, (last + 1) * frame));
}

/** A pause is examined after 200 ms. */
const pauseLength = rate / 5;

function withPause(samples: Float32Array): Float32Array {
  const padded = new Float32Array(samples.length + pauseLength);
  padded.set(samples);
  return padded;
}

/** The quietest places in the middle: between words, as far as sound tells. */
function dipsOf(samples: Float32Array): number[] {
  const levels = loudness(samples);
  const [from, to] = [Math.floor(levels.length * 0.2), Math.floor(levels.length * 0.8)];
  const order = levels
    .map((level, index) => ({ level, index }))
    .slice(from, to)
    .toSorted((left, right) => left.level - right.level);
  const chosen: number[] = [];
  for (const { index } of order)
    if (chosen.length < 2 && chosen.every((other) => Math.abs(other - index) > 15)) chosen.push(index);
  return chosen.map((index) => (index + 1) * frame);
}

/** The length of the quiet around a place. */
function ownPauseAt(samples: Float32Array, place: number): number {
  const levels = loudness(samples);
  const isQuiet = (index: number) => (levels[index] ?? Infinity) < 0.1 * Math.max(...levels);
  let [from, to] = [place / frame - 1, place / frame - 1];
  while (isQuiet(from)) from -= 1;
  while (isQuiet(to)) to += 1;
  return Math.max(0, to - from - 1) * 20;
}

const plain = (text: string) => text.toLowerCase().match(/[\p{L}\p{N}']+/gu) ?? [];

function isOneSentence(text: string): boolean {
  return plain(text).length >= 4 && !/[.?!]\s+\S/.test(text);
}

/** Whether the cut is between words, and both halves were understood alike. */
function isBeginning(part: string, all: string): boolean {
  const [some, whole] = [plain(part), plain(all)];
  return some.length >= 2 && some.length < whole.length && some.every((word, index) => word === whole[index]);
}

const policies: Record<string, (clip: Clip) => number> = {
  model: ({ modelled }) => modelled,
  rules: ({ ruled }) => ruled,
  'silence of 500 ms': () => 500,
  'silence of 800 ms': () => 800,
};

const labels: { fragments: Record<string, string>; ends: Record<string, string> } = parse(
  readFileSync(new URL('voice-turn-labels.yaml', import.meta.url), 'utf8'),
);
const isFragment = ({ name }: Clip) => name in labels.fragments;
const isMidSentence = ({ name, text }: Pick<Clip, 'name' | 'text'>) =>
  labels.ends[name] !== plain(text).join(' ');

/** Ours is what callers of `npm start` get: the model. The rules (SMART_TURN=off) stand among the others. */
function resultsOf(whole: readonly Clip[], cut: readonly Clip[]): BenchResult[] {
  const row = (name: string, unit: string, measure: (delay: (clip: Clip) => number) => number) => {
    const all = Object.fromEntries(
      Object.entries(policies).map(([policy, delay]) => [policy, measure(delay)]),
    );
    const { model: ours = 0, ...peers } = all;
    return { name, unit, ours, peers };
  };
  const quantile = (clips: readonly Clip[], share: number) => (delay: (clip: Clip) => number) =>
    clips.map(delay).toSorted((left, right) => left - right)[Math.floor(clips.length * share)] ?? 0;
  const median = (clips: readonly Clip[]) => quantile(clips, 0.5);
  const cutOff =
    (clips: readonly Clip[], pauses: readonly number[] = pausesMs) =>
    (delay: (clip: Clip) => number) => {
      const lost = pauses.flatMap((pause) => clips.filter((clip) => delay(clip) < pause));
      return (100 * lost.length) / (pauses.length * clips.length);
    };
  const fluent = cut.filter(({ ownPauseMs }) => ownPauseMs < fluentMs);
  const inside = cut.filter(isMidSentence);
  const places = `${inside.length} places in human recordings`;
  const among = `at the ${fluent.length} of them where the speaker makes no pause`;
  const [sentences, fragments] = [whole.filter((clip) => !isFragment(clip)), whole.filter(isFragment)];
  const finished = `after a whole sentence, ${sentences.length} of them`;
  const unlabelled = `after any whole recording, ${whole.length} with ${fragments.length} fragments`;
  const against = ({ ours, peers }: { ours: number; peers: Record<string, number> }) =>
    ours / (peers.rules || 1);
  const rows = [
    { ...row(`cut off at pauses of 0.6 to 2 s in mid-sentence, ${places}`, '%', cutOff(inside)), goal: '2' },
    ...pausesMs.map((pause) =>
      row(`cut off at a pause of ${pause / 1000} s in mid-sentence`, '%', cutOff(inside, [pause])),
    ),
    row(`cut off at all ${cut.length} places, ends of a sentence among them`, '%', cutOff(cut)),
    { ...row(`cut off ${among}`, '%', cutOff(fluent)), goal: '2' },
    row(
      `cut off with the ${fragments.length} recorded fragments as places`,
      '%',
      cutOff([...cut, ...fragments]),
    ),
    { ...row(`silence that ends the turn ${finished}, p50`, 'ms', median(sentences)), goal: '300' },
    row(`silence that ends the turn ${finished}, p90`, 'ms', quantile(sentences, 0.9)),
    row(`silence that ends the turn ${unlabelled}, p50`, 'ms', median(whole)),
    row(`silence that ends the turn ${unlabelled}, p90`, 'ms', quantile(whole, 0.9)),
  ].map((each) => ({ ...each, ratio: against(each), better: 'lower' as const }));
  const unfinished = row('silence that ends the turn after an unfinished one, median', 'ms', median(cut));
  return [...rows, { ...unfinished, ratio: against(unfinished), better: 'higher', goal: '1500' }];
}

if (import.meta.main && process.argv.includes('--transcripts')) {
  // For whoever labels the clips: nothing of the model's judgement.
  for (const set of ['measured', 'development'] as const)
    for (const { name, text } of (await judgeClips((clips) => clips[set]))?.whole ?? [])
      console.log(`${set} ${name}: ${text}`);
  process.exit(0);
}

if (import.meta.main && process.argv.includes('--development')) {
  // Limits are chosen by these, and the measured clips stay unseen.
  const judged = await judgeClips((clips) => clips.development);
  for (const [name, clips] of Object.entries(judged ?? {}))
    for (const { finished, text } of clips as Clip[]) console.log(name, finished.toFixed(4), text);
  process.exit(0);
}

if (import.meta.main) {
  console.table(await run(), ['name', 'unit', 'ours', 'peers', 'ratio', 'goal']);
  process.exit(0);
}
