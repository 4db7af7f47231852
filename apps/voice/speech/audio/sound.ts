/** Decoded sound: one array of samples from -1 to 1 for each channel. */
export interface Sound {
  channels: readonly Float32Array[];
  sampleRate: number;
}

/** Seconds. */
export function lengthOf({ channels, sampleRate }: Sound): number {
  return (channels[0]?.length ?? 0) / sampleRate;
}

const [lowestRate, highestRate] = [8000, 192_000];

/** Refuses a rate at which nobody records: its length would be a lie, and bringing it to another rate endless work. */
export function checkRate(sampleRate: number): number {
  if (sampleRate >= lowestRate && sampleRate <= highestRate) return sampleRate;
  throw new SoundError(
    `the audio says it has ${sampleRate} samples a second; save it with ${lowestRate} to ${highestRate}`,
  );
}

/** The bytes hold no sound that can be decoded. */
export class SoundError extends Error {
  readonly code = 'sound_unreadable';

  constructor(message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = 'SoundError';
  }
}
