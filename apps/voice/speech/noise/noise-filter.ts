/** Takes noise out of a voice; one per caller, as it remembers what it heard. */
export interface NoiseFilter {
  /** Takes 480 samples at 48 kHz (-1 to 1), gives as many. */
  accept(samples: Float32Array): Promise<Float32Array>;
  close(): Promise<void>;
}
