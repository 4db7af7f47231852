import type { Clock, Timer } from '@trunkline/schedule';
import type { Speaker } from '../call/line.ts';
import { StreamResampler } from '../speech/audio/resample.ts';
import type { AudioFrame } from '../speech/audio/samples.ts';

const frameMs = 10;
/** A longer gap, such as a sleeping machine, is skipped instead of caught up with. */
const longestGapMs = 500;
const longestQueueMs = 10 * 60_000;

/** The rate of most speech. */
const firstRate = 24_000;
/** The level of speech while somebody speaks over it: 14 dB down. */
const duckedGain = 0.2;

export interface PacedSpeakerOptions {
  send(frame: AudioFrame): void;
  /** A clock that never jumps, in milliseconds. */
  now(): number;
  /** How far ahead of its time sound is sent; what was sent cannot be cut off. */
  leadMs(): number;
  /** Called with the number of frames that were sent too late. */
  onLate(frames: number): void;
  onOverflow(): void;
}

/** Sends queued sound in real time, and silence in between so that the receiver stays in sync. */
export class PacedSpeaker implements Speaker {
  readonly #options: PacedSpeakerOptions;
  readonly #queue = new FrameQueue();
  readonly #drained: (() => void)[] = [];
  readonly #started: (() => void)[] = [];
  /** What was sent ahead of its time, with that time. */
  #ahead: { dueAt: number; frame: CutFrame }[] = [];
  #silence = silenceAt(firstRate);
  #due: number | undefined;
  #playedMs = 0;
  #paused = false;
  #speaking = false;
  #gain = 1;
  #targetGain = 1;

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

