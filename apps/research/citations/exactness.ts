import type { Span } from '../text/sentences.ts';
import { type CheckedDocument, missingFigure, skeletonOf } from './document.ts';
import { denies, type Statement, type Token, withoutNegation } from './statement.ts';
import { figureOfAnotherRow } from './tables.ts';

/**
 * What no judge can overrule: a figure, date or name of the claim that the text does not have, or has in a table for another. It compares signs and not
 * words of one language, so it holds for any; where it cannot tell, it raises no objection.
 */
export function objectionTo(claim: Statement, document: CheckedDocument): string | undefined {
  const figure = missingFigure(claim, document.inventory);
  if (figure !== undefined) return `what was read of the page has no figure "${figure}"`;
  const row = figureOfAnotherRow(claim, document);
  if (row !== undefined) return `the page has the figure "${row}" in another row of its table`;
  const name = missingName(claim, document);
  return name === undefined ? undefined : `what was read of the page does not name "${name}"`;
}

/** Above this share of capitals a language writes more than names with them, as German does. */
const MOST_CAPITALS = 0.2;
/** The share of a claim's small words that a page in the same language has. */
const SAME_LANGUAGE = 1 / 3;

function isSameLanguage({ tokens }: Statement, { inventory }: CheckedDocument): boolean {
  const small = tokens.filter(({ kind, capital }) => kind === 'word' && !capital);
  const known = small.filter(({ lower }) => inventory.words.has(lower)).length;
  return small.length > 0 && known >= small.length * SAME_LANGUAGE;
}

function missingName(claim: Statement, document: CheckedDocument): string | undefined {
  const { title, sentences, inventory } = document;
  if (inventory.capitals > MOST_CAPITALS || !isSameLanguage(claim, document)) return undefined;
  const missing = claim.tokens.filter(
    (token) =>
      isName(token) &&
      !isNamed(token, inventory.words) &&
      !inventory.skeletons.some((other) => isLike(skeletonOf(token.lower), other)),
  );
  return missing.find(({ text }) => !hasInitials(text, title, sentences))?.text;
}

/** Written with a capital inside the sentence, and long enough to tell it from others. */
function isName({ kind, capital, first, content, lower }: Token): boolean {
  return kind === 'word' && capital && !first && content && lower.length >= 3;
}

const ENDING = 4;

/** Names take endings: "Orvane's", "Москве", "Parisian". */
function isNamed({ lower }: Token, words: ReadonlySet<string>): boolean {
  if (words.has(lower) || words.has(lower.replace(/['’]s?$/, ''))) return true;
  const root = lower.slice(0, Math.max(ENDING, lower.length - 3));
  return root.length >= ENDING && [...words].some((word) => word.startsWith(root));
}

const LEAST_SKELETON = 3;

function isLike(one: string, other: string): boolean {
  return one.slice(0, LEAST_SKELETON) === other.slice(0, LEAST_SKELETON) && one.length >= LEAST_SKELETON;
}

/** "UN" where the page has the United Nations. */
function hasInitials(text: string, title: string, sentences: CheckedDocument['sentences']): boolean {
  if (!/^\p{Lu}{2,6}s?$/u.test(text)) return false;
  const wanted = text.replace(/s$/, '');
  const capitals = [title, ...sentences.map(({ span }) => span.text)].map((words) =>
    (words.match(/(?<!\p{L})\p{Lu}/gu) ?? []).join(''),
  );
  return capitals.some((initials) => initials.includes(wanted));
}

/**
 * Why the words that a model shows for its "supported" do not bear on the claim, if they do not: they deny what it says,
 * or stand far from its figures.
 */
export function irrelevanceOf(claim: Statement, shown: Span, document: CheckedDocument): string | undefined {
  const places = document.sentences.flatMap(({ span }, place) =>
    span.start < shown.end && span.end > shown.start ? [place] : [],
  );
  const [first = 0, last = first] = [places[0], places.at(-1)];
  const statementsIn = (from: number, to: number) =>
    document.sentences.slice(Math.max(0, from), to + 1).map(({ statement }) => statement);
  if (statementsIn(first, last).some((statement) => isTurned(claim, statement)))
    return 'the passage says the opposite';
  return isElsewhere(claim, statementsIn(first - NEIGHBOURS, last + NEIGHBOURS), document)
    ? 'the words shown for it are about something else'
    : undefined;
}

/** Sentences on either side of what is shown that may name what it is about. */
const NEIGHBOURS = 2;

/**
 * Figures of the claim stand on the page, and none of them near what is shown. Years may be what a whole page is about, and
 * a figure behind a name be a part of it.
 */
function isElsewhere(claim: Statement, near: readonly Statement[], document: CheckedDocument): boolean {
  const valuesIn = (statements: readonly Statement[]) =>
    new Set(statements.flatMap(({ figures }) => figures.flatMap(({ values }) => values)));
  const here = valuesIn(near);
  const onPage = new Set(document.inventory.values);
  const known = claim.figures.filter(
    ({ values, isYear, at }) =>
      !isYear &&
      claim.tokens[at - 1]?.capital !== true &&
      values.some((value) => value >= 10 && onPage.has(value)),
  );
  return known.length > 0 && !known.some(({ values }) => values.some((value) => here.has(value)));
}

/** The same words, and one of the two denies them. */
function isTurned(claim: Statement, sentence: Statement): boolean {
  const [own, theirs] = [claim, sentence].map(({ tokens }) => tokens.map(({ lower }) => lower).join(' '));
  if (own === undefined || theirs === undefined || denies(own) === denies(theirs)) return false;
  return likeness(withoutNegation(own), withoutNegation(theirs)) >= SAME_WORDS;
}

const SAME_WORDS = 0.8;

/** The share of words that two texts have in common, 0 to 1. */
function likeness(one: string, other: string): number {
  const [left, right] = [one, other].map((text) => new Set(text.split(/\s+/).filter(Boolean)));
  if (left === undefined || right === undefined || left.size + right.size === 0) return 0;
  const shared = [...left].filter((word) => right.has(word)).length;
  return (2 * shared) / (left.size + right.size);
}
