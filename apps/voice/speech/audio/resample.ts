import { setImmediate } from 'node:timers/promises';
import type { AudioFrame, Sound } from './samples.ts';

/** After this many samples other work gets a turn. */
const batch = 8000;

/** How many crossings of zero a filter reaches to each side. */
const reach = 24;

/** The more, the less folds back and the wider the band in which it may; this gives 90 dB. */
const steepness = 9;

const made = new Map<string, Filters>();

const maxKept = 16;

/** All usual rates are multiples of this; others would take thousands of filters, and most of a second to make them. */
const rateStep = 25;

/** Brings frames of a stream to one rate as they come; what one frame lacks at its end is taken from the next. */
export class StreamResampler {
  readonly #rate: number;
  #source = 0;
  #filters: Filters = filtersFor(48_000, 48_000);
  /** Samples that new ones are made of, those of earlier frames first. */
  #input = new Float64Array();
  /** How many of them are of earlier frames. */
  #kept = 0;
  /** Where the next new sample stands, counted in `up`-ths of a sample from the start of the input. */
  #position = 0;

  constructor(rate: number) {
    this.#rate = rate;
  }

  /** What can be made so far; it lags by the reach of the filter, 2 ms from 48 to 16 kHz. */
  push({ samples, sampleRate }: AudioFrame): AudioFrame {
    if (sampleRate === this.#rate) {
      this.#source = sampleRate;
      return { samples, sampleRate };
    }
    if (sampleRate !== this.#source) this.#begin(sampleRate);
    return { samples: this.#convert(samples), sampleRate: this.#rate };
  }

  /** A stream of another rate begins, with silence before it. */
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

  /** Puts samples behind those that were kept; gives how many there are then. */
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

/** A filter for each place between two samples at which a new one may stand. */
export interface Filters {
  up: number;
  down: number;
  /** How many samples each filter reaches to either side; even. */
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
  made.delete(name);
  made.set(name, filters);
  const [oldest] = made.keys();
  if (made.size > maxKept && oldest !== undefined) made.delete(oldest);
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

/** A sinc, faded out to both sides by Kaiser's window. */
function weight(distance: number, cutoff: number, width: number): number {
  const angle = Math.PI * distance * cutoff;
  const sinc = angle === 0 ? 1 : Math.sin(angle) / angle;
  const fade = bessel(steepness * Math.sqrt(1 - (distance / width) ** 2)) / bessel(steepness);
  return cutoff * sinc * fade;
}

/** The modified Bessel function of order zero, as its series. */
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
