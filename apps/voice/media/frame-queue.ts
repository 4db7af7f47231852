import type { AudioFrame } from '../speech/audio/frame.ts';
import { StreamResampler } from '../speech/audio/stream-resampler.ts';

export const frameMs = 10;
const framesPerSecond = 1000 / frameMs;
/** Sums of fractions are not exact. */
const roundingMs = 0.001;
/** For rates that cannot be cut into frames of 10 ms, such as 22,050, or are higher than a line takes. */
const evenRate = 48_000;

/** A frame that can be sent, and how much of it is sound and not filling. */
export interface CutFrame extends AudioFrame {
  soundMs: number;
}

/** Takes sound in pieces of any length and gives it in frames of exactly 10 ms. */
export class FrameQueue {
  #pieces: AudioFrame[] = [];
  #resampler = new StreamResampler(evenRate);
  #waitingMs = 0;

  get waitingMs(): number {
    return this.#waitingMs;
  }

  get hasWholeFrame(): boolean {
    return this.#waitingMs > frameMs - roundingMs;
  }

  push(frame: AudioFrame): void {
    const isPlayable = frame.sampleRate % framesPerSecond === 0 && frame.sampleRate <= evenRate;
    const piece = isPlayable ? frame : this.#resampler.push(frame);
    if (piece.samples.length === 0) return;
    this.#pieces.push(piece);
    this.#waitingMs += lengthMs(piece.samples.length, piece.sampleRate);
  }

  /** The next frame; the last of a sound, or of a rate, is filled up with silence. */
  take(): CutFrame | undefined {
    const sampleRate = this.#pieces[0]?.sampleRate;
    if (sampleRate === undefined) return undefined;
    const samples = new Int16Array(sampleRate / framesPerSecond);
    const filled = this.#fill(samples, sampleRate);
    const soundMs = lengthMs(filled, sampleRate);
    this.#waitingMs = this.#pieces.length === 0 ? 0 : this.#waitingMs - soundMs;
    return { samples, sampleRate, soundMs };
  }

  clear(): void {
    this.#pieces = [];
    this.#waitingMs = 0;
    this.#resampler = new StreamResampler(evenRate);
  }

  #fill(target: Int16Array, sampleRate: number): number {
    let filled = 0;
    while (filled < target.length) {
      const piece = this.#pieces[0];
      if (piece?.sampleRate !== sampleRate) break;
      const part = piece.samples.subarray(0, target.length - filled);
      target.set(part, filled);
      filled += part.length;
      if (part.length === piece.samples.length) this.#pieces.shift();
      else this.#pieces[0] = { samples: piece.samples.subarray(part.length), sampleRate };
    }
    return filled;
  }
}

function lengthMs(samples: number, sampleRate: number): number {
  return (1000 * samples) / sampleRate;
}
