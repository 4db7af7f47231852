import { setImmediate } from 'node:timers/promises';
import { BoundedMap } from '@trunkline/std';
import type { AudioFrame, Sound } from './samples.ts';

/** Samples after which the event loop gets a turn. */
const batch = 8000;

/** Zero crossings of the filter on each side. */
const reach = 24;

/** Kaiser beta: more lowers aliasing and widens the transition band; 9 gives 90 dB. */
const steepness = 9;

const maxKept = 16;
const made = new BoundedMap<string, Filters>(maxKept);

/** All usual rates are multiples of this; others would need thousands of filters, and most of a second to compute. */
const rateStep = 25;

/** Resamples a stream frame by frame; the filter continues across frames. */
export class StreamResampler {
  readonly #rate: number;
  #source = 0;
  #filters: Filters = filtersFor(48_000, 48_000);
  /** Input samples, those of earlier frames first. */
  #input = new Float64Array();
  /** How many of them come from earlier frames. */
  #kept = 0;
  /** Position of the next output sample, in `up`-ths of an input sample. */
  #position = 0;

  constructor(rate: number) {
    this.#rate = rate;
  }

  /** The output lags by half the filter: 2 ms from 48 to 16 kHz. */
  push({ samples, sampleRate }: AudioFrame): AudioFrame {
    if (sampleRate === this.#rate) {
      this.#source = sampleRate;
      return { samples, sampleRate };
    }
    if (sampleRate !== this.#source) this.#begin(sampleRate);
    return { samples: this.#convert(samples), sampleRate: this.#rate };
  }

  /** Starts a stream of another rate, after silence. */
  #begin(sampleRate: number): void {
    this.#source = sampleRate;
    this.#filters = filtersFor(sampleRate, this.#rate);
    this.#kept = this.#filters.width - 1;
    this.#input = new Float64Array(this.#kept);
    this.#position = this.#kept * this.#filters.up;
  }

  #convert(samples: Int16Array): Int16Array {
    const { up, down, width, phases } = this.#filters;
    const length = this.#take(samples);
    const end = (length - width) * up;
    const result = new Int16Array(Math.max(0, Math.ceil((end - this.#position) / down)));
    for (let index = 0; index < result.length; index += 1) {
      const start = Math.floor(this.#position / up) - width + 1;
      result[index] = rounded(filtered(this.#input, start, phases[this.#position % up] as Float64Array));
      this.#position += down;
    }
    this.#keep(length);
    return result;
  }

  /** Appends samples; returns how many there are. */
  #take(samples: Int16Array): number {
    const length = this.#kept + samples.length;
    if (length > this.#input.length) this.#grow(length);
    this.#input.set(samples, this.#kept);
    return length;
  }

  #grow(length: number): void {
    const larger = new Float64Array(length);
    larger.set(this.#input.subarray(0, this.#kept));
    this.#input = larger;
  }

  #keep(length: number): void {
    const { up, width } = this.#filters;
    const from = Math.min(length, Math.floor(this.#position / up) - width + 1);
    this.#input.copyWithin(0, from, length);
    this.#kept = length - from;
    this.#position -= from * up;
  }
}

function rounded(value: number): number {
  return Math.max(-32_768, Math.min(32_767, Math.round(value)));
}

/** A polyphase filter bank: one filter for each fractional position of an output sample. */
export interface Filters {
  up: number;
  down: number;
  /** Samples on each side of a filter; even. */
  width: number;
  phases: readonly Float64Array[];
}

/**
 * The filters from one rate to another; those that were made last are kept, for they are large. An odd rate is taken for
 * the nearest usual one, which nobody hears.
 */
export function filtersFor(from: number, to: number): Filters {
  const usual = Math.max(1, Math.round(from / rateStep)) * rateStep;
  const divisor = commonDivisor(usual, to);
  const [up, down] = [to / divisor, usual / divisor];
  const name = `${up}/${down}`;
  const filters = made.get(name) ?? makeFilters(up, down);
  made.set(name, filters);
  return filters;
}

/**
 * What a filter makes of the samples from there on. Four sums go on side by side, as a processor adds faster than it
 * waits for the sum before; a filter has a multiple of four weights.
 */
function filtered(samples: Float64Array, start: number, weights: Float64Array): number {
  let [first, second, third, fourth] = [0, 0, 0, 0];
  for (let tap = 0, at = start; tap < weights.length; tap += 4, at += 4) {
    first += (weights[tap] as number) * (samples[at] as number);
    second += (weights[tap + 1] as number) * (samples[at + 1] as number);
    third += (weights[tap + 2] as number) * (samples[at + 2] as number);
    fourth += (weights[tap + 3] as number) * (samples[at + 3] as number);
  }
  return first + second + third + fourth;
}

function makeFilters(up: number, down: number): Filters {
  const cutoff = Math.min(1, up / down);
  const width = 2 * Math.ceil(reach / cutoff / 2);
  const phases = Array.from({ length: up }, (_, phase) =>
    Float64Array.from({ length: 2 * width }, (_tap, tap) =>
      weight(tap - width + 1 - phase / up, cutoff, width),
    ),
  );
  return { up, down, width, phases };
}

/** A sinc with a Kaiser window. */
function weight(distance: number, cutoff: number, width: number): number {
  const angle = Math.PI * distance * cutoff;
  const sinc = angle === 0 ? 1 : Math.sin(angle) / angle;
  const fade = bessel(steepness * Math.sqrt(1 - (distance / width) ** 2)) / bessel(steepness);
  return cutoff * sinc * fade;
}

/** The modified Bessel function of order zero. */
function bessel(value: number): number {
  let [term, sum] = [1, 1];
  for (let order = 1; term > sum * 1e-12; order += 1) {
    term *= (value / (2 * order)) ** 2;
    sum += term;
  }
  return sum;
}

function commonDivisor(left: number, right: number): number {
  return right === 0 ? left : commonDivisor(right, left % right);
}

/** Mixes all channels and resamples the result. */
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
