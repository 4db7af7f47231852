import { type Language, languageOf } from '../../languages/languages.ts';

// Barge-in: does speech over the bot's own interrupt it?

const english = languageOf('en');

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
  /** It is much softer than the caller: somebody else in the room. */
  far?: boolean;
  /** The bot is saying a question, and nothing after it. */
  asks: boolean;
  /** English if not given. */
  language?: Language | undefined;
}

/**
 * `wait`: too early to say. `ignore`: no interruption. `pause`: hold the output until there are words.
 * `answer`: the words answer the bot's question; they are kept until it has been asked.
 */
export type InterruptionVerdict = 'wait' | 'ignore' | 'pause' | 'answer' | 'interrupt';

const sureMs = 350;
const unsureMs = 500;
const sureWords = 2;

export function judgeInterruption(overlap: Overlap): { verdict: InterruptionVerdict; reason: string } {
  const { speechMs, words, over, selfSpeech, far = false, asks, language } = overlap;
  const judged = (verdict: InterruptionVerdict, reason: string) => ({ verdict, reason });
  if (selfSpeech) return judged('ignore', "it sounds like the bot's own voice");
  // Echo cancellation makes callers softer too: what answers the bot, or is meant to stop it, counts.
  if (far && !asks && !isStopWord(words ?? '', language))
    return words === undefined && !over
      ? judged('wait', 'a voice far away, no words yet')
      : judged('ignore', 'the voice is further away than the caller');
  if (words === undefined)
    return speechMs >= unsureMs
      ? judged('pause', `${unsureMs} ms of voice, no words yet`)
      : judged('wait', 'no words yet');
  const count = wordsIn(words).length;
  if (count === 0) return judged('ignore', 'no words were understood');
  // "Okay" shows that somebody listens, except when it is what the bot has just asked for.
  if (isBackchannel(words, language))
    return asks
      ? judged('answer', `"${words}" answers the question`)
      : judged('ignore', `"${words}" is a backchannel`);
  if (isStopWord(words, language)) return judged('interrupt', `"${words}" holds a stop word`);
  if (count >= sureWords) return judged('interrupt', `"${words}" is two words or more`);
  if (speechMs >= sureMs) return judged('interrupt', `"${words}" lasted ${sureMs} ms or longer`);
  if (asks) return judged('answer', `"${words}" answers the question`);
  return over
    ? judged('ignore', `"${words}" is a single short word`)
    : judged('wait', 'a single word so far');
}

/** A pause without words for this long was a false interruption. */
export const falseInterruptionTimeoutMs = 2000;

/** The words of a text in lower case, without punctuation. */
export function wordsIn(text: string): string[] {
  return (
    text
      .toLowerCase()
      .replace(/[’']/g, '')
      .match(/[\p{L}\p{M}\p{N}]+/gu) ?? []
  );
}

const longestBackchannel = 4;

interface Heard {
  words: ReadonlySet<string>;
  phrases: readonly string[];
  hesitations: ReadonlySet<string>;
  stop: ReadonlySet<string>;
}

const heardIn = new Map<Language, Heard>();

/** The words of callers in a language. */
function heardWords(language: Language): Heard {
  const known = heardIn.get(language);
  if (known !== undefined) return known;
  const { backchannels, hesitations, stop } = language.heard;
  const listed = backchannels.split(', ');
  const heard = {
    words: new Set(listed.filter((entry) => !entry.includes(' '))),
    phrases: listed.filter((entry) => entry.includes(' ')),
    hesitations: new Set(hesitations.split(', ')),
    stop: new Set(stop.split(', ')),
  };
  heardIn.set(language, heard);
  return heard;
}

/** Whether somebody only shows that they listen: "mhm", "yeah, right", "I see". */
export function isBackchannel(text: string, language = english): boolean {
  const { words: single, phrases, hesitations } = heardWords(language);
  const words = wordsIn(text);
  if (words.length === 0 || words.length > longestBackchannel) return false;
  const rest = phrases.reduce((left, phrase) => left.replaceAll(` ${phrase} `, ' '), ` ${words.join(' ')} `);
  return rest.split(' ').every((word) => word === '' || single.has(word) || hesitations.has(word));
}

/** Whether a single word is meant to stop the one who speaks. */
export function isStopWord(text: string, language = english): boolean {
  return wordsIn(text).some((word) => heardWords(language).stop.has(word));
}

/** Whether somebody who has put the call on hold wants to go on. */
export function comesBack(text: string, language: Language): boolean {
  const words = ` ${wordsIn(text).join(' ')} `;
  return language.heard.comesBack.split(', ').some((phrase) => words.includes(` ${phrase} `));
}

export function isHesitation(word: string, language = english): boolean {
  return heardWords(language).hesitations.has(word);
}

/** Limit of one message; the beginning is dropped. */
const longestJoined = 8000;

/** What the caller said or wrote, and when they began to. */
export interface Words {
  text: string;
  saidAt: number;
}

export const nothing: Words = { text: '', saidAt: Infinity };

/** What was said before and now, as one text. */
export function joined(before: Words, after: Words): Words {
  const said = [before, after].filter(({ text }) => text !== '');
  const text = said.map((words) => words.text).join(' ');
  return { text: text.slice(-longestJoined), saidAt: Math.min(...said.map(({ saidAt }) => saidAt)) };
}
