import {
  type CheckedDocument,
  countsYears,
  derives,
  follows,
  isOnPage,
  isYearValue,
  NEAR_YEARS,
} from './document.ts';
import { mayCountYears, sharesIn, spelledNumbers } from './number-words.ts';
import { comparedTokens, quantityAt } from './quantities.ts';
import { areMeasured, compareQuantities, hasScale, valuesInUnitOf } from './quantity-comparison.ts';
import type { Quantity } from './quantity-joins.ts';
import { notationOf } from './quantity-words.ts';
import { areRounded, isWorkedOut, scaled, scaleWords, type Term } from './rounding.ts';
import { covers, type Figure, lowerText, type Statement, type Token, tokensOf } from './statement.ts';
import { isPercentWord, unitOf as measureNamed, ratiosOf, type Unit } from './units.ts';

/** Figures of the claim stand on the page, and none of them near what is shown. Years may be what a whole page is about. */
export function isElsewhere(
  claim: Statement,
  shown: readonly Statement[],
  near: readonly Statement[],
  document: CheckedDocument,
): boolean {
  const here = figuresOf(near, document);
  const onPage = new Set(document.inventory.values);
  const own = ownFigures(claim, document);
  const known = own.filter(
    ({ values, isYear, quantity }) =>
      !isYear &&
      values.some((value) => value >= 10 && onPage.has(value)) &&
      // "29 years" are not the 29 metres of a page.
      (quantity === undefined || !areMeasured(quantity, quantity) || isOnPage(quantity, document.inventory)),
  );
  const parts = partsOf(near, document);
  const isHere = (figure: UnitFigure) =>
    here.some((other) => isAlike(figure, other) || isRoundedAtScale(figure, other)) ||
    isCombined(figure, here, parts);
  if (known.length === 0 || known.some(isHere)) return false;
  return !known.some((figure) => isOfAnotherPart(figure, claim, shown, document));
}

/** Words of the claim on either side of a figure that tell what it is about. */
const BESIDE = 6;
/** Words that a sentence shares with a claim, or with what stands beside its figure, where it is about the same. */
const LEAST_SHARED = 3;

/** A claim may be put together from several sentences: those shown bear out one part, and another has the figure with the words beside it. */
function isOfAnotherPart(
  figure: UnitFigure,
  { tokens, stems }: Statement,
  shown: readonly Statement[],
  { sentences }: CheckedDocument,
): boolean {
  const shared = (statement: Statement, words: ReadonlySet<string>) =>
    statement.stems.filter((stem) => words.has(stem)).length >= LEAST_SHARED;
  const beside = new Set(
    tokens
      .slice(Math.max(0, figure.at - BESIDE), figure.at + BESIDE + 1)
      .flatMap(({ content, kind, stem }) => (content && kind === 'word' ? [stem] : [])),
  );
  return (
    shown.some((statement) => shared(statement, new Set(stems))) &&
    sentences.some(
      ({ statement }) =>
        statement.figures.some(({ values }) => values.some((value) => figure.values.includes(value))) &&
        shared(statement, beside),
    )
  );
}

/** Those in digits, and those in words. The scale that is meant may be named in what stands near. */
function figuresOf(
  statements: readonly Statement[],
  { title, inventory }: CheckedDocument,
  near = statements,
  notation = inventory.notation,
): UnitFigure[] {
  const { isEnglish } = notation;
  const isScaleNamed = [...near.flatMap(({ tokens }) => tokens), ...tokensOf(title)].some(({ lower }) =>
    scaleWords().has(lower),
  );
  return statements.flatMap((statement) => {
    const { figures, tokens } = statement;
    const compared = comparedTokens(statement, notation);
    const spelled = spelledNumbers(tokens, isEnglish).map(({ value, text, from, at }) => ({
      values: [value],
      text,
      from,
      at,
      isYear: false,
      isPercent: isPercentWord(tokens[at + 1]?.lower, tokens[at + 2]?.lower),
      isSpelled: true,
    }));
    const written = figures.map((figure) => ({ ...figure, from: figure.at, isSpelled: false }));
    return [...written, ...spelled].map(({ from, ...figure }) => ({
      ...figure,
      unit: unitOf(tokens[figure.at + 1]),
      measure: measureOf(tokens[figure.at + 1], tokens[figure.at + 2], isEnglish),
      // Cells stand beside the name of their row.
      before: tokens[figure.at - (tokens[figure.at - 1]?.text === '|' ? 2 : 1)],
      isDay: isDayOfDate(figure, tokens),
      quantity: quantityAt(compared, figure.at),
      isScaleNamed,
      // What a unit means is known of English alone.
      mayBeYears: !isEnglish || mayCountYears(tokens, figure.at, from),
    }));
  });
}

