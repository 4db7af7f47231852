import type { Logger } from '@trunkline/config';
import type { SmartTurn } from '../../speech/ending/smart-turn.ts';
import type { Recognizer } from '../../speech/recognition/recognizer.ts';
import type { SpeakingRate } from '../turns/speaking-rate.ts';
import { type Tone, toneOf } from '../turns/tone.ts';
import { Recording } from './recording.ts';
import { VoiceActivity, windowMs } from './voice-activity.ts';

export interface SpeechInputDeps {
  recognizer: Recognizer;
  speakingRate: SpeakingRate;
  logger: Logger;
  /** Somebody has begun to speak, or goes on after a pause. */
  speechStarted(): void;
  /** A window has passed while somebody speaks or pauses. */
  progressed(): void;
  /** What was understood so far has changed. */
  understood(text: string): void;
}

const firstGuessMs = 300;
const guessEveryMs = 600;
/** A pause of this length is worth recognising what came before it. */
const pauseMs = 200;
/** Most silences of this length become a pause: what was said is recognised before that is certain. */
const likelyPauseMs = 120;
/** From this length on, what was understood stands, and only what follows is recognised anew. */
const settleAfterMs = 20_000;
const turnEndSamples = 8 * 16_000;

/** What a speaker says, from the first sound until it is taken. */
export class SpeechInput {
  readonly #deps: SpeechInputDeps;
  readonly #activity = new VoiceActivity();
  readonly #recording = new Recording();
  #turnEnd: SmartTurn | undefined;
  #active = false;
  /** Counts the times that speech began, so that late results of an earlier pause are known as such. */
  #version = 0;
  #speechMs = 0;
  #guessedAtMs = 0;
  #guessing = false;
  #settled: Promise<string> = Promise.resolve('');
  /** What is recognised already in case a silence becomes a pause. */
  #ahead: { text: Promise<string | undefined>; stop(): void } | undefined;
  #asked = false;
  #text: string | undefined;
  #whole: string | undefined;
  #finished: number | undefined;
  #tone: Tone = 'level';
  #stopped = new AbortController();

  constructor(deps: SpeechInputDeps) {
    this.#deps = deps;
  }

  /** From now on a model too hears whether the speaker has finished. */
  judgeEndsBy(model: SmartTurn | undefined): void {
    this.#turnEnd = model;
  }

  /** Something was said that nobody has taken yet. */
  get active(): boolean {
    return this.#active;
  }

  get speaking(): boolean {
    return this.#active && this.#activity.speaking;
  }

  get silenceMs(): number {
    return this.#activity.silenceMs;
  }

  /** Length of the speech that goes on, or was last. */
  get speechMs(): number {
    return this.#activity.speechMs;
  }

  /** All speech since the utterance began. */
  get totalSpeechMs(): number {
    return this.#speechMs + (this.#activity.speaking ? this.#activity.speechMs : 0);
  }

  /** The best guess so far. */
  get text(): string | undefined {
    return this.#text;
  }

  /** What was said up to the pause, all of it; undefined while it is being recognised. */
  get whole(): string | undefined {
    return this.#whole;
  }

  get tone(): Tone {
    return this.#tone;
  }

  get finished(): number | undefined {
    return this.#finished;
  }

