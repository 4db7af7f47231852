import type { WorkerHost } from '../worker/host.ts';
import type { RecognitionOptions } from './recognizer.ts';

/** Work of the recognition worker: where speech is in a sound, or what is said in it. */
export type EarsWork =
  | { kind: 'scan'; samples: Float32Array }
  | { kind: 'words'; samples: Float32Array; model: 'quick' | 'careful' };

export interface EarsSettings {
  /** Weights of the user's own; the installed ones when not given. */
  modelDirectory: string | undefined;
}

/** The local models of recognition. */
export interface Ears {
  /** The probability of speech for every whole window of 512 samples. */
  scan(samples: Float32Array, options: RecognitionOptions): Promise<number[]>;
  /** What the model makes of the samples, whatever they are. */
  words(samples: Float32Array, options: RecognitionOptions): Promise<string>;
}

/** Final texts go before guesses, which are made by the smaller model. */
export function createEars(host: WorkerHost): Ears {
  const ask = <Value>(work: EarsWork, { signal, final }: RecognitionOptions) =>
    host.ask<Value>(work, { signal, urgent: final });
  return {
    scan: (samples, options) => ask({ kind: 'scan', samples }, options),
    words: (samples, options) =>
      ask({ kind: 'words', samples, model: options.final ? 'careful' : 'quick' }, options),
  };
}
