import type { Span } from '../text/sentences.ts';
import { type CheckedDocument, plainClaim } from './document.ts';
import { promising } from './nearest.ts';
import { statementOf } from './statement.ts';

const WHOLE = 3000;
const MOST_SENTENCES = 8;

/** What of a page is shown to a judge of the claim: all of a short one, else the sentences nearest to it with those beside them. */
export function excerptFor(claim: string, document: CheckedDocument): string {
  if (document.text.length <= WHOLE) return document.text.trim();
  const near = promising(statementOf(plainClaim(claim)), document).slice(0, MOST_SENTENCES);
  const places = [...new Set(near.flatMap((place) => [place - 1, place, place + 1]))];
  const shown: Span[] = [];
  let length = 0;
  for (const place of places) {
    const span = document.sentences[place]?.span;
    if (span === undefined || length + span.text.length > WHOLE) continue;
    length += span.text.length;
    shown.push(span);
  }
  return shown
    .toSorted((left, right) => left.start - right.start)
    .map(({ text }) => text)
    .join('\n');
}

const LEAST_WORDS = 2;
const LEAST_CHARACTERS = 8;

/** Where the words stand in the text, whatever the line breaks and the forms of quotation marks; undefined when they do not. */
export function findWords(words: string, text: string): Span | undefined {
  const parts = words
    .trim()
    .replace(/^["“”'‘’]+|["“”'‘’]+$/g, '')
    .split(/\s+/);
  if (parts.length < LEAST_WORDS || parts.join(' ').length < LEAST_CHARACTERS) return undefined;
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
