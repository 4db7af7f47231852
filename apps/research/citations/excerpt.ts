import { promising } from './check.ts';
import { type CheckedDocument, plainClaim } from './document.ts';
import { statementOf } from './statement.ts';

/** Characters of a page that a language model is shown. */
const WHOLE = 3000;
const MOST_SENTENCES = 8;
/** Words that the built-in model is shown at most, as in its training. */
const WORDS_SHOWN = 185;

/**
 * What of a page is shown to a language model: all of a short one, else the sentences nearest to the claim with those beside them, and
 * the items of a list that one of them introduces.
 */
export function excerptFor(claim: string, document: CheckedDocument): string {
  if (isShownWhole(document)) return document.text.trim();
  return nearestSentences(claim, document, WHOLE, ({ length }) => length, listAround).join('\n');
}

export function isShownWhole({ text }: CheckedDocument): boolean {
  return text.length <= WHOLE;
}

/** What of a page is shown to the built-in model. */
export function shownToOwn(claim: string, document: CheckedDocument): string {
  if (wordCount(document.text) <= WORDS_SHOWN) return document.text.trim().replace(/\s+/g, ' ');
  return nearestSentences(claim, document, WORDS_SHOWN, wordCount, () => []).join(' ');
}

const wordCount = (text: string) => text.split(/\s+/).length;

/** The sentences that have most of the claim, each with its neighbours and what else belongs to it, up to a size, in the order of the page. */
function nearestSentences(
  claim: string,
  document: CheckedDocument,
  most: number,
  sizeOf: (text: string) => number,
  belongingTo: (place: number, document: CheckedDocument) => number[],
): string[] {
  const near = promising(statementOf(plainClaim(claim)), document).slice(0, MOST_SENTENCES);
  const shown = new Set<number>();
  let size = 0;
  for (const place of near.flatMap((each) =>
    [each, each - 1, each + 1].flatMap((at) => [at, ...belongingTo(at, document)]),
  )) {
    const text = document.sentences[place]?.span.text;
    if (text === undefined || shown.has(place) || size + sizeOf(text) > most) continue;
    size += sizeOf(text);
    shown.add(place);
  }
  return [...shown]
    .sort((left, right) => left - right)
    .map((place) => document.sentences[place]?.span.text ?? '');
}

/** An item of a list, or a row of a table. */
const ITEM = /^(?:[-*•–]|\d+[.)]|\|)\s/;
const MOST_ITEMS = 12;
/** Characters of a list that are shown at most, so that other sentences have room. */
const LONGEST_LIST = 600;

/** The items of the list that a line introduces; of an item the line that introduces it. */
function listAround(place: number, { sentences }: CheckedDocument): number[] {
  const textAt = (at: number) => sentences[at]?.span.text ?? '';
  const isItem = (at: number) => ITEM.test(textAt(at));
  if (isItem(place)) {
    let first = place;
    while (isItem(first - 1) && place - first < MOST_ITEMS) first -= 1;
    // The head of a table, and the line above it.
    return [first - 1, first];
  }
  const items: number[] = [];
  let length = 0;
  for (let at = place + 1; isItem(at) && items.length < MOST_ITEMS; at += 1) {
    length += textAt(at).length;
    if (length > LONGEST_LIST) break;
    items.push(at);
  }
  return items;
}
