import type { Ears } from './ears.ts';
import { speechSpans } from './gate.ts';
import { plausibleText } from './plausible.ts';
import type { RecognitionOptions, Recognizer } from './recognizer.ts';

/** Turns a piece of speech into words, and may make words of anything. */
type Listen = (samples: Float32Array, options: RecognitionOptions) => Promise<string>;

interface GateParts {
  backend: string;
  scan: Ears['scan'];
  listen: Listen;
  close: () => Promise<void>;
}

const rate = 16_000;

/** Lets only speech through to the listener, and only plausible words back. */
export function createGatedRecognizer({ backend, scan, listen, close }: GateParts): Recognizer {
  return {
    backend,
    close,
    async recognize(samples, options) {
      const spans = speechSpans(samples, await scan(samples, options));
      const texts: string[] = [];
      for (const { from, to } of spans) {
        const text = await listen(samples.slice(from, to), options);
        texts.push(plausibleText(text, (to - from) / rate));
      }
      return texts.filter(Boolean).join(' ');
    },
  };
}
