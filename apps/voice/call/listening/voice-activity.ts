import { concatSamples } from '../../speech/audio/samples.ts';

export const windowMs = 32;

/** Probabilities above which a window starts speech, and continues it. */
const startsAbove = 0.6;
const continuesAbove = 0.45;
/** Speech starts when six of the last seven windows hold voice: about 200 ms. */
const [neededWindows, recentWindows] = [6, 7];
/** It is likely when the last three of them do: about 100 ms. */
export const likelyWindows = 3;
/** Gaps between syllables are shorter than this. */
const gapMs = 200;
/**
 * The detector notices the end of speech late (median 62 ms). A window of which it is less sure than this is likely
 * silent already when it has less than this share of the voice's mean power (-30 dB).
 */
const [surelyVoiced, silentShare] = [0.9, 0.001];

/** Tracks from the probability of each window whether the caller speaks, and for how long. */
export class VoiceActivity {
  #recent: boolean[] = [];
  #speaking = false;
  #speechMs = 0;
  #silenceMs = 0;
  #quietMs = 0;
  #likelySilenceMs = 0;
  #voice = { power: 0, windows: 0 };

  get speaking(): boolean {
    return this.#speaking;
  }

  /** Speech goes on, or has probably begun. */
  get likely(): boolean {
    const last = this.#recent.slice(-likelyWindows);
    return this.#speaking || (last.length === likelyWindows && last.every(Boolean));
  }

  /** Length of the current stretch of speech, or of the last one. */
  get speechMs(): number {
    return this.#speaking ? this.#speechMs - this.#silenceMs : this.#speechMs;
  }

  /** Time since speech. A click or a clap is none: the silence goes on. */
  get silenceMs(): number {
    return this.#silenceMs;
  }

  /** Time since speech by the detector and by loudness: it begins sooner than `silenceMs`, and less surely. */
  get likelySilenceMs(): number {
    return this.#likelySilenceMs;
  }

  /** Time since anything that sounds like a voice. */
  get quietMs(): number {
    return this.#quietMs;
  }

  /** Takes the probability and the mean square of the next window; returns whether speech starts with it. */
  accept(probability: number, power: number): boolean {
    const voiced = probability >= (this.#speaking ? continuesAbove : startsAbove);
    const isSpeech = voiced && this.#speaking;
    const isFaint =
      probability < surelyVoiced && power * this.#voice.windows < silentShare * this.#voice.power;
    this.#recent = [...this.#recent, voiced].slice(-recentWindows);
    this.#quietMs = voiced ? 0 : this.#quietMs + windowMs;
    this.#silenceMs = isSpeech ? 0 : this.#silenceMs + windowMs;
    this.#likelySilenceMs = isSpeech && !isFaint ? 0 : this.#likelySilenceMs + windowMs;
    if (isSpeech) this.#voice = { power: this.#voice.power + power, windows: this.#voice.windows + 1 };
    return this.#speaking ? this.#continue() : this.#start();
  }

  reset(): void {
    this.#recent = [];
    this.#speaking = false;
    this.#speechMs = 0;
    this.#silenceMs = 0;
    this.#quietMs = 0;
    this.#likelySilenceMs = 0;
  }

  #continue(): boolean {
    this.#speechMs += windowMs;
    if (this.#silenceMs < gapMs) return false;
    this.#speaking = false;
    this.#speechMs -= this.#silenceMs;
    return false;
  }

  #start(): boolean {
    const voiced = this.#recent.filter(Boolean).length;
    if (voiced < neededWindows || this.#quietMs > 0) return false;
    this.#speaking = true;
    this.#silenceMs = 0;
    this.#likelySilenceMs = 0;
    this.#voice = { power: 0, windows: 0 };
    this.#speechMs = voiced * windowMs;
    return true;
  }
}

/** Windows recorded before speech is detected, so that the first sound is not lost. */
const leadWindows = 16;
const longestWindows = Math.ceil(45_000 / windowMs);

/** The sound of one utterance. */
export class Recording {
  #windows: { samples: Float32Array; probability: number }[] = [];
  #started = false;

  /** Takes the next window with its probability of speech; before `start` it holds only the newest. */
  add(samples: Float32Array, probability: number): void {
    this.#windows.push({ samples, probability });
    if (!this.#started && this.#windows.length > leadWindows) this.#windows.shift();
  }

  start(): void {
    this.#started = true;
  }

  get isFull(): boolean {
    return this.#windows.length >= longestWindows;
  }

  get lengthMs(): number {
    return this.#windows.length * windowMs;
  }

  samples(): Float32Array {
    return concatSamples(this.#windows.map(({ samples }) => samples));
  }

  /** Of speech, for each window. */
  probabilities(): number[] {
    return this.#windows.map(({ probability }) => probability);
  }

  /** Starts over; the newest windows lead into what comes next. */
  clear(): void {
    this.#windows = this.#windows.slice(-leadWindows);
    this.#started = false;
  }
}

/** Of full scale, by the mean squares of windows. */
export function decibelsOf(meanSquares: readonly number[], windows: number): number {
  return 10 * Math.log10(meanSquares.reduce((sum, value) => sum + value, 0) / windows + 1e-12);
}
