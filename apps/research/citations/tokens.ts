import { isStopWord, isUnspaced, spaced, stem } from '../text/words.ts';
import { isNumber } from './figures.ts';

/** A word, a number or a mark of a text. */
export interface Token {
  text: string;
  lower: string;
  stem: string;
  kind: 'word' | 'number' | 'mark';
  /** Begins with a capital letter. */
  capital: boolean;
  /** First word of its sentence, where a capital says nothing. */
  first: boolean;
  /** Carries meaning of its own. */
  content: boolean;
}

const TOKEN =
  /(?<!\p{Nd})\p{Nd}{1,3}(?:[ \u00A0\u2009\u202F]\p{Nd}{3})+(?!\p{Nd})(?:[.,]\p{Nd}+)?|\p{Nd}+(?:[.,'’٫٬]\p{Nd}+)*|[〇零一二三四五六七八九十百千]{2,}|\p{L}[\p{L}\p{M}]*(?:['’]\p{L}+)?|[%٪$€£¥°,;:()]/gu;

export function tokensOf(sentence: string): Token[] {
  const tokens: Token[] = [];
  let first = true;
  for (const [text] of spacedWords(sentence).matchAll(TOKEN)) {
    const token = tokenOf(text, first);
    if (token.kind === 'word') first = false;
    tokens.push(token);
  }
  return tokens;
}

/** Numbers in ideographs stay whole. */
function spacedWords(sentence: string): string {
  return sentence
    .split(/([〇零一二三四五六七八九十百千]{2,})/)
    .map((part, place) => (place % 2 ? ` ${part} ` : spaced(part)))
    .join('');
}

function tokenOf(text: string, first: boolean): Token {
  const lower = text.toLowerCase().replaceAll('’', "'");
  if (isNumber(text))
    return { text, lower, stem: lower, kind: 'number', capital: false, first: false, content: false };
  if (!/^\p{L}/u.test(text))
    return { text, lower, stem: lower, kind: 'mark', capital: false, first: false, content: false };
  const content = !isStopWord(lower) && (lower.length > 1 || isUnspaced(lower));
  return { text, lower, stem: stem(lower), kind: 'word', capital: /^\p{Lu}/u.test(text), first, content };
}
