import { type Filters, filtered, filtersFor } from './filters.ts';
import type { AudioFrame } from './frame.ts';

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
