import { mayBeEnglish } from './language.ts';
import { isUnspaced } from './words.ts';

/** A stretch of a text and where it stands. */
export interface Span {
  text: string;
  start: number;
  end: number;
}

/** Shortened words whose dot ends no sentence. */
const ABBREVIATION =
  /(?:^|[\s(])(?:[A-Z]|Mr|Mrs|Ms|Dr|Prof|St|Sr|Jr|vs|etc|e\.g|i\.e|cf|al|No|Nos|Fig|Figs|Eq|Vol|pp|ca|approx|Inc|Ltd|Co|Corp|Jan|Feb|Mar|Apr|Jun|Jul|Aug|Sept?|Oct|Nov|Dec|U\.S|U\.K|E\.U)\.$/;
/** Characters of a sentence. Tables, transcripts and lists of figures go on for pages, and comparing takes the square of the length. */
const LONGEST = 800;
const BOUNDARY = /[.!?…؟۔।॥]+["'”’»)\]]*(?=\s|$)|\n+|[。！？｡]+[」』”’）]*/gu;

/** The sentences of a text in order, each with its place; headings and list items count as sentences of their own. */
export function sentenceSpans(text: string): Span[] {
  const spans: Span[] = [];
  let start = 0;
  for (const match of text.matchAll(BOUNDARY)) {
    const end = match.index + match[0].length;
    if (continues(text, start, match.index, end)) continue;
    push(spans, text, start, end);
    start = end;
  }
  push(spans, text, start, text.length);
  return spans;
}

/** Whether the mark at this place stands inside a sentence: after an initial, in "U.S. troops", before a small letter. */
function continues(text: string, start: number, at: number, end: number): boolean {
  if (text[at] !== '.') return false;
  if (ABBREVIATION.test(text.slice(start, at + 1))) return true;
  // "am 1. Mai": an ordinal number, as many languages write it, but English does not.
  if (/(?:^|\D)\d{1,2}$/.test(text.slice(start, at)) && !mayBeEnglish(text)) return true;
  const next = /^\s*(\S)/.exec(text.slice(end, end + 20))?.[1];
  return next !== undefined && !/^\s*\n/.test(text.slice(end)) && /\p{Ll}/u.test(next);
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
