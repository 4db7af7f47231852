import { decodeSound } from '../audio/decode.ts';
import { toMono } from '../audio/resample.ts';
import type { CreateHost } from '../worker/create-hosts.ts';
import { speechSpans } from './gate.ts';
import { plausibleText } from './plausible.ts';

export interface RecognitionOptions {
  /** False for an interim transcript while the caller still speaks; it may be dropped for a newer one. */
  final: boolean;
  signal?: AbortSignal | undefined;
}

/** Live speech to text; silence and noise give an empty text. */
export interface Recognizer {
  readonly backend: string;
  /** Takes one utterance so far, 16 kHz (-1 to 1). */
  recognize(samples: Float32Array, options: RecognitionOptions): Promise<string>;
  close(): Promise<void>;
}

const rate = 16_000;

/** Lets only speech through to the backend, and only plausible text back. */
export function createGatedRecognizer(parts: {
  backend: string;
  scan: LocalRecognition['scan'];
  transcribe(samples: Float32Array, options: RecognitionOptions): Promise<string>;
  close(): Promise<void>;
}): Recognizer {
  const { backend, scan, transcribe, close } = parts;
  return {
    backend,
    close,
    async recognize(samples, options) {
      const spans = speechSpans(samples, await scan(samples, options));
      const texts: string[] = [];
      for (const { from, to } of spans) {
        const text = await transcribe(samples.slice(from, to), options);
        texts.push(plausibleText(text, (to - from) / rate));
      }
      return texts.filter(Boolean).join(' ');
    },
  };
}

const longestSeconds = 60;

/** Transcribes the first minute of a sound file. */
export async function recognizeFile(
  { recognize }: Pick<Recognizer, 'recognize'>,
  bytes: Uint8Array,
  signal?: AbortSignal,
): Promise<string> {
  const samples = await toMono(await decodeSound(bytes, longestSeconds), rate);
  return recognize(samples.subarray(0, longestSeconds * rate), { final: true, signal });
}

/** Work of the recognition worker: where speech is in a sound, or what is said in it. */
export type RecognitionWork =
  | { kind: 'scan'; samples: Float32Array }
  | { kind: 'transcribe'; samples: Float32Array; model: 'quick' | 'careful' };

export interface RecognitionSettings {
  /** Weights of the user's own; the installed ones when not given. */
  modelDirectory: string | undefined;
}

/** The recognition models of this machine. */
export interface LocalRecognition {
  /** The probability of speech for every whole window of 512 samples. */
  scan(samples: Float32Array, options: RecognitionOptions): Promise<number[]>;
  /** What the model makes of the samples, whatever they are. */
  transcribe(samples: Float32Array, options: RecognitionOptions): Promise<string>;
  close(): Promise<void>;
}

/** Final transcripts go before interim ones, which the smaller model makes. */
export function createLocalRecognition(
  createHost: CreateHost,
  settings: RecognitionSettings,
): LocalRecognition {
  const script = new URL('./recognition.worker.ts', import.meta.url);
  const host = createHost('speech recognition', script, settings);
  const ask = <Value>(work: RecognitionWork, { signal, final }: RecognitionOptions) =>
    host.ask<Value>(work, { signal, urgent: final });
  return {
    scan: (samples, options) => ask({ kind: 'scan', samples }, options),
    transcribe: (samples, options) =>
      ask({ kind: 'transcribe', samples, model: options.final ? 'careful' : 'quick' }, options),
    close: () => host.close(),
  };
}
