import { type SileroMemory, windowLength } from '../activity/silero/model.ts';
import type { WorkerHost } from '../worker/host.ts';
import type { RecognitionOptions } from './recognizer.ts';

/** Work of the recognition worker: where speech is in a sound, or what is said in it. */
export type EarsWork =
  | { kind: 'scan'; samples: Float32Array; memory: SileroMemory | undefined }
  | { kind: 'words'; samples: Float32Array; model: 'quick' | 'careful' };

/** How likely every window of a sound is speech, and what the model remembers at its end. */
export interface Scan {
  probabilities: readonly number[];
  memory: SileroMemory | undefined;
}

export interface EarsSettings {
  /** Weights of the user's own; the installed ones when not given. */
  modelDirectory: string | undefined;
}

/** The local models of recognition. */
export interface Ears {
  /** The probability of speech for every whole window of 512 samples. */
  scan(samples: Float32Array, options: RecognitionOptions): Promise<readonly number[]>;
  /** What the model makes of the samples, whatever they are. */
  words(samples: Float32Array, options: RecognitionOptions): Promise<string>;
}

/** Final texts go before guesses, which are made by the smaller model. */
export function createEars(host: Pick<WorkerHost, 'ask'>): Ears {
  const scans = new WeakMap<object, Scan>();
  const ask = <Value>(work: EarsWork, { signal, final }: RecognitionOptions) =>
    host.ask<Value>(work, { signal, urgent: final });
  return {
    async scan(samples, options) {
      const { utterance = {} } = options;
      const before = scans.get(utterance) ?? { probabilities: [], memory: undefined };
      const rest = samples.slice(before.probabilities.length * windowLength);
      const found = await ask<Scan>({ kind: 'scan', samples: rest, memory: before.memory }, options);
      const probabilities = [...before.probabilities, ...found.probabilities];
      scans.set(utterance, { probabilities, memory: found.memory });
      return probabilities;
    },
    words: (samples, options) =>
      ask({ kind: 'words', samples, model: options.final ? 'careful' : 'quick' }, options),
  };
}