/** "Billion" is another number in other languages: the claim may be written in another one than the page. */
function figuresOfClaim(claim: Statement, document: CheckedDocument): UnitFigure[] {
  const notation = notationOf(lowerText(claim), document.inventory.notation);
  return figuresOf([claim], document, [claim], notation);
}

/** Smaller numbers in words are often no more than a way to speak, or follow from what a page says. */
const LEAST_SPELLED = 13;

/** The figures of a claim that must be on its page. */
function ownFigures(claim: Statement, document: CheckedDocument): UnitFigure[] {
  // A text says one with an article, or not at all.
  return countsOf(figuresOfClaim(claim, document), document).filter(({ isSpelled, values: [value = 0] }) =>
    isSpelled ? value >= LEAST_SPELLED : value !== 1,
  );
}

function partsOf(statements: readonly Statement[], { inventory }: CheckedDocument): number[] {
  return statements.flatMap(({ tokens }) => sharesIn(tokens, inventory.isEnglish));
}

/** Without those behind a name, which may be a part of it: "Apollo 11". In German a noun is no name: "der Kanal 45 Meilen". */
function countsOf(figures: readonly UnitFigure[], document: CheckedDocument): UnitFigure[] {
  return figures.filter(
    ({ before, isSpelled, quantity }) =>
      isSpelled ||
      (!document.inventory.isEnglish && areMeasured(quantity, quantity)) ||
      before?.capital !== true ||
      (before.first && !document.inventory.names.has(before.lower)),
  );
}

function unitOf(token: Token | undefined): string | undefined {
  return token?.content === true || (token?.kind === 'mark' && token.text !== '|') ? token.stem : undefined;
}

/** Spanish says "mil millones" for a billion; Chinese and Japanese put scale and unit in one word: "万人". */
function measureOf(token: Token | undefined, next: Token | undefined, isEnglish: boolean): Unit | undefined {
  const both = `${token?.lower} ${next?.lower}`;
  const [sign] = /^[万萬亿億兆]/u.exec(token?.lower ?? '') ?? [];
  return measureNamed(scaleWords().has(both) ? both : (sign ?? token?.lower ?? ''), isEnglish);
}

/** A figure with the words before and behind it. */
interface UnitFigure extends Figure {
  /** The stem of the word behind it, if it means something. */
  unit: string | undefined;
  measure: Unit | undefined;
  before: Token | undefined;
  isDay: boolean;
  quantity: Quantity | undefined;
  /** Its text or title names a scale, such as "million", somewhere. */
  isScaleNamed: boolean;
  mayBeYears: boolean;
  isSpelled: boolean;
}

const LONGEST_MONTH = 31;
/** Tokens between the day and the year of a date: "15 de abril de 1912". */
const LONGEST_DATE = 4;

function isDayOfDate({ values: [day = 0], at }: Figure, tokens: readonly Token[]): boolean {
  const behind = tokens.slice(at + 1, at + 1 + LONGEST_DATE);
  return day <= LONGEST_MONTH && behind.some(({ text }) => /^\p{Nd}{4}$/u.test(text));
}

