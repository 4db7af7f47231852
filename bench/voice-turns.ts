// When does a caller's turn end? Human recordings, whole and cut in mid-sentence, judged by our endpointing and by
// silence of a fixed length. Recordings: Debian's prompts for Asterisk (one speaker) and LibriVox sentences, English.
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { endpointingDelay, toneOf } from '../apps/voice/call/turns/endpointing.ts';
import { hasLocalVoices, openLocalVoices } from '../apps/voice/cases/harness/local-voices.suite.ts';
import { toMono } from '../apps/voice/speech/audio/resample.ts';
import { decodeWav } from '../apps/voice/speech/audio/wav.ts';
import { loadTurnModel } from '../apps/voice/speech/ending/turn-model.ts';
import type { BenchResult } from './result.ts';

const packages = ['asterisk-core-sounds-en-wav', 'pocketsphinx-testdata'];
const folders = ['usr/share/asterisk/sounds/en_US_f_Allison', 'usr/share/pocketsphinx/test/data/librivox'];
const rate = 16_000;
const clipLimit = 48;
/** Pauses put into mid-sentence. */
const pausesMs = [600, 1000, 1500, 2000];

interface Clip {
  text: string;
  /** Silence after which the turn ends, by our rules and by our model. */
  ruled: number;
  modelled: number;
}

export async function run(): Promise<BenchResult[]> {
  const recordings = (await hasLocalVoices()) ? fetchRecordings() : undefined;
  if (recordings === undefined) return [];
  const voices = await openLocalVoices();
  try {
    const { speech } = voices.open();
    const model = await loadTurnModel();
    const judge = async (samples: Float32Array): Promise<Clip> => {
      const text = await speech.recognizer.recognize(samples, { final: true });
      const pause = { text, tone: toneOf(samples), usualPauseMs: 0 };
      const finished = await model({ text, language: 'en' });
      return { text, ruled: endpointingDelay(pause), modelled: endpointingDelay({ ...pause, finished }) };
    };
    const [whole, cut]: [Clip[], Clip[]] = [[], []];
    for (const samples of await clipsOf(recordings)) {
      const all = await judge(samples);
      if (!isOneSentence(all.text)) continue;
      whole.push(all);
      for (const place of dipsOf(samples)) {
        const part = await judge(samples.subarray(0, place));
        if (isBeginning(part.text, all.text)) cut.push(part);
      }
    }
    return resultsOf(whole, cut);
  } finally {
    await voices.close();
    rmSync(recordings, { recursive: true, force: true });
  }
}

/** Unpacks Debian's packages into a temporary folder; undefined where they cannot be had. */
function fetchRecordings(): string | undefined {
  const folder = mkdtempSync(join(tmpdir(), 'trunkline-recordings-'));
  const options = { cwd: folder, timeout: 120_000, stdio: 'ignore' as const };
  try {
    execFileSync('apt-get', ['download', ...packages], options);
    for (const name of readdirSync(folder)) execFileSync('dpkg-deb', ['-x', name, '.'], options);
    return folder;
  } catch {
    rmSync(folder, { recursive: true, force: true });
    return undefined;
  }
}

async function clipsOf(recordings: string): Promise<Float32Array[]> {
  const clips: Float32Array[] = [];
  for (const folder of folders.map((name) => join(recordings, name))) {
    for (const name of readdirSync(folder)
      .filter((file) => file.endsWith('.wav'))
      .sort()) {
      const samples = spokenPart(await toMono(decodeWav(readFileSync(join(folder, name))), rate));
      if (samples.length > 1.2 * rate && samples.length < 20 * rate) clips.push(samples);
    }
  }
  const step = Math.max(1, clips.length / clipLimit);
  return clips.filter((_, index) => Math.floor(index / step) !== Math.floor((index - 1) / step));
}

const frame = rate / 50;

function loudness(samples: Float32Array): number[] {
  return Array.from({ length: Math.floor(samples.length / frame) }, (_, index) => {
    const window = samples.subarray(index * frame, (index + 1) * frame);
    return Math.sqrt(window.reduce((sum, sample) => sum + sample * sample, 0) / frame);
  });
}

/** Without the silence around it, but with 200 ms of it at the end, as when a pause is examined. */
function spokenPart(samples: Float32Array): Float32Array {
  const levels = loudness(samples);
  const floor = 0.05 * Math.max(...levels);
  const first = levels.findIndex((level) => level > floor);
  const last = levels.findLastIndex((level) => level > floor);
  const padded = new Float32Array((last - first + 1) * frame + rate / 5);
  padded.set(samples.subarray(first * frame, (last + 1) * frame));
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

/** Ours is what callers get by default: the rules. The model (SMART_TURN=local) stands among the others. */
function resultsOf(whole: readonly Clip[], cut: readonly Clip[]): BenchResult[] {
  const row = (name: string, unit: string, measure: (delay: (clip: Clip) => number) => number) => {
    const all = Object.fromEntries(
      Object.entries(policies).map(([policy, delay]) => [policy, measure(delay)]),
    );
    const { rules: ours = 0, ...peers } = all;
    return { name, unit, ours, peers };
  };
  const median = (clips: readonly Clip[]) => (delay: (clip: Clip) => number) =>
    clips.map(delay).toSorted((left, right) => left - right)[clips.length >> 1] ?? 0;
  const cutOff = (delay: (clip: Clip) => number) => {
    const lost = pausesMs.flatMap((pause) => cut.filter((clip) => delay(clip) < pause));
    return (100 * lost.length) / (pausesMs.length * cut.length);
  };
  const places = `${cut.length} places in human recordings`;
  const finished = `after a finished sentence, median of ${whole.length}`;
  const against = ({ ours, peers }: { ours: number; peers: Record<string, number> }) =>
    ours / (peers.model || 1);
  const rows = [
    { ...row(`cut off at pauses of 0.6 to 2 s in mid-sentence, ${places}`, '%', cutOff), goal: '2' },
    { ...row(`silence that ends the turn ${finished}`, 'ms', median(whole)), goal: '300' },
  ].map((each) => ({ ...each, ratio: against(each), better: 'lower' as const }));
  const unfinished = row('silence that ends the turn after an unfinished one, median', 'ms', median(cut));
  return [...rows, { ...unfinished, ratio: against(unfinished), better: 'higher', goal: '1500' }];
}

if (import.meta.main) {
  console.table(await run(), ['name', 'unit', 'ours', 'peers', 'ratio', 'goal']);
  process.exit(0);
}
