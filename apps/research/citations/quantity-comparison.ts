import type { ComparedToken } from './quantities.ts';
import type { Quantity } from './quantity-joins.ts';
import { COUNT, isCombinedKind, POINTS, SHARE } from './quantity-units.ts';
import { scaled, toleranceOf } from './rounding.ts';
import type { Measure } from './unit-names.ts';

/** What comparing two quantities tells: the same, the same as far as a judge says so, or another one. */
export type Comparison = 'same' | 'open' | 'other';

/**
 * Whether a claim's quantity is that of a page, in whatever unit and notation. Undefined where nobody can say: one of the two has
 * a unit, and the other none that is known. `isLenient`: either may be the other rounded, as far as a judge says so.
 */
export function compareQuantities(
  claim: Quantity,
  page: Quantity,
  isLenient = false,
): Comparison | undefined {
  const [own, theirs] = [measuresOf(claim), measuresOf(page)];
  const found: Comparison[] = [];
  let isComparable = false;
  for (const left of own)
    for (const right of theirs) {
      if (left.kind !== right.kind) continue;
      isComparable = true;
      found.push(...comparisonsOf([claim, left], [page, right], isLenient));
    }
  if (!isComparable)
    return areMeasured(claim, page) && ![...own, ...theirs].some(({ kind }) => isCombinedKind(kind))
      ? 'other'
      : undefined;
  const compared = RANKED.find((each) => found.includes(each));
  // "<5 ml" and "5 ml", "€5" and "$5": whether one bears out the other, a judge must say.
  return compared === 'same' && claim.signs !== page.signs ? 'open' : compared;
}

/**
 * What a sentence or cell of the same words says, whose quantities may be written in another unit or notation. Undefined where
 * other words differ, or more than one quantity.
 */
export function readQuantities(
  claim: readonly ComparedToken[],
  page: readonly ComparedToken[],
): Comparison | undefined {
  const [own, theirs] = [claim, page].map((tokens) =>
    tokens.filter(({ kind, quantity }) => kind !== 'mark' || quantity !== undefined),
  );
  if (own === undefined || theirs === undefined || own.length !== theirs.length) return undefined;
  if (!own.some(({ quantity }) => quantity !== undefined)) return undefined;
  const readings = own.map((token, at) => readingOf(token, theirs[at]));
  if (readings.includes(undefined)) return undefined;
  const others = readings.filter((reading) => reading === 'other').length;
  if (others > 0) return others === 1 ? 'other' : undefined;
  return readings.includes('open') ? 'open' : 'same';
}

function readingOf(token: ComparedToken, other: ComparedToken | undefined): Comparison | undefined {
  if (areWritten(token, other)) return 'same';
  if (token.quantity === undefined || other?.quantity === undefined) return undefined;
  const compared = compareQuantities(token.quantity, other.quantity);
  // What is about so much on the page may be another number.
  return compared === 'same' && other.quantity.isRough && !token.quantity.isRough ? 'open' : compared;
}

/** Whether both are the same words; in a quantity capitals count: "5 mW" is not 5 MW. */
export function areWritten(token: ComparedToken, other: ComparedToken | undefined): boolean {
  if (token.lower !== other?.lower) return false;
  return token.quantity === undefined || other.quantity === undefined || sameUnit(token.text, other.text);
}

/** But for words that begin a sentence, or that are written in capitals as a whole name is: "5 Million", "About 5 km". */
function sameUnit(one: string, other: string): boolean {
  const symbols = (text: string) => text.split(' ').filter((word) => /^\p{L}{1,3}[²³]?$/u.test(word));
  return symbols(one).join(' ') === symbols(other).join(' ');
}

/** Whether the units of both are known, so that comparing them says all. */
export function areMeasured(one: Quantity | undefined, other: Quantity | undefined): boolean {
  return [one, other].every(
    (each) =>
      each !== undefined &&
      each.measures.length > 0 &&
      each.measures.every(({ kind }) => kind !== COUNT && kind !== SHARE && kind !== POINTS),
  );
}

/** Whether both may measure the same kind of thing. */
export function haveCommonMeasure(one: Quantity, other: Quantity): boolean {
  return measuresOf(one).some(({ kind }) => measuresOf(other).some((each) => each.kind === kind));
}

/** The values of the second in the unit of the first, where both measure the same. */
export function valuesInUnitOf(own: Quantity, other: Quantity): number[] {
  return own.measures.flatMap((left) =>
    other.measures.flatMap((right) =>
      left.kind === right.kind && left.offset === right.offset
        ? left.factors.flatMap((size) =>
            right.factors.flatMap((theirs) => other.values.map((value) => scaled(value, theirs / size))),
          )
        : [],
    ),
  );
}