/** A figure of the claim in whose place the words shown have another one, and that follows from nothing near them. */
export function otherFigure(
  claim: Statement,
  here: readonly Statement[],
  near: readonly Statement[],
  document: CheckedDocument,
): string | undefined {
  const own = ownFigures(claim, document);
  const isCounting = countsYears(near.map(lowerText).join(' '), document.inventory.isEnglish);
  const shown = figuresOf(here, document, near);
  const around = figuresOf(near, document);
  const inYears = yearCounts(countsOf(shown, document));
  const parts = partsOf(near, document);
  const isSaid = (figure: UnitFigure, among: readonly UnitFigure[]) =>
    figureFollows(figure, among, parts) || isYearsFrom(figure, around, inYears);
  const claimed = figuresOfClaim(claim, document);
  const strange = countsOf(shown, document).filter(
    (figure) => mayBeRival(figure, document) && !figureFollows(figure, claimed, []),
  );
  const hasRival = (figure: UnitFigure, isRival = isOfItsKind) =>
    strange.some((other) => isRival(figure, other) && !(isCounting && mayCountFrom(figure, other)));
  const isMissing = (figure: UnitFigure) =>
    !isSaid(figure, around) && (hasRival(figure) || hasRival(figure, isComparable));
  const missing = own.find(isMissing);
  if (missing !== undefined) return missing.text;
  // A figure beside what is shown may be another's.
  if (own.some((figure) => isSaid(figure, shown))) return undefined;
  return own.find((figure) => hasRival(figure))?.text;
}

/**
 * A number in words may be a year, and a small one is another word in other languages: "dos", "neuf", "once". Behind a sign
 * for ten thousand stands the rest of a number.
 */
function mayBeRival(
  { isSpelled, before, values: [value = 0] }: UnitFigure,
  { inventory }: CheckedDocument,
): boolean {
  if (/[万萬亿億]$/.test(before?.lower ?? '')) return false;
  return !isSpelled || (!isYearValue(value) && (inventory.isEnglish || value >= LEAST_SPELLED));
}

function figureFollows(figure: UnitFigure, among: readonly UnitFigure[], parts: readonly number[]): boolean {
  if (among.some((other) => isAlike(figure, other))) return true;
  if (figure.isYear) return false;
  const others = among.filter(
    (other) =>
      other.unit !== figure.unit &&
      comparisonOf(figure, other) === undefined &&
      ratiosBetween(figure, other) === undefined,
  );
  return (
    among.some((other) => other.unit !== figure.unit && isRoundedAtScale(figure, other)) ||
    follows(
      figure,
      others.flatMap(({ values }) => values),
    ) ||
    derives(
      figure,
      among.flatMap(({ values, quantity }) => [
        ...values,
        // "55 minutes" are a quarter of an hour and 40 minutes.
        ...(figure.quantity === undefined || quantity === undefined
          ? []
          : valuesInUnitOf(figure.quantity, quantity)),
      ]),
    ) ||
    isCombined(figure, among, parts)
  );
}

/** Whether somebody may have worked it out from the others. */
function isCombined(figure: UnitFigure, among: readonly UnitFigure[], parts: readonly number[]): boolean {
  const termsOf = (each: UnitFigure): Term[] =>
    scaledValues(each).map(({ value }) => ({ value, isPercent: each.isPercent, unit: each.unit }));
  const others = among.filter(({ isYear, isDay }) => !isYear && !isDay).flatMap(termsOf);
  return termsOf(figure).some((term) => isWorkedOut(term, others, parts));
}

/** Figures that count years: "aged 69", "69 years later". */
function yearCounts(figures: readonly UnitFigure[]): number[] {
  return figures
    .filter((figure) => !figure.isYear && !figure.isPercent && !figure.isDay && figure.mayBeYears)
    .flatMap(({ values }) => values);
}

/** A year that lies as many years from one of the words shown as they count: born in 1950, died aged 69. */
function isYearsFrom({ values: [year = 0], isYear }: Figure, shown: readonly Figure[], counts: number[]) {
  const distances = shown.flatMap((other) =>
    other.isYear ? other.values.map((each) => Math.abs(each - year)) : [],
  );
  return isYear && distances.some((distance) => counts.includes(distance));
}

