import { type Filters, filtersFor } from './filters.ts';
import type { AudioFrame } from './frame.ts';

/** Brings frames of a stream to one rate as they come; what one frame lacks at its end is taken from the next. */
export class StreamResampler {
  readonly #rate: number;
  #source = 0;
  #filters: Filters = filtersFor(1, 1);
  /** Samples that later ones still need before them. */
  #kept = new Float32Array();
  /** Where the next new sample stands, counted in `up`-ths of a sample from the start of what is kept. */
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
    this.#kept = new Float32Array(this.#filters.width - 1);
    this.#position = this.#kept.length * this.#filters.up;
  }

  #convert(samples: Int16Array): Int16Array {
    const { up, down, width, phases } = this.#filters;
    const input = joined(this.#kept, samples);
    const end = (input.length - width) * up;
    const result = new Int16Array(Math.max(0, Math.ceil((end - this.#position) / down)));
    for (let index = 0; index < result.length; index += 1) {
      const start = Math.floor(this.#position / up) - width + 1;
      result[index] = sampleAt(input, start, phases[this.#position % up] as Float32Array);
      this.#position += down;
    }
    this.#keep(input);
    return result;
  }

  #keep(input: Float32Array): void {
    const { up, width } = this.#filters;
    const from = Math.min(input.length, Math.floor(this.#position / up) - width + 1);
    this.#kept = input.slice(from);
    this.#position -= from * up;
  }
}

function joined(kept: Float32Array, samples: Int16Array): Float32Array {
  const input = new Float32Array(kept.length + samples.length);
  input.set(kept);
  input.set(samples, kept.length);
  return input;
}

function sampleAt(input: Float32Array, start: number, taps: Float32Array): number {
  let sum = 0;
  for (let tap = 0; tap < taps.length; tap += 1)
    sum += (taps[tap] as number) * (input[start + tap] as number);
  return Math.max(-32_768, Math.min(32_767, Math.round(sum)));
}
