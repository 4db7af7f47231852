import type { AudioFrame } from '../../speech/audio/frame.ts';

/** Something to say. */
export interface Utterance {
  text: string;
  /** Whether what was made of it may be kept for the next time. */
  phrase?: boolean;
  /** Called when its first sound was made. */
  voiced?(): void;
  /** Called when its first sound was sent. */
  begun?(): void;
  /** Called when the last of it was sent. */
  heard?(): void;
  /** Called when it is given up, with the share that was sent. */
  cut?(share: number): void;
  /** Called when no sound could be made of it. */
  failed?(): void;
}

/** Makes the sound of a text. */
export type Voice = (saying: Utterance, signal: AbortSignal) => AsyncIterable<AudioFrame>;

const wordMs = 330;
const portionMs = 200;

/** One saying on its way: its sound as far as it is made, and where it stands in what is played. */
export class UtterancePlayout {
  readonly saying: Utterance;
  readonly #controller = new AbortController();
  readonly #frames: AudioFrame[] = [];
  #changed: () => void = () => undefined;
  #state: 'waiting' | 'making' | 'made' = 'waiting';
  #enqueuedMs = 0;
  #made = 0;
  /** Where it begins on the speaker's count; undefined before anything of it was queued. */
  startMs: number | undefined;
  failure: unknown;
  /** Whether anything of it was sent. */
  begun = false;
  /** Words that were shown already. */
  shown = 0;

  constructor(saying: Utterance) {
    this.saying = saying;
  }

  get isMade(): boolean {
    return this.#state === 'made';
  }

  get isMaking(): boolean {
    return this.#state === 'making';
  }

  onChange(changed: () => void): void {
    this.#changed = changed;
  }

  /** Begins to make the sound; once. */
  make(voice: Voice): void {
    if (this.#state !== 'waiting') return;
    this.#state = 'making';
    void this.#collect(voice);
  }

  /** The next of its sound, in portions, so that something else can come between. */
  take(): AudioFrame | undefined {
    const frame = this.#frames.shift();
    if (frame === undefined) return undefined;
    const { samples, sampleRate } = frame;
    const count = Math.ceil((portionMs * sampleRate) / 1000);
    if (samples.length > count) this.#frames.unshift({ samples: samples.subarray(count), sampleRate });
    const portion = { samples: samples.subarray(0, count), sampleRate };
    this.#enqueuedMs += msOf(portion);
    return portion;
  }

  /** What is made and not yet taken. */
  get waitingMs(): number {
    return this.#frames.reduce((sum, frame) => sum + msOf(frame), 0);
  }

  /** The share of it that was sent when the speaker's count is this. */
  shareAt(playedMs: number): number {
    if (this.startMs === undefined) return 0;
    const guess = this.isMade ? 0 : this.saying.text.split(/\s+/).length * wordMs;
    const whole = Math.max(this.#enqueuedMs + this.waitingMs, guess, 1);
    return Math.min(1, Math.max(0, (playedMs - this.startMs) / whole));
  }

  /** All of it was made, queued and sent. */
  isOver(playedMs: number): boolean {
    if (!this.isMade || this.#frames.length > 0) return false;
    return this.startMs === undefined || playedMs >= this.startMs + this.#enqueuedMs - 1;
  }

  cancel(): void {
    this.#controller.abort();
    this.#changed = () => undefined;
    this.#frames.length = 0;
  }

  /** Gives up making it; what is there counts as the whole. */
  giveUp(reason: unknown): void {
    this.failure = reason;
    this.#controller.abort();
    this.#finish();
  }

  async #collect(voice: Voice): Promise<void> {
    const { signal } = this.#controller;
    try {
      for await (const frame of voice(this.saying, signal)) {
        if (signal.aborted) return;
        if (this.#made === 0) this.saying.voiced?.();
        this.#made += 1;
        this.#frames.push(frame);
        this.#changed();
      }
    } catch (error) {
      if (signal.aborted) return;
      this.failure = error;
    }
    this.#finish();
  }

  #finish(): void {
    this.#state = 'made';
    this.#changed();
  }
}

function msOf({ samples, sampleRate }: AudioFrame): number {
  return (samples.length / sampleRate) * 1000;
}
