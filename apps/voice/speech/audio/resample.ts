import { setImmediate } from 'node:timers/promises';
import { type Filters, filtersFor } from './filters.ts';
import type { Sound } from './sound.ts';

/** After this many samples other work gets a turn. */
const batch = 8000;

/** One channel at another rate: all channels mixed, then filtered so that nothing folds back. */
export async function toMono({ channels, sampleRate }: Sound, rate: number): Promise<Float32Array> {
  const mixed = mix(channels);
  if (sampleRate === rate) return mixed;
  const filters = filtersFor(sampleRate, rate);
  const result = new Float32Array(Math.floor((mixed.length * filters.up) / filters.down));
  for (let from = 0; from < result.length; from += batch) {
    fill(result, from, Math.min(from + batch, result.length), mixed, filters);
    await setImmediate();
  }
  return result;
}

function mix(channels: readonly Float32Array[]): Float32Array {
  const [first = new Float32Array()] = channels;
  if (channels.length === 1) return first;
  return first.map(
    (_, index) => channels.reduce((sum, channel) => sum + (channel[index] ?? 0), 0) / channels.length,
  );
}

function fill(result: Float32Array, from: number, to: number, samples: Float32Array, filters: Filters): void {
  const { up, down, width, phases } = filters;
  for (let index = from; index < to; index += 1) {
    const position = index * down;
    const start = Math.floor(position / up) - width + 1;
    const taps = phases[position % up] ?? new Float64Array();
    let sum = 0;
    for (let tap = 0; tap < taps.length; tap += 1) sum += (taps[tap] ?? 0) * (samples[start + tap] ?? 0);
    result[index] = sum;
  }
}
