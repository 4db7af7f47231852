import type * as Onnx from 'onnxruntime-node';
import { SpeechError } from './speech-error.ts';

export type OnnxRuntime = typeof Onnx;

/** The runtime is an optional package. Its work blocks the thread that asks for it: for workers only. */
export async function loadOnnx(): Promise<OnnxRuntime> {
  try {
    const library = await import('onnxruntime-node');
    return library;
  } catch (cause) {
    const words =
      'the runtime of the local speech models is not installed: run "npm ci" without --omit=optional';
    throw new SpeechError('missing', words, { cause });
  }
}