/** The same value, a year of the figure's decade, or one of them is the other rounded. */
function isAlike(figure: UnitFigure, other: UnitFigure): boolean {
  const compared = comparisonOf(figure, other);
  if (compared !== undefined) return compared;
  const ratios = ratiosBetween(figure, other) ?? [1];
  return figure.values.some((value) =>
    other.values.some(
      (each) =>
        ratios.some((ratio) => scaled(value, ratio) === each) ||
        (other.isYear && covers(figure, each)) ||
        (!figure.isYear && !other.isYear && ratios.some((ratio) => areRounded(scaled(value, ratio), each))),
    ),
  );
}

/** By their units or scales; undefined where the words behind them are not known well enough. */
function comparisonOf({ quantity: own }: UnitFigure, { quantity: theirs }: UnitFigure): boolean | undefined {
  if (own === undefined || theirs === undefined) return undefined;
  const found = [compareQuantities(own, theirs, true), compareQuantities(theirs, own, true)];
  if (found.includes('same')) return true;
  const isKnown = areMeasured(own, theirs) || (hasScale(own) && hasScale(theirs));
  return isKnown ? found.includes('open') : undefined;
}

/** Only the one without a scale may have that of its text. */
function ratiosBetween(figure: UnitFigure, other: UnitFigure): number[] | undefined {
  const plain = figure.measure?.kind === 'number' ? other : figure;
  return ratiosOf(figure.measure, other.measure, plain.isScaleNamed);
}

/** "120 million" and "118,400,000", or "1.2 billion" and "1,180 million": one of them is the other rounded. */
function isRoundedAtScale(figure: UnitFigure, other: UnitFigure): boolean {
  if (figure.isYear || other.isYear) return false;
  const [own, theirs] = [scaledValues(figure), scaledValues(other)];
  return own.some(({ scale, value }) =>
    theirs.some((each) => each.scale !== scale && areRounded(value, each.value)),
  );
}

/** The values with the word behind them, such as "million"; "billion" is one of two numbers. */
function scaledValues({ values, measure, quantity }: UnitFigure): { scale: number; value: number }[] {
  // "£2.17m" has no word.
  if (measure?.kind !== 'number' && quantity !== undefined && quantity.scale > 1)
    return quantity.values.map((value) => ({ scale: quantity.scale, value }));
  const scales = measure?.kind === 'number' ? measure.factors : new Set([1]);
  return [...scales].flatMap((scale) => values.map((value) => ({ scale, value: scaled(value, scale) })));
}

/**
 * Both are years, shares or counts of a size. Small numbers are often written as words, up to nine or twelve in one text and
 * to a hundred in another; a text that has one of that size in digits has all of them so.
 */
function isOfItsKind(figure: UnitFigure, other: UnitFigure): boolean {
  if (figure.isYear !== other.isYear || figure.isPercent !== other.isPercent) return false;
  if (figure.unit !== undefined && figure.unit === other.unit && /^\p{L}/u.test(figure.unit)) return true;
  // Numbers in words often count nothing: "one of the two".
  const [value = 0, rival = 0] = [figure.values[0], other.values[0]];
  if (figure.isSpelled || (other.isSpelled && rival < LEAST_SPELLED)) return false;
  const top = SPELLED.find((limit) => value < limit);
  return top === undefined ? rival >= (SPELLED.at(-1) ?? 0) : rival < top;
}

/** Both measure the same: lengths, or lengths of time. */
function isComparable({ quantity: own }: UnitFigure, { quantity: theirs }: UnitFigure): boolean {
  return (
    areMeasured(own, theirs) &&
    own?.measures.some(({ kind }) => theirs?.measures.some((other) => other.kind === kind)) === true
  );
}

const SPELLED = [10, LEAST_SPELLED, 100];

/** "Two years before": the year of the claim may be counted from that of the page. */
function mayCountFrom(figure: Figure, other: Figure): boolean {
  const distance = Math.abs((figure.values[0] ?? 0) - (other.values[0] ?? 0));
  return figure.isYear && distance <= NEAR_YEARS;
}
