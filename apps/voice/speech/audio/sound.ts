/** Decoded sound: one array of samples from -1 to 1 for each channel. */
export interface Sound {
  channels: readonly Float32Array[];
  sampleRate: number;
}

/** Seconds. */
export function lengthOf({ channels, sampleRate }: Sound): number {
  return (channels[0]?.length ?? 0) / sampleRate;
}

/** The bytes hold no sound that can be decoded. */
export class SoundError extends Error {
  readonly code = 'sound_unreadable';

  constructor(message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = 'SoundError';
  }
}
