import { lazy } from '@trunkline/std';
import { isSurelyIn, mayBeEnglish, type Span, sentenceSpans } from '../text/sentences.ts';
import { hasUnreadNumber, isOfYears, NUMBER_LANGUAGES, sharesIn, spelledNumbers } from './number-words.ts';
import { comparedTokens, quantityAt } from './quantities.ts';
import { compareQuantities } from './quantity-comparison.ts';
import type { Quantity } from './quantity-joins.ts';
import { type Notation, notationOf } from './quantity-words.ts';
import { isWorkedOut } from './rounding.ts';
import { covers, type Figure, lowerText, type Statement, statementOf, tokensOf } from './statement.ts';
import { textsWithUnits } from './table-units.ts';

const MOST_VALUES = 20_000;

const RELATIVE =
  /\byears? (?:before|after|later|earlier|ago)|\b(?:last|next|previous|following|preceding) (?:year|decade|spring|summer|autumn|winter)|\bcentury\b/i;
/** Any year of such a decade may be meant. */
const DECADE = /\b\d{3}0s\b/;
const SPELLED_DECADE = /\b(?:twen|thir|for|fif|six|seven|eigh|nine)ties\b/i;

const LOOSE =
  /^(?:about|around|roughly|approximately|nearly|almost|some|over|under|than|least|most|circa|to|up)$/;

/** Years that a text counts from another one at most. */
export const NEAR_YEARS = 12;

/** Whether the text may count years from another; languages other than English do so in words that are not known here. */
export function countsYears(text: string, isEnglish: boolean): boolean {
  return !isEnglish || RELATIVE.test(text);
}

/** The share of a figure that rounding takes or adds at most. */
export const ROUNDED = 0.006;

const SCALES = [
  1, 10, 100, 1000, 1e4, 1e6, 1e8, 1e9, 1e12, 0.1, 0.01, 0.001, 1e-4, 1e-6, 1e-8, 1e-9, 1e-12, 60, 3600, 24,
  7, 12, 365, 0.3048, 3.2808, 1.6093, 0.6214, 0.4536, 2.2046, 2.54,
];

const MOST_PAIRED = 60;

