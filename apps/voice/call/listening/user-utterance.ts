import { concatSamples, meanSquare } from '../../speech/audio/samples.ts';
import { soundWindow, type TurnSoFar } from '../../speech/ending/turn-model.ts';
import type { LiveUtterance } from '../../speech/recognition/recognizer.ts';
import type { Tone } from '../turns/endpointing.ts';
import { windowMs } from './voice-activity.ts';

/** What the caller says until the turn controller takes it. */
export interface UserUtterance {
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
  ahead: { recognized: Promise<Recognized | undefined>; cancel(): void } | undefined;
  /** The silence that may become a pause was reported as a likely end. */
  isEndReported: boolean;
  pause: Pause;
  /** The pause before the current stretch of speech, where there was one. */
  pauseBefore: Pause | undefined;
  /** Of the current stretch of speech: the sum of the probabilities of windows with voice, and their number. */
  stretch: { probability: number; windows: number };
}

/** What was said before a silence that may become a pause. */
export interface LikelyEnd {
  text: string;
  /** Probability of an end of turn by the end-of-turn model. */
  finished: number;
}

export type Recognized = Pick<TurnSoFar, 'text' | 'continuation'>;

/** The silence after a stretch of speech; replaced when the caller goes on. */
export interface Pause {
  lengthMs: number;
  /** It was long enough to be worth a final transcript. */
  examined: boolean;
  finalTranscript: string | undefined;
  endOfTurnProbability: number | undefined;
  tone: Tone;
  /** How long there had been no words when it began: before it was another pause, then a sound that was no speech. */
  wordlessMs: number;
}

export function newUserUtterance(): UserUtterance {
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
    isEndReported: false,
    pause: newPause(),
    pauseBefore: undefined,
    stretch: { probability: 0, windows: 0 },
  };
}

export function newPause(): Pause {
  return {
    lengthMs: 0,
    examined: false,
    finalTranscript: undefined,
    endOfTurnProbability: undefined,
    tone: 'level',
    wordlessMs: 0,
  };
}

export function measure(utterance: UserUtterance, window: Float32Array, probability: number): void {
  utterance.probability += probability;
  utterance.energy += meanSquare(window);
  utterance.voicedWindows += 1;
  utterance.stretch.probability += probability;
  utterance.stretch.windows += 1;
}

export function dropAhead(utterance: UserUtterance): void {
  utterance.ahead?.cancel();
  utterance.ahead = undefined;
}

/** Silence that the end-of-turn model hears; with more of it, more pauses sound like an end. With the 40 ms that the detector is late it is 200 ms, as in `bench/voice-turns.ts`. */
const heardSilenceMs = 160;
const samplesPerMs = 16;

/** What the end-of-turn model hears. Silence that is still to come is like the last of what there is. */
export function lastSound(samples: Float32Array, silenceMs: number): Float32Array {
  const missing = Math.max(0, (heardSilenceMs - silenceMs) / windowMs);
  const silence = Array.from({ length: missing }, () => samples.slice(-windowMs * samplesPerMs));
  const end = samples.length - Math.max(0, silenceMs - heardSilenceMs) * samplesPerMs;
  return concatSamples([samples.subarray(0, end), ...silence]).slice(-soundWindow);
}
