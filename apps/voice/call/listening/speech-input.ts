import type { Logger } from '@trunkline/config';
import { soundWindow } from '../../speech/ending/turn-model.ts';
import type { SmartTurn, TurnDetector } from '../../speech/frame-models.ts';
import type { LiveUtterance, Recognizer } from '../../speech/recognition/recognizer.ts';
import { SpeechError } from '../../speech/speech-error.ts';
import { type SpeakingRate, type Tone, toneOf } from '../turns/endpointing.ts';
import { Recording, VoiceActivity, windowMs } from './voice-activity.ts';

export interface SpeechInputDeps {
  /** The call; the recognizer serves calls in turn. */
  caller?: string;
  /** What the caller speaks, where it is known. */
  language?(): string | undefined;
  /** The recogniser has heard which language is spoken. */
  onLanguage?(code: string): void;
  recognizer: Recognizer;
  speakingRate: SpeakingRate;
  logger: Logger;
  /** The caller began to speak, or went on after a pause. */
  onSpeechStarted(): void;
  /** A window has passed while the caller speaks or pauses. */
  onWindow(): void;
  /** The transcript has changed. */
  onTranscript(text: string): void;
}

const firstInterimMs = 300;
const interimEveryMs = 600;
/** Where each transcript sends all of the utterance, those before a pause send at most so many times its length, and a little. */
const [remoteShare, remoteFreeMs] = [3, 2000];
/** A pause of this length is worth a final transcript of what came before it. */
const pauseMs = 200;
/** Most silences of this length become such a pause: recognition starts before that is certain. */
const likelyPauseMs = 120;
/** After this much, the transcript so far stands, and only what follows is recognised. */
const settleAfterMs = 20_000;
const endOfTurnSamples = 8 * 16_000;

/** What the caller says until the turn controller takes it. */
interface UserUtterance {
  /** Aborts recognition once the utterance is taken or dropped. */
  controller: AbortController;
  /** Speech before the current stretch. */
  earlierSpeechMs: number;
  /** Speech at the last interim transcript; 0: none yet. */
  interimAtMs: number;
  interimPending: boolean;
  /** The sound since `settled`, heard by the recognizer as it is spoken, where it can. */
  live: LiveUtterance | undefined;
  /** Sound that the recognizer was given. */
  sentMs: number;
  /** Sums over windows with voice of their mean squares and probabilities, and their number. */
  energy: number;
  probability: number;
  voicedWindows: number;
  transcript: string | undefined;
  /** The transcript of sound that is no longer recorded. */
  settled: Promise<string>;
  /** A final transcript that is under way in case the silence becomes a pause. */
  ahead: { text: Promise<string | undefined>; cancel(): void } | undefined;
  pause: Pause;
}

/** The silence after a stretch of speech; replaced when the caller goes on. */
interface Pause {
  lengthMs: number;
  /** It was long enough to be worth a final transcript. */
  examined: boolean;
  finalTranscript: string | undefined;
  endOfTurnProbability: number | undefined;
  tone: Tone;
}

/** Turns windows of sound into the transcript of one utterance. */
export class SpeechInput {
  readonly #deps: SpeechInputDeps;
  readonly #activity = new VoiceActivity();
  readonly #recording = new Recording();
  #smartTurn: SmartTurn | undefined;
  #turnDetector: TurnDetector | undefined;
  #utterance: UserUtterance | undefined;

  constructor(deps: SpeechInputDeps) {
    this.#deps = deps;
  }

  /** From now on models estimate by sound or by words whether the caller has finished. */
  setEndOfTurnModels(smartTurn: SmartTurn | undefined, turnDetector: TurnDetector | undefined): void {
    this.#smartTurn = smartTurn;
    this.#turnDetector = turnDetector;
  }

  /** The caller has said something that was neither taken nor dropped. */
  get active(): boolean {
    return this.#utterance !== undefined;
  }

  get speaking(): boolean {
    return this.active && this.#activity.speaking;
  }

  /** Somebody seems to have begun to speak, which the next windows confirm or not. */
  get likelySpeech(): boolean {
    return this.#activity.likely;
  }

  get silenceMs(): number {
    return this.#activity.silenceMs;
  }

  /** Length of the current stretch of speech, or of the last one. */
  get speechMs(): number {
    return this.#activity.speechMs;
  }

