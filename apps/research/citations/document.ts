import { mayBeEnglish, type Span, sentenceSpans } from '../text/sentences.ts';
import { type Figure, type Statement, statementOf, tokensOf } from './statement.ts';
import { areSynonyms } from './synonyms.ts';

const MOST_VALUES = 20_000;

const RELATIVE =
  /\byears? (?:before|after|later|earlier|ago)|\b(?:last|next|previous|following|preceding) (?:year|decade|spring|summer|autumn|winter)|\b\d{3}0s\b|\bcentury\b/i;

const LOOSE =
  /^(?:about|around|roughly|approximately|nearly|almost|some|over|under|than|least|most|circa|to|up)$/;

const NEAR_YEARS = 12;

/** The share of a figure that rounding takes or adds at most. */
export const ROUNDED = 0.006;

const SCALES = [
  1, 10, 100, 1000, 1e4, 1e6, 1e8, 1e9, 1e12, 0.1, 0.01, 0.001, 60, 3600, 24, 7, 12, 365, 0.3048, 3.2808,
  1.6093, 0.6214, 0.4536, 2.2046, 2.54,
];

const MOST_PAIRED = 60;

const LEAST_WORDS = 4;

/** A document taken apart once, for any number of claims. */
export interface CheckedDocument {
  title: string;
  text: string;
  sentences: readonly { span: Span; statement: Statement }[];
  /** How rare a stem is in the document: a rare one says more about whether two sentences mean the same. */
  weight(stem: string): number;
  inventory: Inventory;
}

const MOST_SENTENCES = 4000;

