/** A file with speech. */
export interface SpeechFile {
  bytes: Uint8Array;
  /** As the uploader calls it; endpoints tell the format by it. */
  name: string;
}

/** Turns speech into text. */
export interface Transcriber {
  readonly backend: 'local' | 'compat';
  transcribe(file: SpeechFile, signal?: AbortSignal): Promise<string>;
}