  /** All speech of the utterance. */
  get totalSpeechMs(): number {
    const earlierMs = this.#utterance?.earlierSpeechMs ?? 0;
    return earlierMs + (this.#activity.speaking ? this.#activity.speechMs : 0);
  }

  /** Loudness of the voice in this utterance, in decibels of full scale; undefined before there is any. */
  get level(): number | undefined {
    const { energy, voicedWindows } = this.#utterance ?? { energy: 0, voicedWindows: 0 };
    return voicedWindows === 0 ? undefined : 10 * Math.log10(energy / voicedWindows + 1e-12);
  }

  /** Mean probability that windows of this utterance hold a voice; undefined before there is any. */
  get voiceProbability(): number | undefined {
    const { probability, voicedWindows } = this.#utterance ?? { probability: 0, voicedWindows: 0 };
    return voicedWindows === 0 ? undefined : probability / voicedWindows;
  }

  /** The best transcript so far. */
  get transcript(): string | undefined {
    return this.#utterance?.transcript;
  }

  /** The transcript up to the pause; undefined while it is being recognised. */
  get finalTranscript(): string | undefined {
    return this.#utterance?.pause.finalTranscript;
  }

  get tone(): Tone {
    return this.#utterance?.pause.tone ?? 'level';
  }

  get endOfTurnProbability(): number | undefined {
    return this.#utterance?.pause.endOfTurnProbability;
  }

  accept(window: Float32Array, probability: number): void {
    const wasSpeaking = this.#activity.speaking;
    const pausedMs = this.#activity.silenceMs;
    const started = this.#activity.accept(probability);
    this.#recording.add(window);
    this.#utterance?.live?.push(window);
    if (started) this.#start(pausedMs);
    const utterance = this.#utterance;
    if (utterance === undefined) return;
    if (this.#activity.speaking) {
      if (this.silenceMs === 0) measure(utterance, window, probability);
      this.#whileSpeaking(utterance);
    } else {
      if (wasSpeaking) utterance.earlierSpeechMs += this.#activity.speechMs;
      this.#whilePausing(utterance);
    }
    this.#deps.onWindow();
  }

  /** Frames have stopped coming: time passes all the same. */
  passSilence(ms: number): void {
    for (let passed = 0; passed < ms && this.active; passed += windowMs)
      this.accept(new Float32Array(512), 0);
  }

  /** The utterance was taken or is dropped. */
  reset(): void {
    this.#utterance?.controller.abort();
    this.#utterance = undefined;
    this.#activity.reset();
    this.#recording.clear();
  }

  #start(pausedMs: number): void {
    if (this.#utterance === undefined) {
      this.#utterance = newUserUtterance();
      this.#startLive(this.#utterance);
    } else this.#goOn(this.#utterance, pausedMs);
    this.#recording.start();
    this.#deps.onSpeechStarted();
  }

