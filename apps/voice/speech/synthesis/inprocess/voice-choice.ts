import { readFileSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { availableParallelism, cpus } from 'node:os';
import { join } from 'node:path';
import { errorMessage } from '@trunkline/std';
import { writeFileAtomic } from '@trunkline/storage';
import { z } from 'zod';
import { defaultPreset, presets, weights } from '../../weights.ts';
import type { Synthesizer } from '../synthesizer.ts';

/** The value of INPROC_VOICE that leaves the choice to the machine. */
export const automaticVoice = 'auto';

/** A caller waits at most this long for the first sound once the first words of the answer are known. */
const longestFirstSoundMs = 350;
/** Speech takes at most this share of its own length: the other half is for recognition, and for the next caller. */
const largestRealTimeFactor = 0.5;

/** A local voice, as it is measured. */
export interface MeasuredVoice {
  /** What INPROC_VOICE takes. */
  voice: string;
  title: string;
  synthesizer: Pick<Synthesizer, 'speak'>;
  /** What loading takes; with less free memory it is not measured, as the system might end the process. */
  memoryBytes?: number;
  /** Frees the model's memory until the voice speaks again. */
  release?(): Promise<void>;
}

export interface VoiceSpeed {
  firstSoundMs: number;
  /** Seconds of work for a second of speech. */
  realTimeFactor: number;
}

export type MeasureVoice = (voice: MeasuredVoice, signal: AbortSignal) => Promise<VoiceSpeed>;

export interface MeasuringConditions {
  /** Other work takes a part of the processor. */
  isBusy?: boolean;
}

/** Which voice speaks, for `/healthz`, the pages and doctor. */
export interface VoiceDescription {
  voice: string;
  chosen_by: 'setting' | 'machine';
  reason: string;
}

export interface VoiceChoiceOptions {
  /** The best first. */
  voices: readonly MeasuredVoice[];
  /** Where the measurement is kept. */
  directory: string;
  measure?: MeasureVoice | undefined;
}

/** Chooses the best voice that is fast enough on this machine, by a measurement that is made once. */
export class VoiceChoice {
  readonly #options: VoiceChoiceOptions;
  #known: Known;

  constructor(options: VoiceChoiceOptions) {
    this.#options = options;
    this.#known = recall(options.directory);
  }

  get voice(): string {
    return this.describe().voice;
  }

  describe(): VoiceDescription {
    return describeChoice(this.#options.voices, this.#known);
  }

  /** Measures the voices and keeps the result. A voice that does not speak counts as too slow until the next start. */
  async settle(signal: AbortSignal, { isBusy = false }: MeasuringConditions = {}): Promise<void> {
    if (this.#known.speeds !== undefined) return;
    const { voices, directory } = this.#options;
    const speeds: Speeds = {};
    this.#known = {};
    try {
      for (const each of voices) {
        await keep(directory, { voices: speeds, measuring: each.title });
        await this.#measure(each, speeds, signal);
      }
      if (Object.keys(speeds).length === 0) return;
      this.#known = { ...this.#known, speeds, isBusy };
      const { voice } = this;
      for (const each of voices) if (each.voice !== voice) await each.release?.();
    } finally {
      const { speeds: voices, failure } = this.#known;
      if (voices !== undefined && failure === undefined) await keep(directory, { voices, isBusy });
      else await rm(pathIn(directory), { force: true });
    }
  }

  async #measure(voice: MeasuredVoice, speeds: Speeds, signal: AbortSignal): Promise<void> {
    const { measure = measureVoice } = this.#options;
    try {
      speeds[voice.title] = await measure(voice, signal);
    } catch (error) {
      signal.throwIfAborted();
      this.#known = { failure: `${voice.title} does not speak: ${errorMessage(error)}` };
    }
  }
}

/** The choice as an earlier start has left it, for doctor. */
export function recallChoice(directory: string, language: string): VoiceDescription {
  return describeChoice(localVoices(language), recall(directory));
}

/** The best first; Kokoro with its first voice of the language. */
export function localVoices(language: string) {
  const preset = presets.find((each) => each.startsWith(language)) ?? defaultPreset;
  return [
    { voice: preset, title: 'Kokoro' },
    { voice: 'piper', title: 'Piper' },
  ] as const;
}

/** By the voice's title. */
type Speeds = Record<string, VoiceSpeed>;

interface Known {
  /** Undefined until the voices are measured. */
  speeds?: Speeds;
  /** Measured while other work took a part of the processor. */
  isBusy?: boolean;
  /** Why a voice was not measured. */
  failure?: string;
}

function describeChoice(
  voices: readonly Pick<MeasuredVoice, 'voice' | 'title'>[],
  { speeds, isBusy = false, failure }: Known,
): VoiceDescription {
  const fastest = voices.at(-1) ?? { voice: '', title: '' };
  const by = (voice: string, reason: string) => ({ voice, chosen_by: 'machine' as const, reason });
  if (speeds === undefined) {
    const until = `${fastest.title} speaks until the voices are measured, which happens when this machine has nothing else to do, or an hour after the start.`;
    return by(fastest.voice, failure === undefined ? until : `${failure}. ${until}`);
  }
  const circumstances = isBusy ? ' The machine was busy with other work meanwhile.' : '';
  const [best] = voices;
  const chosen = voices.find(({ title }) => isFastEnough(speeds[title])) ?? fastest;
  if (chosen === best || best === undefined)
    return by(
      chosen.voice,
      `${chosen.title} speaks, as it is fast enough on this machine: ${formatSpeed(speeds[chosen.title])}.${circumstances}`,
    );
  const speed = speeds[best.title];
  if (speed === undefined) return by(chosen.voice, failure ?? `${best.title} does not speak.`);
  const limits = formatSpeed({ firstSoundMs: longestFirstSoundMs, realTimeFactor: largestRealTimeFactor });
  return by(
    chosen.voice,
    `${chosen.title} speaks, as ${best.title} is too slow on this machine: ${formatSpeed(speed)}; at most ${limits} keep a call fluent.${circumstances}`,
  );
}

function isFastEnough(speed: VoiceSpeed | undefined): boolean {
  if (speed === undefined) return false;
  return speed.firstSoundMs <= longestFirstSoundMs && speed.realTimeFactor <= largestRealTimeFactor;
}

function formatSpeed(speed: VoiceSpeed | undefined): string {
  const { firstSoundMs = 0, realTimeFactor = 0 } = speed ?? {};
  return `${Math.round(firstSoundMs)} ms to the first sound and ${realTimeFactor.toFixed(2)} s for a second of speech`;
}

/** As short as the first clause of an answer, and a short sentence. */
const texts = {
  clause: 'Let me see now.',
  sentence: 'It opens at nine in the morning.',
};
/** The best of so many: other work on the machine makes a voice slower, nothing makes it faster. */
const tries = 3;

/** Loads the voice and times it. */
export async function measureVoice(
  { synthesizer, memoryBytes = 0 }: Pick<MeasuredVoice, 'synthesizer' | 'memoryBytes'>,
  signal: AbortSignal,
  now: () => number = () => performance.now(),
): Promise<VoiceSpeed> {
  const free = process.availableMemory();
  if (free < memoryBytes)
    throw new Error(
      `it needs ${formatGigabytes(memoryBytes)} of free memory and there are ${formatGigabytes(free)}`,
    );
  const speak = async (text: string) => {
    const startedAt = now();
    let [seconds, firstSoundMs] = [0, 0];
    for await (const { samples, sampleRate } of synthesizer.speak({ text, signal })) {
      if (seconds === 0) firstSoundMs = now() - startedAt;
      seconds += samples.length / sampleRate;
    }
    if (seconds === 0) throw new Error('it gave no sound');
    return { firstSoundMs, realTimeFactor: (now() - startedAt) / 1000 / seconds };
  };
  await speak(texts.clause);
  const best = { firstSoundMs: Infinity, realTimeFactor: Infinity };
  for (let count = 0; count < tries; count += 1) {
    best.firstSoundMs = Math.min(best.firstSoundMs, (await speak(texts.clause)).firstSoundMs);
    best.realTimeFactor = Math.min(best.realTimeFactor, (await speak(texts.sentence)).realTimeFactor);
  }
  return best;
}

function formatGigabytes(bytes: number): string {
  return `${(bytes / 2 ** 30).toFixed(1)} GB`;
}

const keptSchema = z.object({
  machine: z.string(),
  voices: z.record(z.string(), z.object({ firstSoundMs: z.number(), realTimeFactor: z.number() })),
  /** Whose measurement began; one that ended the process is not tried at every start. */
  measuring: z.string().optional(),
  isBusy: z.boolean().optional(),
});
type Kept = z.infer<typeof keptSchema>;

const pathIn = (directory: string) => join(directory, 'voices.json');

/** What the speed of a voice depends on: another processor or other weights are measured again. */
function machine(): string {
  const sums = weights.filter(({ purpose }) => purpose === 'voice').map(({ sha256 }) => sha256.slice(0, 12));
  const processor = cpus()[0]?.model ?? process.arch;
  return [processor, `${availableParallelism()} cores`, ...sums].join(', ');
}

/** What an earlier start has measured, or why it has not; empty if nothing can be read. */
function recall(directory: string): Known {
  try {
    const kept = keptSchema.parse(JSON.parse(readFileSync(pathIn(directory), 'utf8')));
    if (kept.machine !== machine()) return {};
    const { voices: speeds, measuring, isBusy = false } = kept;
    if (measuring === undefined) return { speeds, isBusy };
    const failure = `The measurement of ${measuring} runs, or the service ended in it, as without enough memory; remove voice/speech/voices.json to measure again`;
    return { speeds, failure };
  } catch {
    // A file that is absent or damaged is written anew.
    return {};
  }
}

async function keep(directory: string, kept: Omit<Kept, 'machine'>): Promise<void> {
  await writeFileAtomic(pathIn(directory), `${JSON.stringify({ machine: machine(), ...kept }, null, 2)}\n`);
}
