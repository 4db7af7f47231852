import type { Logger } from '@trunkline/config';
import { meanSquare } from '../../speech/audio/samples.ts';
import type { SmartTurn, TurnDetector } from '../../speech/frame-models.ts';
import type { LiveUtterance, Recognizer } from '../../speech/recognition/recognizer.ts';
import { SpeechError } from '../../speech/speech-error.ts';
import { type SpeakingRate, type Tone, toneOf } from '../turns/endpointing.ts';
import { surelyVoice } from '../turns/interruption.ts';
import { wordsIn } from '../turns/short-phrase.ts';
import {
  dropAhead,
  type LikelyEnd,
  lastSound,
  measure,
  newPause,
  newUserUtterance,
  type Pause,
  type Recognized,
  type UserUtterance,
} from './user-utterance.ts';
import { decibelsOf, likelyWindows, Recording, VoiceActivity, windowMs } from './voice-activity.ts';

export interface SpeechInputDeps {
  /** The call; the recognizer serves calls in turn. */
  caller?: string;
  /** What the caller speaks, where it is known. */
  language?(): string | undefined;
  /** The recogniser has heard which language is spoken. */
  onLanguage?(code: string): void;
  recognizer: Recognizer;
  /** What is heard may be an answer, or stop the bot. */
  acceptsDoubtful(): boolean;
  speakingRate: SpeakingRate;
  logger: Logger;
  /** The caller began to speak, or went on after a pause. */
  onSpeechStarted(): void;
  /** A window has passed while the caller speaks or pauses. */
  onWindow(): void;
  /** The transcript has changed. */
  onTranscript(text: string): void;
  /** A silence that is too short for a pause may be the end of the turn; undefined: it was none. */
  onLikelyEnd(likely: LikelyEnd | undefined): void;
}

const firstInterimMs = 300;
const interimEveryMs = 600;
/** Where each transcript sends all of the utterance, those before a pause send at most so many times its length, and a little. */
const [remoteShare, remoteFreeMs] = [3, 2000];
/** A pause of this length is worth a final transcript of what came before it. */
const pauseMs = 200;
/** Silences between words are mostly shorter: recognition starts before the pause is certain. With less silence after them the last words are also understood better. Where each transcript costs as much as the whole utterance, half as many are made in vain. */
const [likelyPauseMs, costlyLikelyPauseMs] = [64, 128];
/** After this much, the transcript so far stands, and only what follows is recognised. */
const settleAfterMs = 20_000;
const endOfTurnSamples = 8 * 16_000;

/** Turns windows of sound into the transcript of one utterance. */
export class SpeechInput {
  readonly #deps: SpeechInputDeps;
  readonly #activity = new VoiceActivity();
  readonly #recording = new Recording();
  #smartTurn: SmartTurn | undefined;
  #turnDetector: TurnDetector | undefined;
  #utterance: UserUtterance | undefined;
  /** Mean squares of the newest windows. */
  #newest: number[] = [];

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

  get quietMs(): number {
    return this.#activity.quietMs;
  }