  #goOn(utterance: UserUtterance, pausedMs: number): void {
    const { finalTranscript, lengthMs } = utterance.pause;
    if (finalTranscript !== undefined && this.#recording.lengthMs > settleAfterMs) {
      utterance.settled = Promise.resolve(finalTranscript);
      this.#recording.clear();
      this.#startLive(utterance);
    }
    this.#deps.speakingRate.notePause(Math.max(pausedMs, lengthMs));
    utterance.pause = newPause();
  }

  #whileSpeaking(utterance: UserUtterance): void {
    if (this.#recording.isFull) this.#settle(utterance);
    if (utterance.live?.isHeard) {
      this.#updateLive(utterance, utterance.live.transcript);
      return;
    }
    if (this.silenceMs === 0) dropAhead(utterance);
    else if (this.silenceMs >= likelyPauseMs && this.#isWithinBudget(utterance))
      utterance.ahead ??= this.#recognizeAhead(utterance);
    const dueMs = utterance.interimAtMs === 0 ? firstInterimMs : utterance.interimAtMs + interimEveryMs;
    const isDue = !utterance.interimPending && this.totalSpeechMs >= dueMs;
    if (isDue && this.#isWithinBudget(utterance)) void this.#updateInterim(utterance);
  }

  #isWithinBudget({ sentMs }: UserUtterance): boolean {
    if (!this.#deps.recognizer.isCostly) return true;
    return sentMs + this.#recording.lengthMs <= remoteShare * this.totalSpeechMs + remoteFreeMs;
  }

  #listen({ controller: { signal } }: UserUtterance): LiveUtterance | undefined {
    const { recognizer, caller, language } = this.#deps;
    return recognizer.listen?.({ caller, language: language?.(), signal });
  }

  /** Begins with the sound that led to the detection of speech. */
  #startLive(utterance: UserUtterance): void {
    utterance.live = this.#listen(utterance);
    utterance.live?.push(this.#recording.samples());
  }

  #updateLive(utterance: UserUtterance, text: string): void {
    const { pause } = utterance;
    if (text === '') return;
    void utterance.settled.then((before) => {
      if (this.#isCurrent(utterance, pause)) this.#setTranscript(utterance, joined(before, text));
    });
  }

  async #updateInterim(utterance: UserUtterance): Promise<void> {
    const { pause } = utterance;
    utterance.interimAtMs = this.totalSpeechMs;
    utterance.interimPending = true;
    const text = await this.#recognize(utterance, false);
    if (!this.#isCurrent(utterance, pause)) return;
    utterance.interimPending = false;
    if (text !== undefined && text !== '') this.#setTranscript(utterance, text);
  }

  #recognizeAhead(utterance: UserUtterance): UserUtterance['ahead'] {
    const controller = new AbortController();
    const signal = AbortSignal.any([utterance.controller.signal, controller.signal]);
    return { text: this.#recognize(utterance, true, signal), cancel: () => controller.abort() };
  }

  /** Hardly anybody speaks this long without a pause, but nothing may grow without end. */
  #settle(utterance: UserUtterance): void {
    dropAhead(utterance);
    utterance.settled = this.#recognize(utterance, true).then((text) => text ?? '');
    utterance.live = this.#listen(utterance);
    this.#recording.clear();
    this.#recording.start();
  }

  #whilePausing(utterance: UserUtterance): void {
    const { pause } = utterance;
    pause.lengthMs = Math.max(pause.lengthMs, this.silenceMs);
    if (pause.examined || this.silenceMs < pauseMs) return;
    pause.examined = true;
    const samples = this.#recording.samples();
    pause.tone = toneOf(samples);
    const { signal } = utterance.controller;
    const recent = samples.slice(-endOfTurnSamples);
    void this.#estimateEndOfTurn(utterance, this.#smartTurn?.judge(recent, signal));
    void this.#finishTranscript(utterance, samples.slice(-soundWindow));
  }

  async #finishTranscript(utterance: UserUtterance, samples: Float32Array): Promise<void> {
    const { pause, ahead } = utterance;
    utterance.ahead = undefined;
    const recognized = await (ahead?.text ?? this.#recognize(utterance, true));
    if (!this.#isCurrent(utterance, pause)) return;
    const text = recognized ?? utterance.transcript ?? '';
    const { signal } = utterance.controller;
    await this.#estimateEndOfTurn(utterance, this.#turnDetector?.judge(text, samples, signal));
    if (!this.#isCurrent(utterance, pause)) return;
    pause.finalTranscript = text;
    utterance.interimPending = false;
    this.#setTranscript(utterance, pause.finalTranscript);
  }

  async #estimateEndOfTurn(utterance: UserUtterance, judgement: Promise<number> | undefined): Promise<void> {
    if (judgement === undefined) return;
    const { pause } = utterance;
    try {
      pause.endOfTurnProbability = await judgement;
    } catch (error) {
      if (this.#isCurrent(utterance, pause))
        this.#deps.logger.warn({ err: error }, 'end-of-turn model failed; using pauses and words');
    }
  }

  /** Returns undefined if recognition failed or was aborted. */
  async #recognize(
    utterance: UserUtterance,
    final: boolean,
    signal = utterance.controller.signal,
  ): Promise<string | undefined> {
    const { live } = utterance;
    const sentMs = live?.isHeard ? 0 : this.#recording.lengthMs;
    utterance.sentMs += sentMs;
    try {
      const { recognizer, caller, language, onLanguage } = this.#deps;
      const options = { final, caller, language: language?.(), onLanguage, signal, live };
      const recognized = recognizer.recognize(this.#recording.samples(), options);
      const [before, text] = await Promise.all([utterance.settled, recognized]);
      return signal.aborted ? undefined : joined(before, text);
    } catch (error) {
      // It was not made, so that another may be.
      if (isDropped(error)) utterance.sentMs -= sentMs;
      else if (!signal.aborted) this.#deps.logger.warn({ err: error }, 'speech recognition failed');
      return undefined;
    }
  }

  #setTranscript(utterance: UserUtterance, text: string): void {
    if (text === utterance.transcript) return;
    utterance.transcript = text;
    this.#deps.onTranscript(text);
  }

  /** Results that arrive after the caller went on belong to an earlier pause. */
  #isCurrent(utterance: UserUtterance, pause: Pause): boolean {
    return this.#utterance === utterance && utterance.pause === pause;
  }
}

function joined(before: string, text: string): string {
  return [before, text.trim()].filter(Boolean).join(' ');
}

/** Guesses are dropped under load; the next comes soon. */
function isDropped(error: unknown): boolean {
  return error instanceof SpeechError && error.code === 'dropped';
}

function newUserUtterance(): UserUtterance {
  return {
    controller: new AbortController(),
    earlierSpeechMs: 0,
    interimAtMs: 0,
    interimPending: false,
    live: undefined,
    sentMs: 0,
    energy: 0,
    probability: 0,
    voicedWindows: 0,
    transcript: undefined,
    settled: Promise.resolve(''),
    ahead: undefined,
    pause: newPause(),
  };
}

function newPause(): Pause {
  return {
    lengthMs: 0,
    examined: false,
    finalTranscript: undefined,
    endOfTurnProbability: undefined,
    tone: 'level',
  };
}

function measure(utterance: UserUtterance, window: Float32Array, probability: number): void {
  utterance.probability += probability;
  utterance.energy += window.reduce((sum, sample) => sum + sample * sample, 0) / window.length;
  utterance.voicedWindows += 1;
}

function dropAhead(utterance: UserUtterance): void {
  utterance.ahead?.cancel();
  utterance.ahead = undefined;
}
