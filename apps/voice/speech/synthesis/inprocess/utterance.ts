/** A piece of text for a worker that speaks. */
export interface UtteranceWork {
  text: string;
  voice: string;
  /** Letter of the language. */
  language: string;
}

/** A spoken piece. */
export interface Utterance {
  samples: Float32Array;
  sampleRate: number;
  notice?: string | undefined;
}
