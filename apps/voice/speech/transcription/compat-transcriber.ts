import { type CompatTranscriptionOptions, transcribeFile } from '../recognition/compat-client.ts';
import type { Transcriber } from './transcriber.ts';

/** Transcribes files by an OpenAI-compatible endpoint, which gets them as they are. */
export function createCompatTranscriber(options: CompatTranscriptionOptions): Transcriber {
  return {
    backend: 'compat',
    transcribe: (file, signal) => transcribeFile(file, options, signal),
  };
}
