import { type Language, languageOf } from '../../languages/languages.ts';
import { isQuestion } from '../speaking/speech-text.ts';
import { phraseMeaning, wordsIn } from './short-phrase.ts';

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
  /** How sure it is that this is a voice at all, from 0 to 1. */
  voiceProbability?: number | undefined;
  /** It is much softer than the caller: somebody else in the room. */
  far?: boolean;
  /** It is much louder than the caller was. */
  raised?: boolean;
  /** Their voice rose at the end; undefined before there is one. */
  rises?: boolean | undefined;
  /** The bot has just asked something. */
  asks: boolean;
  /** The bot is about to finish, and nothing follows. */
  ending?: boolean;
}

/**
 * `wait`: too early to say. `ignore`: no interruption. `pause`: hold the output until it is clear what was said.
 * `answer`: the words answer the bot; they are kept until it has finished.
 */
export type InterruptionVerdict = 'wait' | 'ignore' | 'pause' | 'answer' | 'interrupt';

/** Who surely speaks is not spoken over: what is on its way may be heard for another 60 ms. */
const sureVoiceMs = 190;
const unsureMs = 500;
/** A word that is still being said may be the beginning of a backchannel until then. */
const sureMs = 800;
const sureWords = 2;
/** A recogniser may take a cough this short for a word, and several for a sentence. */
const [shortMs, longestSoundMs] = [350, 1500];
/** Short words of three voices, also soft and in noise, had 0.82 to 0.99; a window counts as voice from 0.45 on. */
export const surelyVoice = 0.8;

/** In doubt the bot pauses, and what was said is heard: only what is surely a backchannel lets it go on. */
export function judgeInterruption(overlap: Overlap): { verdict: InterruptionVerdict; reason: string } {
  const {
    speechMs,
    words,
    over,
    selfSpeech,
    far = false,
    asks,
    ending = false,
    voiceProbability = 1,
  } = overlap;
  const judged = (verdict: InterruptionVerdict, reason: string) => ({ verdict, reason });
  if (selfSpeech) return judged('ignore', "it sounds like the bot's own voice");
  // Echo cancellation makes callers softer too: what answers the bot, or is meant to stop it, counts.
  if (far && !asks && !isOrder(words ?? '', surelyOrder))
    return words === undefined && !over
      ? judged('wait', 'a voice far away, no words yet')
      : judged('ignore', 'the voice is further away than the caller');
  if (words === undefined) {
    const neededMs = voiceProbability >= surelyVoice ? sureVoiceMs : unsureMs;
    return speechMs >= neededMs
      ? judged('pause', `${neededMs} ms of voice, no words yet`)
      : judged('wait', 'no words yet');
  }
  const count = wordsIn(words).length;
  // The first word of a sentence is often one that the bot has just said too. A mere echo ends soon: the bot is silent.
  const isEarly = !over && speechMs < falseInterruptionTimeoutMs;
  if (count === 0 && isEarly && voiceProbability >= surelyVoice)
    return judged('wait', 'surely a voice, no words of its own yet');
  if (count === 0) return judged('ignore', 'no words were understood');
  // "Okay" shows that somebody listens, except when it is what the bot has asked for.
  if (isBackchannel(overlap, words)) {
    if (asks) return judged('answer', `"${words}" answers the question`);
    return ending
      ? judged('answer', `"${words}" comes as the bot finishes`)
      : judged('ignore', `"${words}" is a backchannel`);
  }
  const isCommand = isOrder(words);
  // Recognisers find words in a cough; the final transcript shows whether there were any.
  const isDoubtful = !over && voiceProbability < surelyVoice && speechMs < longestSoundMs;
  if (isDoubtful && (isCommand || count >= sureWords)) return judged('pause', `"${words}" may be no words`);
  if (isCommand) return judged('interrupt', `"${words}" is an order or a correction`);
  if (count >= sureWords) return judged('interrupt', `"${words}" is two words or more`);
  if (asks) return judged(speechMs >= sureMs ? 'interrupt' : 'answer', `"${words}" answers the question`);
  if (speechMs < shortMs && voiceProbability < surelyVoice)
    return over
      ? judged('ignore', `"${words}" is short and may be no voice`)
      : judged('wait', 'a short sound that may be no voice');
  if (speechMs >= sureMs) return judged('interrupt', `"${words}" lasted ${sureMs} ms or longer`);
  return over
    ? judged('interrupt', `"${words}" may be meant to interrupt`)
    : judged('pause', 'a single word so far');
}

const longestBackchannelMs = 1200;
const mostBackchannelWords = 3;
const surely = 0.75;

/** Whether somebody only shows that they listen, by words, length and loudness. */
export function isBackchannel(
  { speechMs, raised = false, rises = true }: Pick<Overlap, 'speechMs' | 'raised' | 'rises'>,
  words: string,
): boolean {
  const isShort = speechMs <= longestBackchannelMs && wordsIn(words).length <= mostBackchannelWords;
  // Recognisers write "Right?" for a mere "right": who asks lets the voice rise.
  if (!isShort || raised || (isQuestion(words) && rises)) return false;
  const { acknowledgement, order } = phraseMeaning(words);
  return acknowledgement >= surely && order < 1 - surely;
}

const longestOrderWords = 4;
/** A television says "hello" and "what" too. */
const surelyOrder = 0.9;

/** Whether a few words are meant to stop, refuse or correct. */
export function isOrder(text: string, atLeast = 0.5): boolean {
  return wordsIn(text).length <= longestOrderWords && phraseMeaning(text).order >= atLeast;
}

/** A pause without words for this long, since the caller surely spoke, was a false interruption. */
export const falseInterruptionTimeoutMs = 2000;

/** Whether somebody who has put the call on hold wants to go on. */
export function comesBack(text: string, language: Language): boolean {
  const words = ` ${wordsIn(text).join(' ')} `;
  return language.heard.comesBack.split(', ').some((phrase) => words.includes(` ${phrase} `));
}

export function isHesitation(word: string, language = english): boolean {
  return language.heard.hesitations.split(', ').includes(word);
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