  /** What was sent ahead of its time is sent again on `resume`: the page cuts what it has. */
  pause(): void {
    if (this.#paused) return;
    this.#paused = true;
    if (this.#speaking) this.#takeBack();
  }

  resume(): void {
    this.#paused = false;
    this.advance();
  }

  clear(): void {
    this.#queue.clear();
    this.#ahead = [];
    this.#speaking = false;
  }

  duck(isDucked: boolean): void {
    this.#targetGain = isDucked ? duckedGain : 1;
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

  /** Sends what is due; called about every 20 ms. */
  advance(): void {
    if (this.#due === undefined) return;
    const now = this.#options.now();
    this.#countLate(now);
    if (now - this.#due > longestGapMs) this.#due = now;
    this.#ahead = this.#ahead.filter(({ dueAt }) => dueAt > now);
    const leadMs = this.#leadMs;
    while (this.#due <= now + (this.#mayLead ? leadMs : 0)) {
      const dueAt = this.#due;
      this.#due += frameMs;
      this.#sendOne(dueAt);
    }
  }

  /** While somebody speaks, little is on its way, so that it can be cut off. */
  get #leadMs(): number {
    const leadMs = this.#options.leadMs();
    return this.#targetGain < 1 ? Math.min(leadMs, shortestLeadMs) : leadMs;
  }

  /** An incomplete frame waits until it is due, as the rest may still come. */
  get #mayLead(): boolean {
    return !this.#paused && this.#queue.hasWholeFrame;
  }

  #countLate(now: number): void {
    const behind = Math.floor((now - (this.#due ?? now)) / frameMs);
    const waiting = Math.ceil(this.queuedMs / frameMs);
    if (this.#speaking && !this.#paused && behind > 0) this.#options.onLate(Math.min(behind, waiting));
  }

  #takeBack(): void {
    const now = this.#options.now();
    const unheard = this.#ahead.filter(({ dueAt }) => dueAt > now).map(({ frame }) => frame);
    this.#ahead = [];
    for (const frame of unheard.toReversed()) {
      this.#queue.putBack(frame);
      this.#playedMs -= frame.soundMs;
    }
  }

  #sendOne(dueAt: number): void {
    const frame = this.#paused ? undefined : this.#queue.take();
    this.#options.send(frame === undefined ? this.#silence : this.#levelled(frame));
    if (frame === undefined) return;
    this.#ahead.push({ dueAt, frame });
    if (frame.sampleRate !== this.#silence.sampleRate) this.#silence = silenceAt(frame.sampleRate);
    this.#playedMs += frame.soundMs;
    if (!this.#speaking) this.#tell(true, this.#started);
    if (this.queuedMs === 0) this.#tell(false, this.#drained);
  }

  /** The level changes within one frame, so that there is no click. */
  #levelled(frame: AudioFrame): AudioFrame {
    const [from, to] = [this.#gain, this.#targetGain];
    this.#gain = to;
    if (from === 1 && to === 1) return frame;
    const { samples, sampleRate } = frame;
    const step = (to - from) / samples.length;
    return { samples: samples.map((sample, index) => sample * (from + step * (index + 1))), sampleRate };
  }

  #tell(speaking: boolean, listeners: readonly (() => void)[]): void {
    this.#speaking = speaking;
    for (const listener of listeners) listener();
  }
}

/** At the rate of the last speech, so that the library need not adapt. */
function silenceAt(sampleRate: number): AudioFrame {
  return { samples: new Int16Array((sampleRate * frameMs) / 1000), sampleRate };
}

const framesPerSecond = 1000 / frameMs;
/** Tolerance for sums of fractions. */
const roundingMs = 0.001;
/** For rates without whole 10 ms frames, such as 22,050, or above what a line takes. */
const evenRate = 48_000;

interface CutFrame extends AudioFrame {
  soundMs: number;
}

/** Cuts sound of any length into frames of exactly 10 ms. */
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

  /** The last frame of a sound, or of a sample rate, is padded with silence. */
  take(): CutFrame | undefined {
    const sampleRate = this.#pieces[0]?.sampleRate;
    if (sampleRate === undefined) return undefined;
    const samples = new Int16Array(sampleRate / framesPerSecond);
    const filled = this.#fill(samples, sampleRate);
    const soundMs = lengthMs(filled, sampleRate);
    this.#waitingMs = this.#pieces.length === 0 ? 0 : this.#waitingMs - soundMs;
    return { samples, sampleRate, soundMs };
  }

  /** Before all that waits. */
  putBack({ samples, sampleRate, soundMs }: CutFrame): void {
    const filled = Math.round((soundMs * sampleRate) / 1000);
    this.#pieces.unshift({ samples: samples.subarray(0, filled), sampleRate });
    this.#waitingMs += soundMs;
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

/** Sound leaves in packets of 20 ms. */
const tickMs = 20;
/** Timers that have not run for this long mean that more comes in than the machine can handle. */
const overloadMs = 1000;
/** How far ahead sound is sent: little on a calm machine, so that it can be cut off at once. */
const shortestLeadMs = 50;
const longestLeadMs = 150;
/** The longest wait decays by this share of each passing millisecond: 100 ms in 20 s. */
const forgetting = 1 / 200;

export interface Player {
  advance(): void;
  /** Drops incoming sound until the event loop is free again. */
  rest(): void;
}

/** One timer for all lines, so that many of them do not crowd the event loop. */
export class Pacer {
  readonly #clock: Clock;
  readonly #now: () => number;
  readonly #onOverload: () => void;
  readonly #players = new Set<Player>();
  #timer: Timer | undefined;
  #beatAt = 0;
  #timerAt = 0;
  /** The longest recent wait for a tick. */
  #longestWaitMs = 0;

  constructor({ clock, now, onOverload }: { clock: Clock; now: () => number; onOverload: () => void }) {
    this.#clock = clock;
    this.#now = now;
    this.#onOverload = onOverload;
  }

  /** Covers the wait for the next tick, judging by recent ones. */
  get leadMs(): number {
    return Math.min(Math.max(this.#longestWaitMs + tickMs, shortestLeadMs), longestLeadMs);
  }

  /** Advances the player about every 20 ms; returns a function that stops it. */
  add(player: Player): () => void {
    this.#players.add(player);
    if (this.#timer === undefined) this.#begin();
    return () => this.#remove(player);
  }

  /**
   * Called whenever sound comes in. The library delivers all sound before it lets a timer run, and on a busy machine
   * there is always more: then this ticks instead, and on overload drops incoming sound so that anything else can run.
   */
  nudge(): void {
    const now = this.#now();
    if (now - this.#beatAt >= tickMs) this.#beat(now);
    if (this.#timer !== undefined && now - this.#timerAt > overloadMs) this.#relieve(now);
  }

  #begin(): void {
    this.#timer = this.#arm();
    this.#beatAt = this.#timerAt;
  }

  #arm(): Timer {
    this.#timerAt = this.#now();
    return this.#clock.setTimer(tickMs, () => {
      this.#timer = this.#arm();
      this.#beat(this.#timerAt);
    });
  }

  #beat(now: number): void {
    const waitedMs = now - this.#beatAt;
    this.#longestWaitMs = Math.max(waitedMs, this.#longestWaitMs - waitedMs * forgetting);
    this.#beatAt = now;
    for (const player of this.#players) player.advance();
  }

  #relieve(now: number): void {
    this.#timerAt = now;
    this.#onOverload();
    for (const player of this.#players) player.rest();
  }

  #remove(player: Player): void {
    this.#players.delete(player);
    if (this.#players.size > 0) return;
    this.#timer?.cancel();
    this.#timer = undefined;
  }
}
