// Pure functions on samples, for the service and its page.

const [lowestRate, highestRate] = [8000, 192_000];

const highest = 2 ** 15 - 1;

/** Clips what exceeds -1 to 1. */
export function toInt16(samples: Float32Array): Int16Array {
  const result = new Int16Array(samples.length);
  for (let index = 0; index < result.length; index += 1)
    result[index] = Math.max(-1, Math.min(1, samples[index] as number)) * highest;
  return result;
}

export function toFloat32(samples: Int16Array): Float32Array {
  const result = new Float32Array(samples.length);
  for (let index = 0; index < result.length; index += 1) result[index] = (samples[index] as number) / 2 ** 15;
  return result;
}

/** Float samples as 16-bit little-endian bytes. */
export function bytesOf(samples: Float32Array): Uint8Array<ArrayBuffer> {
  const bytes = new Uint8Array(samples.length * 2);
  const view = new DataView(bytes.buffer);
  for (const [index, sample] of toInt16(samples).entries()) view.setInt16(index * 2, sample, true);
  return bytes;
}

/** Reads 16-bit little-endian samples from an even number of bytes. */
export function samplesOf(bytes: Uint8Array): Int16Array {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  return Int16Array.from({ length: bytes.length >> 1 }, (_, index) => view.getInt16(index * 2, true));
}

export function concatSamples(parts: readonly Float32Array[]): Float32Array<ArrayBuffer> {
  const whole = new Float32Array(parts.reduce((sum, { length }) => sum + length, 0));
  let at = 0;
  for (const part of parts) {
    whole.set(part, at);
    at += part.length;
  }
  return whole;
}

/** The header of a WAV file that holds so many bytes of 16-bit mono samples. */
export function wavHeader(dataBytes: number, sampleRate: number): Uint8Array<ArrayBuffer> {
  const view = new DataView(new ArrayBuffer(44));
  const put = (at: number, text: string) => {
    for (const [index, letter] of [...text].entries()) view.setUint8(at + index, letter.charCodeAt(0));
  };
  put(0, 'RIFF');
  view.setUint32(4, 36 + dataBytes, true);
  put(8, 'WAVEfmt ');
  view.setUint32(16, 16, true);
  view.setUint16(20, 1, true);
  view.setUint16(22, 1, true);
  view.setUint32(24, sampleRate, true);
  view.setUint32(28, sampleRate * 2, true);
  view.setUint16(32, 2, true);
  view.setUint16(34, 16, true);
  put(36, 'data');
  view.setUint32(40, dataBytes, true);
  return new Uint8Array(view.buffer);
}

/** Mono 16-bit samples. */
export interface AudioFrame {
  samples: Int16Array;
  sampleRate: number;
}

/** Decoded sound: samples from -1 to 1 for each channel. */
export interface Sound {
  channels: readonly Float32Array[];
  sampleRate: number;
}

/** Seconds. */
export function lengthOf({ channels, sampleRate }: Sound): number {
  return (channels[0]?.length ?? 0) / sampleRate;
}

/** Rejects implausible rates: the length would be wrong, and resampling endless work. */
export function checkRate(sampleRate: number): number {
  if (sampleRate >= lowestRate && sampleRate <= highestRate) return sampleRate;
  throw new SoundError(
    `the audio says it has ${sampleRate} samples a second; save it with ${lowestRate} to ${highestRate}`,
  );
}

export class SoundError extends Error {
  readonly code = 'sound_unreadable';

  constructor(message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = 'SoundError';
  }
}

export function meanSquare(window: Float32Array): number {
  return window.reduce((sum, sample) => sum + sample * sample, 0) / window.length;
}