  accept(window: Float32Array, probability: number): void {
    const wasSpeaking = this.#activity.speaking;
    const pausedMs = this.#activity.silenceMs;
    const began = this.#activity.accept(probability);
    this.#recording.add(window);
    if (began) this.#begin(pausedMs);
    else if (wasSpeaking && !this.#activity.speaking) this.#speechMs += this.#activity.speechMs;
    if (!this.#active) return;
    if (this.#activity.speaking) this.#whileSpeaking();
    else this.#whilePausing();
    this.#deps.progressed();
  }

  /** Frames have stopped coming: time passes all the same. */
  passSilence(ms: number): void {
    for (let passed = 0; passed < ms && this.#active; passed += windowMs)
      this.accept(new Float32Array(512), 0);
  }

  /** The utterance was taken or is not wanted. */
  reset(): void {
    this.#stopped.abort();
    this.#stopped = new AbortController();
    this.#active = false;
    this.#version += 1;
    this.#activity.reset();
    this.#recording.clear();
    this.#speechMs = 0;
    this.#guessedAtMs = 0;
    this.#guessing = false;
    this.#settled = Promise.resolve('');
    this.#ahead = undefined;
    this.#text = undefined;
    this.#forgetPause();
  }

  #begin(pausedMs: number): void {
    const goesOn = this.#active;
    if (goesOn && this.#whole !== undefined && this.#recording.lengthMs > settleAfterMs)
      this.#settle(this.#whole);
    if (goesOn) this.#deps.speakingRate.note(Math.max(pausedMs, this.#lastPauseMs));
    this.#active = true;
    this.#version += 1;
    this.#recording.begin();
    this.#forgetPause();
    this.#deps.speechStarted();
  }

  #lastPauseMs = 0;

  #forgetPause(): void {
    this.#asked = false;
    this.#whole = undefined;
    this.#finished = undefined;
    this.#tone = 'level';
    this.#lastPauseMs = 0;
  }

  #settle(text: string): void {
    this.#settled = Promise.resolve(text);
    this.#recording.clear();
  }

  #whileSpeaking(): void {
    if (this.#recording.isFull) this.#settleFull();
    this.#lookAhead();
    const spoken = this.totalSpeechMs;
    const dueMs = this.#guessedAtMs === 0 ? firstGuessMs : this.#guessedAtMs + guessEveryMs;
    if (this.#guessing || spoken < dueMs) return;
    this.#guessedAtMs = spoken;
    this.#guessing = true;
    const version = this.#version;
    void this.#recognise(false).then((text) => {
      if (version !== this.#version) return;
      this.#guessing = false;
      if (text !== undefined && text !== '') this.#understand(text);
    });
  }

  #lookAhead(): void {
    if (this.#activity.silenceMs === 0) this.#dropAhead();
    else if (this.#activity.silenceMs >= likelyPauseMs) this.#ahead ??= this.#recogniseAhead();
  }

  #recogniseAhead() {
    const controller = new AbortController();
    const signal = AbortSignal.any([this.#stopped.signal, controller.signal]);
    return { text: this.#recognise(true, signal), stop: () => controller.abort() };
  }

  #dropAhead(): void {
    this.#ahead?.stop();
    this.#ahead = undefined;
  }

  /** Nobody pauses this rarely, but nothing may grow without end. */
  #settleFull(): void {
    this.#dropAhead();
    this.#settled = this.#recognise(true).then((text) => text ?? '');
    this.#recording.clear();
    this.#recording.begin();
  }

  #whilePausing(): void {
    this.#lastPauseMs = Math.max(this.#lastPauseMs, this.#activity.silenceMs);
    if (this.#asked || this.#activity.silenceMs < pauseMs) return;
    this.#asked = true;
    const version = this.#version;
    const samples = this.#recording.samples();
    this.#tone = toneOf(samples);
    void this.#judgeEnd(samples, version);
    const recognised = this.#ahead?.text ?? this.#recognise(true);
    this.#ahead = undefined;
    void recognised.then((text) => {
      if (version !== this.#version) return;
      this.#whole = text ?? this.#text ?? '';
      this.#guessing = false;
      this.#understand(this.#whole);
    });
  }

  async #judgeEnd(samples: Float32Array, version: number): Promise<void> {
    try {
      const finished = await this.#turnEnd?.judge(samples.slice(-turnEndSamples), this.#stopped.signal);
      if (version === this.#version) this.#finished = finished;
    } catch (error) {
      if (version !== this.#version) return;
      this.#deps.logger.warn({ err: error }, 'the end-of-turn model gave no answer; pauses and words decide');
    }
  }

  /** Undefined when it failed or is no longer wanted. */
  async #recognise(final: boolean, signal = this.#stopped.signal): Promise<string | undefined> {
    try {
      const recognised = this.#deps.recognizer.recognize(this.#recording.samples(), { final, signal });
      const [before, text] = await Promise.all([this.#settled, recognised]);
      return signal.aborted ? undefined : [before, text.trim()].filter(Boolean).join(' ');
    } catch (error) {
      if (!signal.aborted) this.#deps.logger.warn({ err: error }, 'speech was not recognised');
      return undefined;
    }
  }

  #understand(text: string): void {
    if (text === this.#text) return;
    this.#text = text;
    this.#deps.understood(text);
  }
}