  /** How long there had been no words when this silence began. */
  get wordlessMs(): number {
    return this.#utterance?.pause.wordlessMs ?? 0;
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

  /** Loudness of the voice in this utterance, or of what has likely begun, in decibels of full scale; undefined before there is any. */
  get level(): number | undefined {
    if (this.#utterance === undefined && this.likelySpeech) return decibelsOf(this.#newest, likelyWindows);
    const { energy, voicedWindows } = this.#utterance ?? { energy: 0, voicedWindows: 0 };
    return voicedWindows === 0 ? undefined : decibelsOf([energy], voicedWindows);
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
    const power = meanSquare(window);
    const started = this.#activity.accept(probability, power);
    this.#recording.add(window, probability);
    this.#newest = [...this.#newest, power].slice(-likelyWindows);
    this.#utterance?.live?.push(window);
    if (started) this.#start();
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

  #start(): void {
    if (this.#utterance === undefined) {
      this.#utterance = newUserUtterance();
      this.#startLive(this.#utterance);
    } else this.#goOn(this.#utterance);
    this.#recording.start();
    this.#deps.onSpeechStarted();
  }

  #goOn(utterance: UserUtterance): void {
    const { finalTranscript } = utterance.pause;
    if (finalTranscript !== undefined && this.#recording.lengthMs > settleAfterMs) {
      utterance.settled = Promise.resolve(finalTranscript);
      this.#recording.clear();
      this.#startLive(utterance);
    }
    utterance.pauseBefore = utterance.pause;
    utterance.stretch = { probability: 0, windows: 0 };
    utterance.pause = newPause();
  }

  #whileSpeaking(utterance: UserUtterance): void {
    if (this.#recording.isFull) this.#settle(utterance);
    if (utterance.live?.isHeard) {
      this.#updateLive(utterance, utterance.live.transcript);
      return;
    }
    const likelyMs = this.#deps.recognizer.isCostly ? costlyLikelyPauseMs : likelyPauseMs;
    const { likelySilenceMs } = this.#activity;
    if (likelySilenceMs === 0) this.#dropAhead(utterance);
    else if (likelySilenceMs >= likelyMs && this.#isWithinBudget(utterance))
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
    const { text = '' } = (await this.#recognize(utterance, false)) ?? {};
    utterance.interimPending = false;
    if (text !== '' && this.#isCurrent(utterance, pause)) this.#setTranscript(utterance, text);
  }

  #recognizeAhead(utterance: UserUtterance): UserUtterance['ahead'] {
    const controller = new AbortController();
    const signal = AbortSignal.any([utterance.controller.signal, controller.signal]);
    const recognized = this.#recognize(utterance, true, signal);
    void this.#reportLikelyEnd(utterance, recognized, signal);
    return { recognized, cancel: () => controller.abort() };
  }

  /** Once the silence is a pause, `#finishTranscript` judges it by its real sound. */
  async #reportLikelyEnd(
    utterance: UserUtterance,
    recognized: Promise<Recognized | undefined>,
    signal: AbortSignal,
  ): Promise<void> {
    const { text = '', continuation } = (await recognized) ?? {};
    const isDue = () => !signal.aborted && !utterance.pause.examined;
    if (text === '' || this.#turnDetector === undefined || !isDue()) return;
    try {
      const samples = lastSound(this.#recording.samples(), this.silenceMs);
      const finished = await this.#turnDetector.judge({ text, samples, continuation }, signal);
      if (!isDue()) return;
      utterance.isEndReported = true;
      this.#deps.onLikelyEnd({ text, finished });
    } catch (error) {
      if (isDue()) this.#deps.logger.debug({ err: error }, 'end-of-turn model failed before a pause');
    }
  }

  #dropAhead(utterance: UserUtterance): void {
    dropAhead(utterance);
    if (utterance.isEndReported) this.#deps.onLikelyEnd(undefined);
    utterance.isEndReported = false;
  }

  /** Hardly anybody speaks this long without a pause, but nothing may grow without end. */
  #settle(utterance: UserUtterance): void {
    dropAhead(utterance);
    utterance.settled = this.#recognize(utterance, true).then((heard) => heard?.text ?? '');
    utterance.live = this.#listen(utterance);
    this.#recording.clear();
    this.#recording.start();
  }

  #whilePausing(utterance: UserUtterance): void {
    const { pause } = utterance;
    // What sounds like a voice may be the beginning of more.
    if (this.quietMs > 0) pause.lengthMs = this.silenceMs;
    if (pause.examined || this.silenceMs < pauseMs) return;
    pause.examined = true;
    const samples = this.#recording.samples();
    pause.tone = toneOf(samples);
    const recent = samples.slice(-endOfTurnSamples);
    void this.#estimateEndOfTurn(utterance, this.#smartTurn?.judge(recent, utterance.controller.signal));
    void this.#finishTranscript(utterance, lastSound(samples, this.silenceMs));
  }

  async #finishTranscript(utterance: UserUtterance, samples: Float32Array): Promise<void> {
    const { pause, ahead } = utterance;
    utterance.ahead = undefined;
    const recognized = await (ahead?.recognized ?? this.#recognize(utterance, true));
    if (!this.#isCurrent(utterance, pause)) return;
    const { text, continuation } = recognized ?? { text: utterance.transcript ?? '' };
    const { signal } = utterance.controller;
    if (!this.#endsAsBefore(utterance, text)) {
      if (utterance.pauseBefore !== undefined)
        this.#deps.speakingRate.notePause(utterance.pauseBefore.lengthMs);
      const judgement = this.#turnDetector?.judge({ text, samples, continuation }, signal);
      await this.#estimateEndOfTurn(utterance, judgement);
    }
    if (!this.#isCurrent(utterance, pause)) return;
    pause.finalTranscript = text;
    this.#setTranscript(utterance, pause.finalTranscript);
  }

  /** A cough or a noise after the words changes nothing about their end. */
  #endsAsBefore({ pause, pauseBefore, stretch }: UserUtterance, text: string): boolean {
    const isVoice = stretch.probability / Math.max(1, stretch.windows) >= surelyVoice;
    const wordsBefore = pauseBefore?.finalTranscript && wordsIn(pauseBefore.finalTranscript).join(' ');
    if (pauseBefore === undefined || isVoice || wordsBefore !== wordsIn(text).join(' ')) return false;
    const { lengthMs, wordlessMs, tone, endOfTurnProbability } = pauseBefore;
    Object.assign(pause, { tone, endOfTurnProbability });
    pause.wordlessMs = wordlessMs + lengthMs + this.speechMs;
    return true;
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
  ): Promise<Recognized | undefined> {
    const { live } = utterance;
    let continuation: number | undefined;
    const sentMs = live?.isHeard ? 0 : this.#recording.lengthMs;
    utterance.sentMs += sentMs;
    try {
      const { recognizer, caller, language, onLanguage } = this.#deps;
      const acceptsDoubtful = this.#deps.acceptsDoubtful();
      const probabilities = this.#recording.probabilities();
      const onContinuation = (logProbability: number | undefined) => {
        continuation = logProbability;
      };
      const given = { final, caller, language: language?.(), onLanguage, onContinuation, acceptsDoubtful };
      const options = { ...given, signal, live, probabilities };
      const recognized = recognizer.recognize(this.#recording.samples(), options);
      const [before, text] = await Promise.all([utterance.settled, recognized]);
      return signal.aborted ? undefined : { text: joined(before, text), continuation };
    } catch (error) {
      // Guesses are dropped under load: it was not made, so that another may be.
      if (error instanceof SpeechError && error.code === 'dropped') utterance.sentMs -= sentMs;
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
