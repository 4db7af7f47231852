import { createRequire } from 'node:module';

/** Packages that run the models, and what works only with them. */
export const runtimes: Readonly<Record<string, string>> = {
  'onnxruntime-node': 'recognition, voice activity and the Kokoro voice',
  phonemizer: 'the Kokoro voice',
  'sherpa-onnx-node': 'the Piper voice',
};

/** The packages that are not installed. They are only looked for: loading them is for worker threads. */
export function missingRuntimes(): string[] {
  const { resolve } = createRequire(import.meta.url);
  return Object.keys(runtimes).filter((name) => {
    try {
      resolve(name);
      return false;
    } catch {
      return true;
    }
  });
}
