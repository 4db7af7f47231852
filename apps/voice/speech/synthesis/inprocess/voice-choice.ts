import { readFileSync } from 'node:fs';
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
  /** Frees the model's memory until the voice speaks again. */
  release?(): Promise<void>;
}

export interface VoiceSpeed {
  firstSoundMs: number;
  /** Seconds of work for a second of speech. */
  realTimeFactor: number;
}

export type MeasureVoice = (voice: MeasuredVoice, signal: AbortSignal) => Promise<VoiceSpeed>;

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
  #speeds: Speeds | undefined;
  #failure: string | undefined;

  constructor(options: VoiceChoiceOptions) {
    this.#options = options;
    this.#speeds = recallSpeeds(options.directory);
  }

  get voice(): string {
    return this.describe().voice;
  }

  describe(): VoiceDescription {
    return describeChoice(this.#options.voices, this.#speeds, this.#failure);
  }

  /** Measures the voices and keeps the result. A voice that does not speak counts as too slow until the next start. */
  async settle(signal: AbortSignal): Promise<void> {
    if (this.#speeds !== undefined) return;
    const { voices, measure = measureVoice, directory } = this.#options;
    const speeds: Speeds = {};
    this.#failure = undefined;
    for (const each of voices) {
      try {
        speeds[each.title] = await measure(each, signal);
      } catch (error) {
        signal.throwIfAborted();
        this.#failure = `${each.title} does not speak: ${errorMessage(error)}`;
      }
    }
    if (Object.keys(speeds).length === 0) return;
    this.#speeds = speeds;
    const { voice } = this;
    for (const each of voices) if (each.voice !== voice) await each.release?.();
    if (this.#failure === undefined) await keepSpeeds(directory, speeds);
  }
}

/** The choice as an earlier start has left it, for doctor. */
export function recallChoice(directory: string, language: string): VoiceDescription {
  return describeChoice(localVoices(language), recallSpeeds(directory));
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

function describeChoice(
  voices: readonly Pick<MeasuredVoice, 'voice' | 'title'>[],
  speeds: Speeds | undefined,
  failure?: string,
): VoiceDescription {
  const fastest = voices.at(-1) ?? { voice: '', title: '' };
  const by = (voice: string, reason: string) => ({ voice, chosen_by: 'machine' as const, reason });
  if (speeds === undefined) {
    const until = `${fastest.title} speaks until the voices are measured, which happens when this machine has nothing else to do.`;
    return by(fastest.voice, failure === undefined ? until : `${failure}. ${until}`);
  }
  const [best] = voices;
  const chosen = voices.find(({ title }) => isFastEnough(speeds[title])) ?? fastest;
  if (chosen === best || best === undefined)
    return by(
      chosen.voice,
      `${chosen.title} speaks, as it is fast enough on this machine: ${formatSpeed(speeds[chosen.title])}.`,
    );
  const speed = speeds[best.title];
  if (speed === undefined) return by(chosen.voice, failure ?? `${best.title} does not speak.`);
  const limits = formatSpeed({ firstSoundMs: longestFirstSoundMs, realTimeFactor: largestRealTimeFactor });
  return by(
    chosen.voice,
    `${chosen.title} speaks, as ${best.title} is too slow on this machine: ${formatSpeed(speed)}; at most ${limits} keep a call fluent.`,
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
  { synthesizer }: Pick<MeasuredVoice, 'synthesizer'>,
  signal: AbortSignal,
  now: () => number = () => performance.now(),
): Promise<VoiceSpeed> {
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

const keptSchema = z.object({
  machine: z.string(),
  voices: z.record(z.string(), z.object({ firstSoundMs: z.number(), realTimeFactor: z.number() })),
});

const pathIn = (directory: string) => join(directory, 'voices.json');

/** What the speed of a voice depends on: another processor or other weights are measured again. */
function machine(): string {
  const sums = weights.filter(({ purpose }) => purpose === 'voice').map(({ sha256 }) => sha256.slice(0, 12));
  const processor = cpus()[0]?.model ?? process.arch;
  return [processor, `${availableParallelism()} cores`, ...sums].join(', ');
}

/** What an earlier start has measured; undefined if nothing can be read. */
function recallSpeeds(directory: string): Speeds | undefined {
  try {
    const kept = keptSchema.parse(JSON.parse(readFileSync(pathIn(directory), 'utf8')));
    return kept.machine === machine() ? kept.voices : undefined;
  } catch {
    // A file that is absent or damaged is written anew.
    return undefined;
  }
}

async function keepSpeeds(directory: string, voices: Speeds): Promise<void> {
  const kept: z.input<typeof keptSchema> = { machine: machine(), voices };
  await writeFileAtomic(pathIn(directory), `${JSON.stringify(kept, null, 2)}\n`);
}
