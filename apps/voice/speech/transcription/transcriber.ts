import type { SpeechFile } from '../recognition/compat-client.ts';

export type { SpeechFile };

/** Turns a file with speech into text. */
export interface Transcriber {
  readonly backend: 'local' | 'compat';
  transcribe(file: SpeechFile, signal?: AbortSignal): Promise<string>;
}
