import { lazy } from '@trunkline/std';
import { languageOf } from '../../languages/languages.ts';

/** A part of a text that can be spoken by itself, with its place in the text. */
export interface Clause {
  text: string;
  start: number;
  end: number;
}

/** In words: a clause of `comma` may end at a comma, one of `any` ends anywhere, one of `early` where a short pause is natural. */
interface ClauseWords {
  comma: number;
  early: number;
  any: number;
}

/** The first clause may be short, so that the voice is heard early; later ones are whole sentences where they can be. */
const first: ClauseWords = { comma: 3, early: Infinity, any: 12 };
const later: ClauseWords = { comma: 14, early: Infinity, any: 32 };
/** Somebody waits: the voice begins with a few words. Each clause is at most about twice as long as the one before, so that a slow voice has it in time. */
const firstEarly: readonly ClauseWords[] = [
  { comma: 3, early: 3, any: 12 },
  { comma: 3, early: 8, any: 14 },
  { comma: 8, early: 16, any: 32 },
];
/** Longer words are nothing that can be said; a wall of them is cut anywhere. */
const longestClause = 400;

interface ClauseSplitterOptions {
  /** Somebody waits for the text. */
  startsEarly?: boolean;
  /** Whether the sound of a first clause is there already: then it stands without the words that follow it. */
  isReady?(text: string): boolean;
}

/** Cuts a text that is still being written into clauses. */
export class ClauseSplitter {
  readonly #startsEarly: boolean;
  readonly #isReady: (text: string) => boolean;
  #text = '';
  #start = 0;
  #taken = 0;

  constructor({ startsEarly = false, isReady = () => false }: ClauseSplitterOptions = {}) {
    this.#startsEarly = startsEarly;
    this.#isReady = isReady;
  }

