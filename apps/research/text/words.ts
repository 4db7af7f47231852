import { irregularStems } from './irregular.ts';

const STOP_WORDS = new Set(
  `a an the and or but nor so yet if then else than that this these those there here it its he she they them his her their our your my we you i me us him who whom whose which what when
  where why how is are was were be been being am do does did done doing has have had having will would shall should can could may might must of in on at by for with about against
  between into through during before after above below to from up down out off over under again further once as too very just also only own same such both each few more most other some
  any all no not however therefore thus while because since until although though whether per via upon within without among across along around behind beyond like near toward towards
  according`.split(/\s+/),
);

/** A word or a number in a text. */
export const WORD = /\d[\d.,]*\d|\d|\p{L}[\p{L}\p{N}]*(?:'\p{L}+)?/gu;

/** Words in lower case; a number keeps its dots and commas, a word its inner apostrophes and hyphens. */
export function tokenize(text: string): string[] {
  return text.toLowerCase().replace(/[’‘]/g, "'").match(WORD) ?? [];
}

export function isStopWord(word: string): boolean {
  return STOP_WORDS.has(word);
}

/** The stems of the words that carry meaning. */
export function contentStems(text: string): string[] {
  return tokenize(text)
    .filter((word) => !STOP_WORDS.has(word) && !/^\d/.test(word) && word.length > 1)
    .map(stem);
}

const ENDINGS: [RegExp, string][] = [
  [/'s?$/, ''],
  [/(?:ies|ied)$/, 'y'],
  [/(ss|sh|ch|x|z)es$/, '$1'],
  [/([^aeiousy])s$/, '$1'],
  [/([aeio])s$/, '$1'],
  [/ys$/, 'y'],
  [/(?:ational|ation|ations|ator|ators)$/, 'at'],
  [/(.{3})(?:ization|isation|izing|ising|ized|ised|ize|ise)$/, '$1iz'],
  [/(?:ments?|nesses|ness)$/, ''],
  [/(?:ically|ical)$/, 'ic'],
  [/(?:ingly|edly)$/, ''],
  [/(.{3})ing$/, '$1'],
  [/(.{3})ed$/, '$1'],
  [/(.{3})ly$/, '$1'],
  [/(.{3})e$/, '$1'],
  [/(.{4})(?:ion|iv|abl|ibl|al|er|or|ity)$/, '$1'],
  [/([^aeiou])\1$/, '$1'],
];

/** Long texts say the same words over and over. Longer words are not kept: they would hold the whole text they were cut from. */
const known = new Map<string, string>();
const MOST_KNOWN = 50_000;
const LONGEST_KNOWN = 12;

/** A rough stem, so that "rises", "rising" and "rise" meet. Used on both sides of a comparison. */
export function stem(word: string): string {
  const before = known.get(word);
  if (before !== undefined) return before;
  const found = stemOf(word);
  if (word.length > LONGEST_KNOWN) return found;
  if (known.size >= MOST_KNOWN) known.clear();
  known.set(word, found);
  return found;
}

function stemOf(word: string): string {
  const base = irregularStems.get(word) ?? irregularStems.get(word.replace(/s$/, '')) ?? word;
  if (base.length < 4) return base;
  return ENDINGS.reduce((text, [ending, instead]) => {
    const shorter = text.replace(ending, instead);
    return shorter.length >= 3 ? shorter : text;
  }, base);
}
