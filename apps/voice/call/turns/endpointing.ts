import { phraseCue } from './cues.ts';
import type { Tone } from './tone.ts';
import { isBackchannel, isStopWord, wordsIn } from './words.ts';

// The one place that decides whose turn it is.

/** What is known about a speaker who has paused. */
export interface Pause {
  /** What they have said so far; undefined while it is being recognised. */
  text: string | undefined;
  /** How the voice moved before the pause. */
  tone: Tone;
  /** How long they usually pause in mid-thought; 0: not known. */
  usualPauseMs: number;
  /** Probability that they have finished, from a model of its own; undefined where there is none. */
  finished?: number | undefined;
}

const shortestSilenceMs = 350;
const longestSilenceMs = 3000;
const plainSilenceMs = 550;
const finishedSilenceMs = 400;
const modelSilenceMs = 300;
const doubtfulSilenceMs = 1200;
const unfinishedSilenceMs = 1700;
const dictationSilenceMs = 2000;
const risingMs = 250;
const paceMarginMs = 150;
const longestPaceMs = 1500;

/** How long the silence must last before the turn goes to the other side. */
export function endpointingDelay(pause: Pause): number {
  if (pause.text === undefined) return longestSilenceMs;
  const needed =
    pause.finished === undefined ? byCues(pause.text, pause.tone) : byModel(pause.text, pause.finished);
  const speakingRate =
    pause.usualPauseMs === 0 ? 0 : Math.min(pause.usualPauseMs + paceMarginMs, longestPaceMs);
  return Math.min(Math.max(needed, speakingRate), longestSilenceMs);
}

function byCues(text: string, tone: Tone): number {
  const cue = phraseCue(text);
  if (cue === 'dictating') return dictationSilenceMs;
  if (cue === 'unfinished') return unfinishedSilenceMs;
  // A voice that rises without a question is one that lists or thinks.
  const waiting = tone === 'rising' && !/\?\s*$/.test(text) ? risingMs : 0;
  if (cue === 'finished') return (tone === 'falling' ? shortestSilenceMs : finishedSilenceMs) + waiting;
  return plainSilenceMs + waiting;
}

/** The model hears more than we do, but it does not know that a number has more digits. */
function byModel(text: string, finished: number): number {
  if (phraseCue(text) === 'dictating') return dictationSilenceMs;
  if (finished >= 0.7) return modelSilenceMs;
  return finished >= 0.5 ? plainSilenceMs : finished >= 0.25 ? doubtfulSilenceMs : unfinishedSilenceMs;
}

/** Whether the words stand so firmly that an answer may be prepared before the turn is over. */
export function isLikelyEndOfTurn(pause: Pause): boolean {
  return pause.text !== undefined && endpointingDelay(pause) <= plainSilenceMs + risingMs;
}

/** Somebody speaks while the other side has the turn. */
export interface Overlap {
  /** How long they have spoken. */
  speechMs: number;
  /** What was understood, without the other side's own words, which come back as an echo; undefined: nothing yet. */
  words: string | undefined;
  /** They have stopped, and the words are all there is. */
  over: boolean;
  /** It sounds like the other side's own voice. */
  echo: boolean;
}

/** `wait`: too early to say. `ignore`: let it pass. `hold`: stop and listen. `yield`: give up the turn. */
export type InterruptionVerdict = 'wait' | 'ignore' | 'hold' | 'yield';

const sureMs = 350;
const unsureMs = 500;
const sureWords = 2;

export function judgeInterruption({ speechMs, words, over, echo }: Overlap): InterruptionVerdict {
  if (echo) return 'ignore';
  if (words === undefined) return speechMs >= unsureMs ? 'hold' : 'wait';
  const count = wordsIn(words).length;
  if (count === 0 || isBackchannel(words)) return 'ignore';
  if (count >= sureWords || isStopWord(words) || speechMs >= sureMs) return 'yield';
  return over ? 'ignore' : 'wait';
}

/** How long a held speaker waits for words before going on. */
export const falseInterruptionTimeoutMs = 2000;
