/** Tells speech from silence and noise; one per caller, as it remembers what it heard. */
export interface ActivityDetector {
  /** Takes 512 samples at 16 kHz (-1 to 1), gives the probability of speech. */
  accept(samples: Float32Array): Promise<number>;
  reset(): void;
  close(): Promise<void>;
}