/** A document taken apart once, for any number of claims. */
export interface CheckedDocument {
  title: string;
  text: string;
  sentences: readonly { span: Span; statement: Statement }[];
  /** How rare a stem is in the document: a rare one says more about whether two sentences mean the same. */
  weight(stem: string): number;
  readonly notation: Notation;
  readonly inventory: Inventory;
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
  const texts = textsWithUnits(spans.slice(0, MOST_SENTENCES), text);
  const sentences = spans
    .slice(0, MOST_SENTENCES)
    .map((span, index) => ({ span, statement: statementOf(texts[index] ?? span.text) }));
  const statements = sentences.map(({ statement }) => statement);
  const notation = lazy(() => notationOf(text));
  const inventory = lazy(() =>
    inventoryOf(title, text, statements, notation(), isWhole && spans.length <= MOST_SENTENCES),
  );
  return {
    title,
    text,
    sentences,
    weight: weightsOf(statements),
    // A claim that quotes the page does without these.
    get notation() {
      return notation();
    },
    get inventory() {
      return inventory();
    },
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
  notation: Notation;
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
  /** Numbers in words. */
  spelled: readonly number[];
  /** Those of them that count years. */
  spelledYears: readonly number[];
  /** It has a number in words that is not understood. */
  hasUnread: boolean;
  /** Its language is one whose numbers in words are read. */
  isReadable: boolean;
  statements: readonly Statement[];
  isWhole: boolean;
}

function inventoryOf(
  title: string,
  text: string,
  statements: readonly Statement[],
  notation: Notation,
  isWhole: boolean,
): Inventory {
  const tokens = statements.flatMap((statement) => statement.tokens);
  const all = [...tokensOf(title), ...tokens].filter(({ kind }) => kind === 'word');
  const inside = tokens.filter(({ kind, first }) => kind === 'word' && !first);
  const capitals = new Set(all.filter(({ capital }) => capital).map(({ lower }) => lower));
  const values = statements.flatMap(({ figures }) => figures.flatMap((figure) => figure.values));
  const isEnglish = mayBeEnglish(text);
  const spelled = statements.flatMap((each) =>
    spelledNumbers(each.tokens, isEnglish).map(({ value, from, at }) => ({
      value,
      isOfYears: isOfYears(each.tokens, at, from),
    })),
  );
  return {
    text: `${title}\n${text}`,
    isEnglish,
    notation,
    stems: new Set(tokens.map(({ stem }) => stem)),
    words: new Set(all.map(({ lower }) => lower)),
    capitals: inside.filter(({ capital }) => capital).length / Math.max(1, inside.length),
    skeletons: [...capitals].map(skeletonOf),
    names: new Set(tokens.filter(({ capital, first }) => capital && !first).map(({ lower }) => lower)),
    values: [...new Set(values)].slice(0, MOST_VALUES),
    spelled: [...new Set(spelled.map(({ value }) => value))],
    spelledYears: spelled.filter(({ isOfYears }) => isOfYears).map(({ value }) => value),
    hasUnread: UNREAD_SIGNS.test(text) || statements.some((each) => hasUnreadNumber(each.tokens, isEnglish)),
    isReadable: isSurelyIn(NUMBER_LANGUAGES, text),
    statements,
    isWhole,
  };
}

/** Chinese and Japanese numbers in signs above ten thousand, "一万二千", years in Roman signs, and "eighteen-hundreds". */
const UNREAD_SIGNS =
  /[一二三四五六七八九十百千][万萬亿億]|[万萬亿億][一二三四五六七八九]|(?<!\p{L})(?=[MDCLXVI]{4})M{1,2}(?:CM|CD|D?C{0,3})(?:XC|XL|L?X{0,3})(?:IX|IV|V?I{0,3})(?!\p{L})|teen[ -]hundreds?(?!\p{L})/u;

/**
 * Words for a year of the claim that is surely not on the page. Of a page that is not stored whole, or that may have it as a
 * word of a language that is not read, nobody can say that. Other figures, and years near those of the page, may follow from
 * what it says, as an example or by a calculation: they are refused, but not surely.
 */
export function absentFrom(claim: Statement, page: Inventory): string | undefined {
  if (!page.isWhole || !page.isReadable || page.hasUnread) return undefined;
  const isNear = (year: number) =>
    page.values.some((other) => isYearValue(other) && Math.abs(other - year) <= NEAR_YEARS);
  const figure = absentFigures(claim, page).find(
    (each) =>
      each.isYear && !isRough(each, claim) && !mayBeWorkedOut(each, page) && !isNear(each.values[0] ?? 0),
  );
  return figure === undefined ? undefined : `the page nowhere has the figure "${figure.text}"`;
}

/** A figure of the claim that stands nowhere in the text and that nobody may have worked out from it. */
export function missingFigure(claim: Statement, page: Inventory): string | undefined {
  // It may be the number that is not understood.
  if (page.hasUnread) return undefined;
  return absentFigures(claim, page).find((figure) => !mayBeWorkedOut(figure, page))?.text;
}

/** Figures of the claim that the text lacks, as they are or in another unit. */
export function absentFigures(claim: Statement, page: Inventory): Figure[] {
  const tokens = comparedTokens(claim, notationOf(lowerText(claim), page.notation));
  return claim.figures.filter((figure) => {
    const quantity = quantityAt(tokens, figure.at);
    if (quantity !== undefined && isOnPage(quantity, page)) return false;
    return figure.isYear && quantity?.isYear !== false
      ? !isEndOfSeason(figure, claim) && isYearAbsent(figure, page)
      : isExact(figure, claim) && !follows(figure, page.values);
  });
}

/** In whatever unit or notation. */
export function isOnPage(quantity: Quantity, { statements, notation }: Inventory): boolean {
  return statements.some((statement) =>
    comparedTokens(statement, notation).some(
      (token) =>
        token.quantity !== undefined &&
        ['same', 'open'].includes(compareQuantities(quantity, token.quantity, true) ?? ''),
    ),
  );
}

/** Whether somebody may have worked the figure out, from numbers in words or from those of one sentence. */
function mayBeWorkedOut(figure: Figure, page: Inventory): boolean {
  const { values: readings, isYear, isPercent } = figure;
  if (isYear) {
    const years = page.values.filter(isYearValue);
    return readings.some(
      (year) =>
        page.spelled.includes(year) ||
        years.some((other) => page.spelledYears.includes(Math.abs(year - other))),
    );
  }
  if (follows(figure, [...page.spelled, ...page.values])) return true;
  return page.statements.some(({ figures, tokens }) => {
    const spelled = spelledNumbers(tokens, page.isEnglish).map(({ value }) => ({
      values: [value],
      isYear: false,
      isPercent: false,
    }));
    const terms = [...figures, ...spelled]
      .filter((other) => !other.isYear)
      .flatMap((other) =>
        other.values.map((value) => ({ value, isPercent: other.isPercent, unit: undefined })),
      );
    const parts = sharesIn(tokens, page.isEnglish);
    return (
      terms.length + parts.length > 1 &&
      readings.some((value) => isWorkedOut({ value, isPercent, unit: undefined }, terms, parts))
    );
  });
}

export const isYearValue = (value: number) => Number.isInteger(value) && value >= 1000 && value <= 2100;

/** The second year of "2022/23": a page may name the first alone. */
function isEndOfSeason({ values: [value = 0], at }: Figure, { figures }: Statement): boolean {
  return figures.some((other) => other.at === at - 1 && other.values.includes(value - 1));
}

/** A year that no number of the page is, or ends like, on a page that counts from no other year. */
function isYearAbsent(figure: Figure, { values, text, isEnglish }: Inventory): boolean {
  const {
    values: [value = 0],
    text: year,
  } = figure;
  if (text.includes(year) || values.includes(value) || RELATIVE.test(text) || DECADE.test(text)) return false;
  if (figure.until !== undefined && (values.includes(value % 100) || SPELLED_DECADE.test(text))) return false;
  if (values.some((other) => covers(figure, other))) return false;
  // Other languages say "the year after" in words that are not known here.
  if (!isEnglish && values.some((other) => Math.abs(other - value) <= NEAR_YEARS)) return false;
  return !derived(values).includes(value) && !text.includes(`–${year.slice(2)}`);
}

/** Given to at least three digits, and not as a rough figure. */
function isExact(figure: Figure, claim: Statement): boolean {
  const [value = 0] = figure.values;
  const digits = String(value)
    .replace(/\D/g, '')
    .replace(/^0+|0+$/g, '');
  return value !== 0 && digits.length >= 3 && !isRough(figure, claim);
}

function isRough({ at }: Figure, { tokens }: Statement): boolean {
  return tokens.slice(Math.max(0, at - 2), at).some(({ lower }) => LOOSE.test(lower));
}

/** A figure of the text in another unit or rounded, or the sum, the difference or the share of two of them. */
export function follows(figure: Figure, values: readonly number[]): boolean {
  const isScaled = figure.values.some((value) =>
    values.some((other) => SCALES.some((scale) => isNear(other * scale, value))),
  );
  return isScaled || derives(figure, values);
}

/** The sum, the difference or the share of two values. */
export function derives({ values: readings, isPercent }: Figure, values: readonly number[]): boolean {
  return readings.some(
    (value) =>
      derived(values).some((each) => Math.abs(each - value) < EXACT) ||
      (isPercent && shares(values).some((share) => isNear(share, value))),
  );
}

/** In floating point 6.3 - 6.1 is not exactly 0.2. */
const EXACT = 1e-9;

function isNear(other: number, value: number): boolean {
  return Math.abs(other - value) <= Math.abs(value) * ROUNDED;
}

function derived(values: readonly number[]): number[] {
  const few = values.slice(0, MOST_PAIRED);
  return few.flatMap((left) => few.flatMap((right) => [left + right, left - right]));
}

function shares(values: readonly number[]): number[] {
  const few = values.slice(0, MOST_PAIRED);
  return few.flatMap((left) => few.map((right) => (right === 0 ? 0 : (left / right) * 100)));
}
