import { type DateMention, datesOf } from './dates.ts';
import { type Quantity, quantitiesOf } from './quantities.ts';
import { type Token, tokensOf } from './tokens.ts';

/** A sentence taken apart into what can be compared. */
export interface Statement {
  text: string;
  tokens: readonly Token[];
  /** Stems that carry meaning, each once, in order. */
  stems: readonly string[];
  quantities: readonly Quantity[];
  dates: readonly DateMention[];
}

export function statementOf(text: string): Statement {
  const tokens = tokensOf(withoutPhrases(text)).map((token, at, all) =>
    isHabit(all, at) ? { ...token, content: false } : token,
  );
  const { dates, used } = datesOf(tokens);
  const quantities = quantitiesOf(tokens, used);
  const counted = (at: number) => quantities.some((quantity) => at >= quantity.at && at < quantity.end);
  const content = tokens.filter(
    (token, at) => token.content && !used.has(at) && !counted(at) && !MAGNITUDES.has(token.lower),
  );
  return {
    text,
    tokens,
    stems: [...new Set(content.map((token) => token.stem))],
    quantities,
    dates,
  };
}

/** The "used" of "used to be". */
function isHabit(tokens: readonly Token[], at: number): boolean {
  return tokens[at]?.lower === 'used' && tokens[at + 1]?.lower === 'to';
}

const MAGNITUDES = new Set(
  'hundred thousand million billion trillion percent approximately roughly nearly almost'.split(' '),
);

/** Verbs of two words and the single word for each. */
const PHRASES: [RegExp, string][] = [
  [/\b(?:lost|losing|lose) (?:their|his|her) (?:lives|life)\b/gi, 'died'],
  [/\bturn(?:ed|s|ing)? down\b/gi, 'rejected'],
  [/\b(?:turned|turn|turns|switched|switch) on\b/gi, 'enabled on'],
  [/\b(?:gave|give|gives|given|giving) up\b/gi, 'abandoned'],
  [/\bset(?:s|ting)? up\b/gi, 'established'],
  [/\b(?:put|puts|putting) off\b/gi, 'postponed'],
  [/\b(?:bring|brings|brought) in\b/gi, 'introduced'],
  [/\b(?:carry|carries|carried) out\b/gi, 'performed'],
  [/\b(?:call|called|calls) off\b/gi, 'cancelled'],
  [/\b(?:go|goes|went|gone) up\b/gi, 'rise'],
  [/\b(?:go|goes|went|gone|came|come) down\b/gi, 'fall'],
  [/\b(?:break|broke|breaks|broken) out\b/gi, 'began'],
  [/\b(?:find|found|work|worked) out\b/gi, 'discovered'],
  [/\b(?:shut|shuts|closed|closes) down\b/gi, 'closed'],
  [/\b(?:tear|tore|torn|pulled|knocked) down\b/gi, 'demolished'],
  [/\bstep(?:ped|s)? down\b/gi, 'resigned'],
  [/\b(?:hand|handed) over\b/gi, 'gave'],
  [/\b(?:blow|blew|blown) up\b/gi, 'exploded'],
  [/\bturned over\b/gi, 'capsized'],
  [/\b(?:die|died|dies) out\b/gi, 'vanished'],
  [/\bno one\b/gi, 'nobody'],
  [/\b(?:left|leaves|leave) out\b/gi, 'omitted'],
];

/** The text with single words for its phrases, for comparing only. */
function withoutPhrases(text: string): string {
  return PHRASES.reduce((plain, [phrase, word]) => plain.replace(phrase, word), text);
}
