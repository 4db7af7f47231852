import type { TextCall } from './text-calls.ts';

/** A stretch of an answer. `stray`: all text so far were thoughts whose opening tag was left out. */
export type Piece =
  | { type: 'text' | 'reasoning'; text: string }
  | { type: 'call'; call: TextCall }
  | { type: 'stray' };

export interface SplitOptions {
  /** `open`: the answer begins within thoughts, whose opening tag stands in the model's template. */
  thoughts: 'auto' | 'open' | 'none';
  /** `open` is only a guess from earlier answers: what is cut off before thoughts end is text. */
  isGuess: boolean;
  /** Thoughts that the answer begins within go out as they come. Where they turn out to be the answer, it follows as text. */
  isLive: boolean;
  /** Tools whose calls are read; none are read when it is empty. */
  offered: ReadonlySet<string>;
  /** The model is known to write calls as text: forms that could be an answer count too. */
  writesCalls: boolean;
  /** Whether the model repeats text from outside: that is never a call. */
  isQuoted(call: TextCall): boolean;
}
