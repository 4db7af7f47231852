import type { Speaker } from '../call/line.ts';
import type { AudioFrame } from '../speech/audio/frame.ts';
import { StreamResampler } from '../speech/audio/stream-resampler.ts';

const frameMs = 10;
/** After a longer gap, such as a sleeping machine, time starts anew instead of being caught up with. */
const longestGapMs = 500;
/** What may wait at most. */
const longestQueueMs = 10 * 60_000;

/** Low enough to be cheap, and that of most speech. */
const firstRate = 24_000;

export interface PacedSpeakerOptions {
  send(frame: AudioFrame): void;
  /** A clock that never jumps, in milliseconds. */
  now(): number;
  /** How far ahead of its time sound is sent: what was sent cannot be cut off any more. */
  leadMs(): number;
  /** Told how many frames went out after the moment they should have been heard. */
  onLate(frames: number): void;
  /** Told when sound had to be thrown away because too much waits. */
  onOverflow(): void;
}

/** Sends what is queued at its own speed, and silence in between so that the other side keeps in step. */
export class PacedSpeaker implements Speaker {
  readonly #options: PacedSpeakerOptions;
  readonly #queue = new FrameQueue();
  readonly #drained: (() => void)[] = [];
  readonly #started: (() => void)[] = [];
  #silence = silenceAt(firstRate);
  #due: number | undefined;
  #playedMs = 0;
  #paused = false;
  #speaking = false;

  constructor(options: PacedSpeakerOptions) {
    this.#options = options;
  }

  get playedMs(): number {
    return this.#playedMs;
  }

  get queuedMs(): number {
    return this.#queue.waitingMs;
  }

  enqueue(frame: AudioFrame): void {
    if (this.queuedMs > longestQueueMs) {
      this.#options.onOverflow();
      return;
    }
    this.#queue.push(frame);
    if (!this.#speaking) this.advance();
  }

  get paused(): boolean {
    return this.#paused;
  }

  pause(): void {
    this.#paused = true;
  }

  resume(): void {
    this.#paused = false;
    this.advance();
  }

  clear(): void {
    this.#queue.clear();
    this.#speaking = false;
  }

  onDrained(listener: () => void): void {
    this.#drained.push(listener);
  }

  onStarted(listener: () => void): void {
    this.#started.push(listener);
  }

  /** Nothing is sent before the line is connected. */
  open(): void {
    this.#due ??= this.#options.now();
  }

  /** Sends what has come due; called about every 20 ms. */
  advance(): void {
    if (this.#due === undefined) return;
    const now = this.#options.now();
    this.#countLate(now);
    if (now - this.#due > longestGapMs) this.#due = now;
    const leadMs = this.#options.leadMs();
    while (this.#due <= now + (this.#mayLead ? leadMs : 0)) {
      this.#due += frameMs;
      this.#sendOne();
    }
  }

  /** What is left of a frame waits until its time has come: the rest of it may still be on its way. */
  get #mayLead(): boolean {
    return !this.#paused && this.#queue.hasWholeFrame;
  }

  #countLate(now: number): void {
    const behind = Math.floor((now - (this.#due ?? now)) / frameMs);
    const waiting = Math.ceil(this.queuedMs / frameMs);
    if (this.#speaking && !this.#paused && behind > 0) this.#options.onLate(Math.min(behind, waiting));
  }

  #sendOne(): void {
    const frame = this.#paused ? undefined : this.#queue.take();
    this.#options.send(frame ?? this.#silence);
    if (frame === undefined) return;
    if (frame.sampleRate !== this.#silence.sampleRate) this.#silence = silenceAt(frame.sampleRate);
    this.#playedMs += frame.soundMs;
    if (!this.#speaking) this.#tell(true, this.#started);
    if (this.queuedMs === 0) this.#tell(false, this.#drained);
  }

  #tell(speaking: boolean, listeners: readonly (() => void)[]): void {
    this.#speaking = speaking;
    for (const listener of listeners) listener();
  }
}

/** At the rate of what was said, so that the library need not adapt. */
function silenceAt(sampleRate: number): AudioFrame {
  return { samples: new Int16Array((sampleRate * frameMs) / 1000), sampleRate };
}

const framesPerSecond = 1000 / frameMs;
/** Sums of fractions are not exact. */
const roundingMs = 0.001;
/** For rates that cannot be cut into frames of 10 ms, such as 22,050, or are higher than a line takes. */
const evenRate = 48_000;

/** A frame that can be sent, and how much of it is sound and not filling. */
interface CutFrame extends AudioFrame {
  soundMs: number;
}

/** Takes sound in pieces of any length and gives it in frames of exactly 10 ms. */
class FrameQueue {
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
