import { isBackchannel, isStopWord, wordsIn } from './words.ts';

// Barge-in: does speech over the bot's own interrupt it?

/** The caller speaks while the bot has the turn. */
export interface Overlap {
  /** How long they have spoken. */
  speechMs: number;
  /** The transcript without self-speech; undefined: none yet. */
  words: string | undefined;
  /** They have stopped, and the transcript is final. */
  over: boolean;
  /** It sounds like the bot's own voice. */
  selfSpeech: boolean;
}

/** `wait`: too early to say. `ignore`: no interruption. `pause`: hold the output until there are words. */
export type InterruptionVerdict = 'wait' | 'ignore' | 'pause' | 'interrupt';

const sureMs = 350;
const unsureMs = 500;
const sureWords = 2;

export function judgeInterruption({ speechMs, words, over, selfSpeech }: Overlap): InterruptionVerdict {
  if (selfSpeech) return 'ignore';
  if (words === undefined) return speechMs >= unsureMs ? 'pause' : 'wait';
  const count = wordsIn(words).length;
  if (count === 0 || isBackchannel(words)) return 'ignore';
  if (count >= sureWords || isStopWord(words) || speechMs >= sureMs) return 'interrupt';
  return over ? 'ignore' : 'wait';
}

/** A pause without words for this long was a false interruption. */
export const falseInterruptionTimeoutMs = 2000;
