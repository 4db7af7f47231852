import { lazy } from '@trunkline/std';
import { isUnspaced } from './words.ts';

/** A stretch of a text and where it stands. */
export interface Span {
  text: string;
  start: number;
  end: number;
}

/** Shortened words whose dot ends no sentence, in English. */
const ABBREVIATION =
  /(?:^|[\s(|])(?:[A-Z]|Mr|Mrs|Ms|Dr|Prof|St|Sr|Jr|vs|etc|e\.g|i\.e|cf|al|No|Nos|Fig|Figs|Eq|Vol|pp|ca|approx|Inc|Ltd|Co|Corp|Jan|Feb|Mar|Apr|Jun|Jul|Aug|Sept?|Oct|Nov|Dec|U\.S|U\.K|E\.U)\.$/;
/** Those of other languages, where neither the lack of a vowel nor a single letter tells them. */
const SHORTENED = new Set(
  'Abb Tab Mme Mlle Mgr Sra Srta Ud Uds Av dott Sig Ing inkl exkl evtl sog ca geb gest bijv им ул'.split(' '),
);
/** "Art. 5": only before a figure, as some of them are words too. */
const COUNTED = new Set('Abs Art Kap Bd pág págs núm cap vol chap fig art ст рис табл стр'.split(' '));
/** "5 Mio. Mark": only behind a figure, where other short words are units that may end a sentence. */
const AMOUNTS = new Set('Mio Mrd Tsd Std Mill млн млрд тыс'.split(' '));
const NO_VOWEL = /^[bcdfghjklmnpqrstvwxz]{2,5}$/i;
/** Characters of a sentence. Tables, transcripts and lists of figures go on for pages, and comparing takes the square of the length. */
const LONGEST = 800;
const segmenter = lazy(() => new Intl.Segmenter('und', { granularity: 'sentence' }));
/** The end of a sentence with its mark, in whatever script. A run of marks is read once, from its beginning. */
const END = /(?<!\p{Sentence_Terminal})\p{Sentence_Terminal}+[\p{Pe}\p{Pf}"']*(?=\s*$)/u;
/** Where `Intl.Segmenter` reads on: from "in 1957." to a figure, past "…", and from one line break to the next. */
const BOUNDARY = /(?<![.!?…])[.!?…]+[\p{Pe}\p{Pf}"']*(?=\s|$)|\n+/gu;
/** Marks that `BOUNDARY` does not know. Without one `Intl.Segmenter`, which is slow, finds no end that `BOUNDARY` does not. */
const OTHER_MARK = /[\p{Sentence_Terminal}--[.!?]]/v;

/** The sentences of a text in order, each with its place; headings and list items count as sentences of their own. */
export function sentenceSpans(text: string): Span[] {
  const spans: Span[] = [];
  let start = 0;
  let isEnglish: boolean | undefined;
  const english = () => (isEnglish ??= mayBeEnglish(text));
  for (const [end, at] of endsOf(text)) {
    if (continues(text, start, at, end, english)) continue;
    push(spans, text, start, end);
    start = end;
  }
  push(spans, text, start, text.length);
  return spans;
}

/** Places where a sentence may end, in order, each with that of its mark. */
function endsOf(text: string): (readonly [end: number, at: number])[] {
  const boundaries: (readonly [end: number, at: number])[] = [];
  BOUNDARY.lastIndex = 0;
  for (let match = BOUNDARY.exec(text); match !== null; match = BOUNDARY.exec(text))
    boundaries.push([BOUNDARY.lastIndex, match.index]);
  if (!OTHER_MARK.test(text)) return boundaries;
  const ends = new Map<number, number>();
  for (const { segment, index } of segmenter().segment(text)) {
    const match = END.exec(segment);
    // Marks of ASCII stand also inside addresses and figures.
    if (match === null || (/^[.!?]/.test(match[0]) && !/\s$/.test(segment))) continue;
    ends.set(index + match.index + match[0].length, index + match.index);
  }
  for (const [end, at] of boundaries) ends.set(end, at);
  return [...ends].toSorted(([left], [right]) => left - right);
}

/** Whether the mark at this place stands inside a sentence: after an initial, in "U.S. troops", before a small letter. */
function continues(text: string, start: number, at: number, end: number, isEnglish: () => boolean): boolean {
  if (text[at] !== '.') return false;
  const before = text.slice(Math.max(start, at - LOOKED_AT), at);
  if (ABBREVIATION.test(`${before}.`)) return true;
  const isBeforeFigure = /^\s*\d/.test(text.slice(end, end + 5));
  if (isBeforeFigure && /(?<![\p{L}\p{N}])c$/u.test(before)) return true;
  // "am 1. Mai": an ordinal number, as many languages write it, but English does not.
  if (/(?:^|\D)\d{1,2}$/.test(before) && !isEnglish()) return true;
  if (isShortened(before, isBeforeFigure) && !isEnglish()) return true;
  const next = /^\s*(\S)/.exec(text.slice(end, end + 20))?.[1];
  return next !== undefined && !/^\s*\n/.test(text.slice(end)) && /\p{Ll}/u.test(next);
}

/** Characters before a dot that tell whether a word is shortened. */
const LOOKED_AT = 40;

/** Whether a text of another language than English ends in a shortened word, such as "z. B." or "5 Mio." */
function isShortened(before: string, isBeforeFigure: boolean): boolean {
  // Read from the end, as a look behind is.
  const [, figure, word = ''] = /$(?<=(\d\s?)?(?<!\p{L})(\p{L}+))/u.exec(before) ?? [];
  if (figure !== undefined) return AMOUNTS.has(word);
  if (word.length === 1 || SHORTENED.has(word)) return true;
  return isBeforeFigure
    ? COUNTED.has(word) || NO_VOWEL.test(word)
    : /\p{Ll}$/u.test(word) && NO_VOWEL.test(word);
}

function push(spans: Span[], text: string, start: number, end: number): void {
  for (let from = start; from < end; ) {
    const to = end - from <= LONGEST ? end : from + cutOf(text.slice(from, from + LONGEST));
    pushOne(spans, text, from, to);
    from = to;
  }
}

/** Where a stretch without a full stop is cut: behind its last space or comma, else in mid-word. */
function cutOf(stretch: string): number {
  const end = Math.max(stretch.lastIndexOf(' '), stretch.lastIndexOf(',')) + 1;
  return end > LONGEST / 2 ? end : LONGEST;
}

function pushOne(spans: Span[], text: string, start: number, end: number): void {
  const raw = text.slice(start, end);
  const lead = raw.length - raw.trimStart().length;
  const trimmed = raw.trim();
  if (!/[\p{L}\p{N}]/u.test(trimmed)) return;
  spans.push({ text: trimmed, start: start + lead, end: start + lead + trimmed.length });
}

const LEAST_WORDS = 2;
const LEAST_CHARACTERS = 8;
const LEAST_UNSPACED = 4;

/** Where the words stand in the text, whatever the line breaks and the forms of quotation marks; undefined when they do not. */
export function findWords(words: string, text: string): Span | undefined {
  const parts = words
    .trim()
    .replace(/^["“”'‘’]+|["“”'‘’]+$/g, '')
    .split(/\s+/);
  const isTooShort = isUnspaced(words)
    ? parts.join('').length < LEAST_UNSPACED
    : parts.length < LEAST_WORDS || parts.join(' ').length < LEAST_CHARACTERS;
  if (isTooShort) return undefined;
  const pattern = parts.map(patternOf).join('\\s+');
  const match = new RegExp(pattern, 'iu').exec(text);
  return match === null
    ? undefined
    : { start: match.index, end: match.index + match[0].length, text: match[0] };
}

function patternOf(word: string): string {
  return word
    .replace(/[\\^$.*+?()[\]{}|/]/g, '\\$&')
    .replace(/["“”]/g, '["“”]')
    .replace(/['‘’]/g, "['‘’]")
    .replace(/[-‐‑–—]/g, '[-‐‑–—]');
}

/** A text in one line, and no longer than so many characters. */
export function oneLine(text: string, longest = Number.POSITIVE_INFINITY): string {
  return text
    .slice(0, 4 * longest)
    .replace(/\s+/g, ' ')
    .trim()
    .slice(0, longest)
    .trimEnd()
    .toWellFormed();
}

/** Words that are frequent in one language and rare or missing in the others; only to tell which language a text is in. */
const WORDS_BY_LANGUAGE = {
  en: 'the of and to is was by for from with that were has had not are its it be which their this have they been but than more',
  de: 'der die das und ist von mit für ein eine einen den dem des zu auf nicht sich auch als im wurde werden sind bei nach wird',
  fr: 'le la les des et est une du dans pour que qui par sur au aux plus pas ce cette sont ont été avec il elle en un se ne',
  es: 'el los las y del se con una por su que es fue en un lo para como más al son la ha pero entre este esta no',
  it: 'il di che è gli nel della dei con per una sono del al la le un non si da più alla anche come stato',
  pt: 'o os da do em uma não que é para com as dos no na por mais foi um se ao como são sua',
  nl: 'het een van en de is dat op te zijn met voor niet aan er om werd ook als bij door naar wordt',
  ca: 'els amb és dels són més aquest aquesta seva seves però també',
};
const LANGUAGES = Object.keys(WORDS_BY_LANGUAGE);

/** The languages that a word is frequent in. */
const FREQUENT = new Map<string, string[]>();
for (const [language, words] of Object.entries(WORDS_BY_LANGUAGE))
  for (const word of new Set(words.split(' '))) FREQUENT.set(word, [...(FREQUENT.get(word) ?? []), language]);

const LATIN = scriptOf(String.raw`\p{Script=Latin}`);
const SAMPLE = 4000;

/**
 * Whether a text may be English: Latin letters, and no other language has more of its frequent words. A text of names and
 * figures alone may be.
 */
export function mayBeEnglish(text: string): boolean {
  if (!isWrittenIn(LATIN, text)) return false;
  const { en: english = 0, ...others } = frequentShares(text);
  return Object.values(others).every((share) => share <= english);
}

/** The share of letters that must be of a script for a text to be written in it. */
const MOST_LETTERS = 0.9;

/** A script, or several that a language is written in. */
interface Script {
  letter: RegExp;
  otherLetters: RegExp;
}

function scriptOf(characters: string): Script {
  return {
    letter: new RegExp(String.raw`[\p{L}&&[${characters}]]`, 'v'),
    otherLetters: new RegExp(String.raw`[\p{L}--[${characters}]]`, 'gv'),
  };
}

const LETTERS = /\p{L}/gu;

/** Of the beginning of the text. */
function isWrittenIn({ letter, otherLetters }: Script, text: string): boolean {
  const sample = text.slice(0, SAMPLE);
  if (!letter.test(sample)) return false;
  const count = (letters: RegExp) => sample.match(letters)?.length ?? 0;
  const others = count(otherLetters);
  if (others === 0) return true;
  const all = count(LETTERS);
  return all - others >= all * MOST_LETTERS;
}

/** The share of words that are frequent ones, by language. */
function frequentShares(text: string): Record<string, number> {
  const words =
    text
      .slice(0, SAMPLE)
      .toLowerCase()
      .match(/\p{L}+/gu) ?? [];
  const counts = Object.fromEntries(LANGUAGES.map((language) => [language, 0]));
  for (const word of words)
    for (const language of FREQUENT.get(word) ?? []) counts[language] = (counts[language] ?? 0) + 1;
  const total = Math.max(1, words.length);
  return Object.fromEntries(LANGUAGES.map((language) => [language, (counts[language] ?? 0) / total]));
}

/** Chinese and Japanese. */
const EAST_ASIAN = scriptOf(String.raw`\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}ー`);

/** A language of each script that one language is mostly written in, as far as this program reads it. */
const BY_SCRIPT: readonly (readonly [Script, string])[] = [
  [EAST_ASIAN, 'ja'],
  [scriptOf(String.raw`\p{Script=Cyrillic}`), 'ru'],
  [scriptOf(String.raw`\p{Script=Thai}`), 'th'],
  [scriptOf(String.raw`\p{Script=Arabic}`), 'ar'],
  [scriptOf(String.raw`\p{Script=Hangul}`), 'ko'],
  [scriptOf(String.raw`\p{Script=Hebrew}`), 'he'],
  [scriptOf(String.raw`\p{Script=Devanagari}`), 'hi'],
  [scriptOf(String.raw`\p{Script=Greek}`), 'el'],
];

/** The language that a text is most likely written in, as far as numbers are written by it; undefined where nothing tells. */
export function likelyLanguage(text: string): string | undefined {
  const script = BY_SCRIPT.find(([letters]) => isWrittenIn(letters, text));
  if (script !== undefined) return script[1];
  if (!isWrittenIn(LATIN, text)) return undefined;
  const [[language = '', share = 0] = [], [, next = 0] = []] = Object.entries(frequentShares(text)).toSorted(
    ([, left], [, right]) => right - left,
  );
  return share > next ? language : undefined;
}

/** The share of frequent words from which a text is in a language; those of English stand in few others. */
const LEAST_FREQUENT = 0.12;
const LEAST_ENGLISH = 0.07;
/** How many times more of them it has than of any other language. Catalan has many of Spanish, and of French. */
const CLEARLY = 1.5;

/** Whether the text is surely in one of these languages, of those that are told apart here; "zh" is Japanese too. */
export function isSurelyIn(languages: readonly string[], text: string): boolean {
  if (isWrittenIn(EAST_ASIAN, text)) return languages.includes('zh');
  if (!isWrittenIn(LATIN, text)) return false;
  const [[language = '', share = 0] = [], [, next = 0] = []] = Object.entries(frequentShares(text)).toSorted(
    ([, left], [, right]) => right - left,
  );
  const least = language === 'en' ? LEAST_ENGLISH : LEAST_FREQUENT;
  return languages.includes(language) && share >= least && share >= next * CLEARLY;
}