/** Written with a scale such as "million", or with a sign that may be one. */
export function hasScale({ scale, measures }: Quantity): boolean {
  return scale > 1 || measures.some(({ kind }) => kind === COUNT);
}

const RANKED: readonly Comparison[] = ['same', 'open', 'other'];

function measuresOf({ measures }: Quantity): readonly Measure[] {
  return measures.length === 0 ? [{ kind: COUNT, factors: [1] }] : measures;
}

function comparisonsOf(
  [claim, left]: [Quantity, Measure],
  [page, right]: [Quantity, Measure],
  isLenient: boolean,
): Comparison[] {
  const factors = left.factors.flatMap((own) => right.factors.map((theirs) => [own, theirs] as const));
  return factors.flatMap(([own, theirs]) => {
    const isConverted = own !== theirs || left.offset !== right.offset || claim.scale !== page.scale;
    const offset = (right.offset ?? 0) - (left.offset ?? 0);
    const convert = (value: number) => scaled(value * theirs, 1 / own);
    return claim.values.flatMap((value, place) =>
      page.values.flatMap((other, index): Comparison[] => {
        if (claim.isYear || page.isYear) return [value === other ? 'same' : 'other'];
        const tolerance = convert(toleranceOf(other, MOST_ROUNDED));
        const closely = (exact: number) =>
          compareValues({ value, exact, tolerance, isConverted, isLenient, isRough: claim.isRough });
        const exact = convert(other) + scaled(offset, 1 / own);
        const compared = closely(exact);
        // A dash may be a sign, or join a range.
        const isTurned = value === -other;
        const isLikely = place + index === 0 && claim.isSure && page.isSure;
        // A rise by 2 °C is one by 3.6 °F.
        const isDifference = offset !== 0 && closely(convert(other)) !== 'other';
        // A share of 0 °F says nothing, and neither unit says whether it is that of a rise.
        if (offset !== 0) {
          const isNear = Math.abs(value - exact) <= DEGREES_APART * (claim.isRough ? ROUGH_DEGREES : 1);
          return [compared !== 'other' || isDifference || isNear ? 'open' : 'other'];
        }
        if (compared === 'same') return [isLikely ? 'same' : 'open'];
        return [
          isDifference || isTurned || isBinary(left, value / exact, claim.isSure && page.isSure)
            ? 'open'
            : compared,
        ];
      }),
    );
  });
}

/** What a temperature of another unit may differ by, rounded to whole degrees on both sides; and where it says "about". */
const DEGREES_APART = 1.5;
const ROUGH_DEGREES = 2;

/** Many write GB for GiB, and some Gb for GB, which is not sure then. */
function isBinary({ kind }: Measure, ratio: number, isSure: boolean): boolean {
  if (kind !== 'data' || !(ratio > 0)) return false;
  const most = [1, 2, 3, 4].map((power) => (1024 / 1000) ** power).concat(isSure ? [] : [8]);
  return most.some((each) => [each, 1 / each].some((other) => Math.abs(ratio / other - 1) < ROUNDED_SAME));
}

/** What two values may differ by, as shares of the page's. */
const ROUNDED_SAME = 0.006;
const CONVERTED_SAME = 0.02;
const ROUGHLY_SAME = 0.05;
const MOST_ROUNDED = 0.1;

interface Values {
  /** The claim's, and that of the page in the claim's unit. */
  value: number;
  exact: number;
  /** Half of what the page's last digit stands for. */
  tolerance: number;
  isConverted: boolean;
  isLenient: boolean;
  isRough: boolean;
}

function compareValues({ value, exact, tolerance, isConverted, isLenient, isRough }: Values): Comparison {
  const distance = Math.abs(value - exact);
  const share = distance / Math.max(Math.abs(exact), Number.MIN_VALUE);
  if (share < EQUAL) return 'same';
  const isRounded = distance <= toleranceOf(value, MOST_ROUNDED) * (1 + EQUAL);
  const isNear = (most: number) => isRounded && share <= most;
  if (isRough) {
    if (isNear(ROUGHLY_SAME)) return 'same';
    return isNear(MOST_ROUNDED) || share <= ROUGHLY_SAME ? 'open' : 'other';
  }
  if (isConverted && isNear(CONVERTED_SAME)) return 'same';
  const isEitherRounded = share <= MOST_ROUNDED && (isRounded || distance <= tolerance);
  if (isConverted) return isEitherRounded || share <= ROUNDED_SAME ? 'open' : 'other';
  return isNear(ROUNDED_SAME) || (isLenient && isEitherRounded) ? 'open' : 'other';
}

/** Without the error of floating point. */
const EQUAL = 1e-6;