/** The consonants of a name: "Breton" and "Brittany" have the same. */
export function skeletonOf(lower: string): string {
  const plain = lower.normalize('NFD').replace(/\p{M}|['’]s?$/gu, '');
  return (plain.slice(0, 1) + plain.slice(1).replace(/[aeiouy]/g, '')).replace(/(.)\1+/gu, '$1');
}

/** `isWhole`: nothing of the page or file is missing in the text, so that what it lacks is not there. */
export function prepareDocument(title: string, text: string, isWhole = true): CheckedDocument {
  const spans = sentenceSpans(text);
  const sentences = spans
    .slice(0, MOST_SENTENCES)
    .map((span) => ({ span, statement: statementOf(span.text) }));
  const statements = sentences.map(({ statement }) => statement);
  return {
    title,
    text,
    sentences,
    weight: weightsOf(statements),
    inventory: inventoryOf(title, text, statements, isWhole && spans.length <= MOST_SENTENCES),
  };
}

function weightsOf(statements: readonly Statement[]): CheckedDocument['weight'] {
  const counts = new Map<string, number>();
  for (const { stems } of statements) for (const stem of stems) counts.set(stem, (counts.get(stem) ?? 0) + 1);
  const total = Math.max(1, statements.length);
  return (stem) => 1 + 0.25 * Math.log((total + 1) / ((counts.get(stem) ?? 0) + 1));
}

/** The claim without citation marks and Markdown. */
export function plainClaim(text: string, kind: 'line' | 'cell' = 'line'): string {
  // "- 28" and "> 10" are no lists in a cell of a table.
  const isLine = kind === 'line';
  return text
    .replace(/\[\d{1,3}\??\]|\[\?\]/g, '')
    .replace(/\[([^\]]*)\]\([^)]*\)/g, '$1')
    .replace(isLine ? /^\s*(?:[-*•>]|#{1,6}|\d+[.)])\s+/ : '', '')
    .replace(/\*\*|__|`/g, '')
    .trim();
}

/** A whole document as far as it matters for what it lacks. */
interface Inventory {
  text: string;
  isEnglish: boolean;
  stems: ReadonlySet<string>;
  /** Every word in lower case, those of the title too. */
  words: ReadonlySet<string>;
  /** The share of words inside sentences that are written with a capital. */
  capitals: number;
  /** Consonants of the words with a capital. */
  skeletons: readonly string[];
  /** Words that are written with a capital inside a sentence. */
  names: ReadonlySet<string>;
  /** Every number and year. */
  values: readonly number[];
  isWhole: boolean;
}

function inventoryOf(
  title: string,
  text: string,
  statements: readonly Statement[],
  isWhole: boolean,
): Inventory {
  const tokens = statements.flatMap((statement) => statement.tokens);
  const all = [...tokensOf(title), ...tokens].filter(({ kind }) => kind === 'word');
  const inside = tokens.filter(({ kind, first }) => kind === 'word' && !first);
  const capitals = new Set(all.filter(({ capital }) => capital).map(({ lower }) => lower));
  const values = statements.flatMap(({ figures }) => figures.flatMap((figure) => figure.values));
  return {
    text: `${title}\n${text}`,
    isEnglish: mayBeEnglish(text),
    stems: new Set(tokens.map(({ stem }) => stem)),
    words: new Set(all.map(({ lower }) => lower)),
    capitals: inside.filter(({ capital }) => capital).length / Math.max(1, inside.length),
    skeletons: [...capitals].map(skeletonOf),
    names: new Set(tokens.filter(({ capital, first }) => capital && !first).map(({ lower }) => lower)),
    values: [...new Set(values)].slice(0, MOST_VALUES),
    isWhole,
  };
}

/**
 * Words for a figure or a name of the claim that stands nowhere on the page and follows from nothing on it. Of a page that
 * is not stored whole nobody can say that.
 */
export function absentFrom(claim: Statement, page: Inventory): string | undefined {
  if (!page.isWhole) return undefined;
  const figure = missingFigure(claim, page);
  if (figure !== undefined) return `the page nowhere has the figure "${figure}"`;
  return sharesNothing(claim, page) ? 'the page says nothing about it' : undefined;
}

/** A figure of the claim that stands nowhere in the text and follows from nothing in it. */
export function missingFigure(claim: Statement, page: Inventory): string | undefined {
  const isAbsent = (figure: Figure) =>
    figure.isYear ? isYearAbsent(figure, page) : isExact(figure, claim) && !follows(figure, page);
  return claim.figures.find(isAbsent)?.text;
}

/** A year that no number of the page is, or ends like, on a page that counts from no other year. */
function isYearAbsent(
  { values: [value = 0], text: year }: Figure,
  { values, text, isEnglish }: Inventory,
): boolean {
  if (text.includes(year) || values.includes(value) || RELATIVE.test(text)) return false;
  // Other languages say "the year after" in words that are not known here.
  if (!isEnglish && values.some((other) => Math.abs(other - value) <= NEAR_YEARS)) return false;
  return !derived(values).includes(value) && !text.includes(`–${year.slice(2)}`);
}

/** Given to at least three digits, and not as a rough figure. */
function isExact({ values: [value = 0], at }: Figure, { tokens }: Statement): boolean {
  const digits = String(value)
    .replace(/\D/g, '')
    .replace(/^0+|0+$/g, '');
  if (value === 0 || digits.length < 3) return false;
  return !tokens.slice(Math.max(0, at - 2), at).some(({ lower }) => LOOSE.test(lower));
}

/** A figure of the page in another unit or rounded, or the sum, the difference or the share of two of them. */
function follows({ values: readings, isPercent }: Figure, page: Inventory): boolean {
  return readings.some((value) => followsFrom(value, isPercent, page));
}

function followsFrom(value: number, isPercent: boolean, { values }: Inventory): boolean {
  const isNear = (other: number) => Math.abs(other - value) <= Math.abs(value) * ROUNDED;
  if (values.some((other) => SCALES.some((scale) => isNear(other * scale)))) return true;
  return derived(values).includes(value) || (isPercent && shares(values).some(isNear));
}

function derived(values: readonly number[]): number[] {
  const few = values.slice(0, MOST_PAIRED);
  return few.flatMap((left) => few.flatMap((right) => [left + right, left - right]));
}

function shares(values: readonly number[]): number[] {
  const few = values.slice(0, MOST_PAIRED);
  return few.flatMap((left) => few.map((right) => (right === 0 ? 0 : (left / right) * 100)));
}

/** None of its words stands on the page, nor one that means the same. Only within English: a translation shares no word. */
function sharesNothing({ stems, tokens }: Statement, page: Inventory): boolean {
  if (
    stems.length < LEAST_WORDS ||
    !page.isEnglish ||
    !mayBeEnglish(tokens.map(({ text }) => text).join(' '))
  )
    return false;
  return stems.every(
    (stem) => !page.stems.has(stem) && ![...page.stems].some((other) => areSynonyms(stem, other)),
  );
}
