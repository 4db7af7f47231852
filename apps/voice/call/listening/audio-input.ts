import type { Logger } from '@trunkline/config';
import type { ActivityDetector } from '../../speech/activity/detector.ts';
import type { AudioFrame } from '../../speech/audio/frame.ts';

/** 32 ms at 16 kHz. */
const windowSamples = 512;
/** About three seconds: a detector that is further behind than this skips what is oldest. */
const mostWaiting = 100;
/** Thirty seconds: what is said while the detector still loads is heard later. */
const mostWaitingAtFirst = 940;
/** Samples of a closed microphone stay within this; a room is never so quiet. */
const mutedBelow = 3;
const mutedAfterMs = 1000;

export interface VadStreamDeps {
  detector: ActivityDetector;
  /** Makes 16 kHz (-1 to 1) of what the line gives. */
  downsample(frame: AudioFrame): Float32Array;
  /** Whether the microphone counts at the moment. */
  isOpen(): boolean;
  heard(samples: Float32Array, probability: number): void;
  logger: Logger;
}

/** Frames of a microphone in, windows with the probability of speech out, in their order. */
export class VadStream {
  readonly #deps: VadStreamDeps;
  readonly #waiting: Float32Array[] = [];
  #rest = new Float32Array(0);
  #busy = false;
  #caughtUp = false;
  #closed = false;
  #silentMs = 0;
  #warned = false;

  constructor(deps: VadStreamDeps) {
    this.#deps = deps;
  }

  /** Nothing but digital silence comes: the microphone is muted. */
  get muted(): boolean {
    return this.#silentMs >= mutedAfterMs;
  }

  accept(frame: AudioFrame): void {
    if (this.#closed) return;
    this.#noteLevel(frame);
    const samples = this.#deps.downsample(frame);
    if (this.#deps.isOpen()) this.#cut(samples);
    else this.#forget();
    if (!this.#busy) void this.#work();
  }

  close(): void {
    this.#closed = true;
    this.#waiting.length = 0;
  }

  #noteLevel({ samples, sampleRate }: AudioFrame): void {
    const isSilent = samples.every((sample) => Math.abs(sample) < mutedBelow);
    this.#silentMs = isSilent ? this.#silentMs + (samples.length / sampleRate) * 1000 : 0;
  }

  #forget(): void {
    this.#waiting.length = 0;
    this.#rest = new Float32Array(0);
  }

  #cut(samples: Float32Array): void {
    const joined = new Float32Array(this.#rest.length + samples.length);
    joined.set(this.#rest);
    joined.set(samples, this.#rest.length);
    let start = 0;
    for (; start + windowSamples <= joined.length; start += windowSamples)
      this.#waiting.push(joined.slice(start, start + windowSamples));
    this.#rest = joined.slice(start);
    const most = this.#caughtUp ? mostWaiting : mostWaitingAtFirst;
    if (this.#waiting.length > most) this.#waiting.splice(0, this.#waiting.length - most);
  }

  async #work(): Promise<void> {
    this.#busy = true;
    for (let window = this.#waiting.shift(); window !== undefined; window = this.#waiting.shift()) {
      const probability = await this.#detect(window);
      if (this.#closed) break;
      this.#deps.heard(window, probability);
      this.#caughtUp ||= this.#waiting.length === 0;
    }
    this.#busy = false;
  }

  /** A detector that fails hears nothing; the call goes on by text. */
  async #detect(window: Float32Array): Promise<number> {
    try {
      return await this.#deps.detector.accept(window);
    } catch (error) {
      if (!this.#warned && !this.#closed)
        this.#deps.logger.error({ err: error }, 'speech cannot be told from silence');
      this.#warned = true;
      return 0;
    }
  }
}
