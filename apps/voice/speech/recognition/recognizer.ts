export interface RecognitionOptions {
  /** False for a guess while the caller still speaks; may be given up for a newer one. */
  final: boolean;
  signal?: AbortSignal | undefined;
}

/** Live speech to text; words only where somebody spoke: silence and noise give an empty text. */
export interface Recognizer {
  readonly backend: string;
  /** Takes one utterance so far, 16 kHz (-1 to 1). */
  recognize(samples: Float32Array, options: RecognitionOptions): Promise<string>;
  close(): Promise<void>;
}
