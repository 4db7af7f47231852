import type { AudioFrame } from '../../speech/audio/samples.ts';
import { ClauseSplitter } from './speech-text.ts';

/** Something to say. */
export interface Utterance {
  text: string;
  /** Its sound may be cached for the next time. */
  cached?: boolean;
  /** A reply begins with it. */
  opening?: boolean;
  /** It is said while the caller has the turn, and does not take it. */
  backchannel?: boolean;
  /** Called when its first sound was synthesized. */
  onSynthesized?(): void;
  /** Called when its first sound was sent. */
  onStarted?(): void;
  /** Called when the last of it was sent. */
  onPlayed?(): void;
  /** Called when it is cut off, with the share that was sent. */
  onInterrupted?(share: number): void;
  /** Called when it could not be synthesized. */
  onFailed?(): void;
}

/** Synthesizes an utterance. */
export type Voice = (utterance: Utterance, signal: AbortSignal) => AsyncIterable<AudioFrame>;

/** A text clause by clause. `done` reports once whether all of it was heard. */
export function clauseUtterances(words: string, done: (heard: boolean) => void): Utterance[] {
  const splitter = new ClauseSplitter();
  const clauses = [...splitter.push(words), ...splitter.flush()];
  let open = true;
  const finish = (heard: boolean) => {
    if (open) done(heard);
    open = false;
  };
  return clauses.map(({ text }, index) => ({
    text,
    onPlayed: () => index === clauses.length - 1 && finish(true),
    onInterrupted: () => finish(false),
    onFailed: () => finish(false),
  }));
}

const wordMs = 330;
const portionMs = 200;

/** An utterance on its way: the sound synthesized so far, and its place on the speaker's count of milliseconds. */
export class UtterancePlayout {
  readonly utterance: Utterance;
  readonly #controller = new AbortController();
  readonly #frames: AudioFrame[] = [];
  #changed: () => void = () => undefined;
  #synthesis: 'waiting' | 'running' | 'done' = 'waiting';
  #enqueuedMs = 0;
  #waitingMs = 0;
  /** Where it begins on the speaker's count; undefined before any of it was queued. */
  startMs: number | undefined;
  failure: unknown;
  /** Some of it was sent. */
  started = false;
  /** Words that were captioned. */
  captioned = 0;

  constructor(utterance: Utterance) {
    this.utterance = utterance;
  }

  get isSynthesized(): boolean {
    return this.#synthesis === 'done';
  }

  get isSynthesizing(): boolean {
    return this.#synthesis === 'running';
  }

  onChange(changed: () => void): void {
    this.#changed = changed;
  }

  /** Starts synthesis, once. */
  synthesize(voice: Voice): void {
    if (this.#synthesis !== 'waiting') return;
    this.#synthesis = 'running';
    void this.#collect(voice);
  }

  /** The next portion of its sound. */
  take(): AudioFrame | undefined {
    const frame = this.#frames.shift();
    if (frame === undefined) return undefined;
    const { samples, sampleRate } = frame;
    const count = Math.ceil((portionMs * sampleRate) / 1000);
    if (samples.length > count) this.#frames.unshift({ samples: samples.subarray(count), sampleRate });
    const portion = { samples: samples.subarray(0, count), sampleRate };
    this.#enqueuedMs += msOf(portion);
    this.#waitingMs = this.#frames.length === 0 ? 0 : this.#waitingMs - msOf(portion);
    return portion;
  }

  /** What is synthesized and not yet taken. */
  get waitingMs(): number {
    return this.#waitingMs;
  }

  /** The share of it that was sent when the speaker's count is this. */
  shareAt(playedMs: number): number {
    if (this.startMs === undefined) return 0;
    const guess = this.isSynthesized ? 0 : this.utterance.text.split(/\s+/).length * wordMs;
    const whole = Math.max(this.#enqueuedMs + this.waitingMs, guess, 1);
    return Math.min(1, Math.max(0, (playedMs - this.startMs) / whole));
  }

  /** All of it was synthesized, queued and sent. */
  isOver(playedMs: number): boolean {
    if (!this.isSynthesized || this.#frames.length > 0) return false;
    return this.startMs === undefined || playedMs >= this.startMs + this.#enqueuedMs - 1;
  }

  cancel(): void {
    this.#controller.abort();
    this.#changed = () => undefined;
    this.#frames.length = 0;
    this.#waitingMs = 0;
  }

  /** Stops synthesis; what is there counts as the whole. */
  stopSynthesis(reason: unknown): void {
    this.failure = reason;
    this.#controller.abort();
    this.#finish();
  }

  async #collect(voice: Voice): Promise<void> {
    const { signal } = this.#controller;
    let first = true;
    try {
      for await (const frame of voice(this.utterance, signal)) {
        if (signal.aborted) return;
        if (first) this.utterance.onSynthesized?.();
        first = false;
        this.#frames.push(frame);
        this.#waitingMs += msOf(frame);
        this.#changed();
      }
    } catch (error) {
      if (signal.aborted) return;
      this.failure = error;
    }
    this.#finish();
  }

  #finish(): void {
    this.#synthesis = 'done';
    this.#changed();
  }
}

function msOf({ samples, sampleRate }: AudioFrame): number {
  return (samples.length / sampleRate) * 1000;
}