  /** The clauses that stand now that this has been added. */
  push(text: string): Clause[] {
    this.#text += text;
    const clauses: Clause[] = [];
    for (let end = this.#findEnd(); end !== undefined; end = this.#findEnd())
      clauses.push(...this.#take(end));
    return clauses;
  }

  /** What is left, when nothing more will follow for now. */
  flush(): Clause[] {
    return this.#take(this.#text.length);
  }

  /** The first clause as it is if more words follow; undefined when nothing is likely, or it stands. */
  get likelyFirst(): Clause | undefined {
    if (!this.#startsEarly || this.#taken > 0) return undefined;
    const rest = this.#text.slice(this.#start);
    // Of code nothing is said.
    if (rest.includes(fence)) return undefined;
    const words = endsSentence.test(rest) ? rest : rest.slice(0, rest.search(/\s+\S*$/));
    const ends = breaksIn(`${words} `);
    const end = ends.find((place) => this.#endsAt(`${words} more words `, place));
    return end === undefined ? undefined : this.#clauseTo(this.#start + end);
  }

  #take(end: number): Clause[] {
    const clause = this.#clauseTo(end);
    this.#start = end;
    if (clause === undefined) return [];
    this.#taken += 1;
    return [clause];
  }

  #clauseTo(end: number): Clause | undefined {
    const text = this.#text.slice(this.#start, end);
    if (text.trim() === '') return undefined;
    return { text: text.trim(), start: this.#start + text.search(/\S/), end };
  }

  #findEnd(): number | undefined {
    const rest = this.#text.slice(this.#start);
    if (this.#taken === 0 && endsSentence.test(rest) && this.#isReady(rest.trim())) return this.#text.length;
    for (const end of breaksOutsideCode(rest)) if (this.#endsAt(rest, end)) return this.#start + end;
    const isCut = rest.length > longestClause && !isInCode(rest.slice(0, longestClause));
    return isCut ? this.#start + longestClause : undefined;
  }

  #endsAt(rest: string, end: number): boolean {
    const text = rest.slice(0, end);
    const words = countWords(text);
    if (words === 0) return false;
    if (/\n\s*$/.test(text) || isSentence(text)) return true;
    if (this.#taken === 0 && this.#isReady(text.trim())) return true;
    const { comma, early, any } = this.#limits;
    if (isPhrase(text, rest.slice(end))) return words >= comma;
    if (words >= early && mayPause(text, rest.slice(end), words < early + manyShortWords)) return true;
    return words >= any || text.length > longestClause;
  }

  get #limits(): ClauseWords {
    const early = this.#startsEarly ? firstEarly[this.#taken] : undefined;
    return early ?? (this.#taken === 0 ? first : later);
  }
}

/** The last mark of a text that is still being written may grow, but rarely does after a letter. */
const endsSentence = /\p{L}[.!?]$/u;

/** In most languages articles, prepositions and pronouns are shorter than this; a pause after them sounds wrong. */
const longWord = 4;
/** After so many of them a pause comes all the same. */
const manyShortWords = 3;

/**
 * Whether a voice may pause between words: after a long one, and not right before the end. Numbers stay with what they
 * count, and what stands in brackets, a row of a table or a heading stays together. Numbers in words are not known.
 */
function mayPause(text: string, next: string, needsLongWord: boolean): boolean {
  const [last = ''] = /[\p{L}\p{M}'’]+$/u.exec(text) ?? [];
  if (last === '' || /^\s*[|#]/.test(text) || /\d\S*(\s+\S+)?$/.test(text) || blankless.test(text))
    return false;
  if (needsLongWord && last.length < longWord) return false;
  const isOpen = text.split(/[[(]/).length > text.split(/[\])]/).length || text.split('`').length % 2 === 0;
  return !isOpen && /^(\s+[\p{L}\p{M}\p{N}'’-]+){2}(?=\s)/u.test(next);
}

/** A block of code is one clause, of which nothing is said. */
const fence = '```';

/** Whether a block of code has begun and not ended. */
function isInCode(text: string): boolean {
  return text.split(fence).length % 2 === 0;
}

/** Code may be long, and the text comes in small pieces: what stands in an open block is not looked at. */
function breaksOutsideCode(rest: string): number[] {
  const isOpen = isInCode(rest);
  const places = breaksIn(isOpen ? rest.slice(0, rest.lastIndexOf(fence)) : rest);
  const fences = [...rest.matchAll(/```/g)].map(({ index }) => index + fence.length);
  let passed = 0;
  return places.filter((end) => {
    while ((fences[passed] ?? Number.POSITIVE_INFINITY) <= end) passed += 1;
    return passed % 2 === 0;
  });
}

/** Scripts that put no blanks between words. */
const blankless = /[\p{sc=Han}\p{sc=Hira}\p{sc=Kana}\p{sc=Thai}\p{sc=Lao}\p{sc=Khmr}\p{sc=Mymr}]/u;
const segmenter = lazy(() => new Intl.Segmenter(undefined, { granularity: 'word' }));
/** Marks that end a sentence or a part of it without a blank after them; a closing quote may still follow. */
const closers = /["'”’」』）)\]】》]/;
const fullStops = '。！？｡';
const halfStops = '、，；：､';

/**
 * The places where a clause may end, in their order. The last mark of a text that is still being written may grow. A run of
 * marks or of letters is read once, from its beginning.
 */
function breaksIn(rest: string): number[] {
  const marks = new RegExp(
    `(?<![.?!…।॥؟۔])[.?!…।॥؟۔]+["')\\]”»]*(?=\\s)|[,;:،؛](?=\\s)|\\s[–—-](?=\\s)|\\n+` +
      `|(?<![^\\s${fullStops}${halfStops}])[^\\s${fullStops}${halfStops}]+(?=\\s)` +
      `|[${fullStops}]+${closers.source}*(?=[^${fullStops}"'”’」』）)\\]】》])|[${halfStops}](?=.)`,
    'gsu',
  );
  const places = [...rest.matchAll(marks)].map((found) => found.index + found[0].length);
  if (!blankless.test(rest)) return places;
  // The last word may still grow.
  const words = [...segmenter().segment(rest)].filter(({ isWordLike }) => isWordLike).slice(0, -1);
  const ends = words
    .filter(({ segment }) => blankless.test(segment))
    .map(({ index, segment }) => index + segment.length);
  return [...new Set([...places, ...ends])].toSorted((left, right) => left - right);
}

function countWords(text: string): number {
  if (!blankless.test(text)) return text.trim().split(/\s+/).filter(Boolean).length;
  return [...segmenter().segment(text)].filter(({ isWordLike }) => isWordLike).length;
}

/** Whether a text ends with a part of a sentence. Thai and its kin put a blank between phrases. */
function isPhrase(text: string, next: string): boolean {
  const trimmed = text.trim();
  if (/[,;:–—،؛、，；：､-]$/.test(trimmed)) return !/\d,$/.test(trimmed);
  return /^\s/.test(next) && /[\p{sc=Thai}\p{sc=Lao}\p{sc=Khmr}\p{sc=Mymr}]$/u.test(trimmed);
}

/** Whether somebody is asked something. */
export function isQuestion(text: string): boolean {
  return /[?？؟\u037e]["'”’」』）)\]»]*\s*$/.test(text);
}

/** Of all languages that are spoken here. */
const abbreviation =
  /(?<![\p{L}\p{M}\p{N}])(mr|mrs|ms|dr|prof|st|jr|sr|vs|etc|e\.g|i\.e|no|approx|dept|inc|ltd|a\.m|p\.m|sra|srta|dra|uds?|p\. ?ej|pág|núm|avda?|mm|p\. ?ex|tél|tel|sigg?|dott|avv|ing|pag|profa|डॉ|प्रो|[a-z])\.$/iu;

function isSentence(text: string): boolean {
  const trimmed = text.trim();
  return (
    /[.?!…。！？｡।॥؟۔]["')\]”’»」』）】》]*$/.test(trimmed) &&
    !abbreviation.test(trimmed) &&
    !/(^|\s)\d+\.$/.test(trimmed)
  );
}

/** How many characters of a text a share of it covers, up to the last whole word. */
export function lengthOfShare(text: string, share: number): number {
  if (share >= 1) return text.length;
  const length = Math.round(text.length * share);
  if (!blankless.test(text)) return Math.max(0, text.slice(0, length).search(/\s\S*$/));
  return [...segmenter().segment(text)].findLast(({ index }) => index <= length)?.index ?? 0;
}

/** A written text as it can be said: without markup, code, source numbers, addresses and pictographs. */
export function spokenText(text: string, language = languageOf('en')): string {
  const { link, spoken } = language;
  return spokenLines(text.replace(/```[\s\S]*?(```|$)/g, ' '))
    .replace(/\s*\[\d+(?:, ?\d+)*\](?:\([^)\s]*\))?/g, '')
    .replace(/!?\[([^\]]*)\]\((?:[^)\s]*)\)/g, '$1')
    .replace(/https?:\/\/\S+/g, link)
    .replace(/^\s*(?:#{1,6}|[-*+]|>)\s+/gm, '')
    .replace(/(?<=[\d)]) *\*\* *(?=[\d(])/g, ` ${spoken.symbols['**']} `)
    .replace(/(?<=[\d)]) *\* *(?=[\d(])/g, ` ${spoken.symbols['×']} `)
    .replace(/\*\*|__|[*`~|]|(?<=\s|^)_|_(?=\s|$)/g, '')
    .replace(/\p{Extended_Pictographic}|\u{FE0F}|\u{200D}/gu, '')
    .replace(/\s+/g, ' ')
    .trim();
}

/** Rows of tables and items of lists become sentences, so that a pause follows each. */
function spokenLines(text: string): string {
  const lines = text.split('\n').filter((line) => line.trim() !== '');
  const said = lines.map((line, index) => {
    const row = /^\s*\|(.+)\|\s*$/.exec(line)?.[1];
    if (row !== undefined) {
      const cells = row.split('|').map((cell) => cell.trim());
      return cells.some(isSayable) ? `${cells.filter(isSayable).join(', ')}.` : '';
    }
    const isItem = /^\s*(?:#{1,6}|[-*+]|\d+[.)])\s+\S/.test(line) && index < lines.length - 1;
    return isItem && !/[.!?:;,…।。]["')*_`]*\s*$/.test(line) ? `${line}.` : line;
  });
  return said.join('\n');
}

/** Whether there is anything in it that makes a sound. */
export function isSayable(text: string): boolean {
  return /[\p{L}\p{N}]/u.test(text);
}
