/** Mono 16-bit samples. */
export interface AudioFrame {
  samples: Int16Array;
  sampleRate: number;
}
