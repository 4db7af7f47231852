/** A model that tells by the voice whether somebody has finished. */
export interface SmartTurn {
  /** Takes what was said so far at 16 kHz (-1 to 1), of which the last eight seconds count; gives the probability. */
  judge(samples: Float32Array, signal?: AbortSignal): Promise<number>;
  close(): Promise<void>;
}
