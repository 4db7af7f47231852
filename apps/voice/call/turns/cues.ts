import { isHesitation, wordsIn } from './words.ts';

/** What the words of a pausing speaker tell about whether more will come. */
export type PhraseCue = 'finished' | 'open' | 'unfinished' | 'dictating';

export function phraseCue(text: string): PhraseCue {
  const words = wordsIn(text);
  if (words.length === 0) return 'open';
  if (isDictating(text, words)) return 'dictating';
  if (trailsOff(text, words)) return 'unfinished';
  return endsSentence(text) ? 'finished' : 'open';
}

/** Words after which a sentence must go on. */
const leading = new Set(
  `a an the my your his her its our their this these those and or but nor so because if when while although unless until
  than of to in on at by for from with without about into onto over under between through during before after
  is are was were am be been im youre hes shes were theyre its thats will would can could should shall may might must
  do does did have has had i we they he she like very really just some any every each which who whose whom what where
  why how also then maybe please lets gonna wanna need want let tell give set call`
    .split(/\s+/)
    .filter((word) => word !== ''),
);
/** Short sentences that end in one of those words all the same. */
const complete =
  /\b(what for|where to|where from|i do|i am|i have|i will|we are|we do|yes i can|i can|i would|what is it|who is it|it is|they are|like that|like this|what about it|and then what|how come|after that|before that|do you|can you|are you|will you|would you|dont you|say what|guess what|so what|now what|or what|tell me why|tell me how|i think so|let me in|come in|turn on|turn it on|go on|log in|put it on|how about this|about this|what was that)$/;

function trailsOff(text: string, words: string[]): boolean {
  const last = words.at(-1) ?? '';
  if (isHesitation(last)) return true;
  if (/[,:;–—-]\s*$|…\s*$|\.\.\.\s*$/.test(text)) return true;
  if (/[?!]\s*$/.test(text)) return false;
  return leading.has(last) && !complete.test(words.join(' '));
}

function endsSentence(text: string): boolean {
  return /[.?!]["')]?\s*$/.test(text) && !/\.\.\.\s*$/.test(text);
}

const digitWords = new Set(
  'zero oh one two three four five six seven eight nine ten double triple hundred thousand plus dash dot'.split(
    ' ',
  ),
);
const dictated =
  /\b(number|phone|code|card|pin|zip|account|serial|digits|extension|cell|mobile|postcode|id)\b/i;
const question = /\?\s*$|^\s*(what|how|when|where|who|which|is|are|do|does|can|could|will|would)\b/i;
/** A telephone number is whole with ten digits, a card with sixteen. */
const wholeNumber = { phone: 10, card: 16 };

/** Whether digits are being said one after the other, and more of them are to be expected. */
function isDictating(text: string, words: string[]): boolean {
  const run = trailingDigits(words);
  if (run === 0 || question.test(text)) return false;
  const whole = /\b(card|account|serial)\b/i.test(text) ? wholeNumber.card : wholeNumber.phone;
  if (run >= whole) return false;
  return dictated.test(text) || run >= 3;
}

function trailingDigits(words: string[]): number {
  const firstOther = words.findLastIndex((word) => !/^\d+$/.test(word) && !digitWords.has(word));
  return words.slice(firstOther + 1).reduce((sum, word) => sum + (/^\d+$/.test(word) ? word.length : 1), 0);
}
