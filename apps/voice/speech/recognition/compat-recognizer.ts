import { bytesOf } from '../audio/samples.ts';
import { encodeWav } from '../audio/wav.ts';
import { type CompatTranscriptionOptions, transcribeFile } from './compat-client.ts';
import type { Ears } from './ears.ts';
import { createGatedRecognizer } from './gated-recognizer.ts';
import type { Recognizer } from './recognizer.ts';

interface CompatRecognizerOptions extends CompatTranscriptionOptions {
  /** Local: silence is never sent. */
  scan: Ears['scan'];
  close: () => Promise<void>;
}

/** A caller waits for it, so a slow endpoint is given up sooner than for a file. */
const timeoutMs = 15_000;
const rate = 16_000;

/** Recognises by an OpenAI-compatible endpoint, which gets a WAV file of each piece of speech. */
export function createCompatRecognizer({ scan, close, ...endpoint }: CompatRecognizerOptions): Recognizer {
  return createGatedRecognizer({
    backend: 'compat',
    scan,
    close,
    listen(samples, { signal }) {
      const file = { bytes: encodeWav(bytesOf(samples), rate), name: 'speech.wav' };
      return transcribeFile(file, { timeoutMs, ...endpoint }, signal);
    },
  });
}
