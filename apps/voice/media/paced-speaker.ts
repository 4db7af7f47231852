import type { Speaker } from '../call/line.ts';
import type { AudioFrame } from '../speech/audio/frame.ts';
import { FrameQueue, frameMs } from './frame-queue.ts';

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
