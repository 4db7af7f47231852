/** Whether one of the two is the other rounded. */
export function areRounded(one: number, other: number): boolean {
  return isRounded(one, other) || isRounded(other, one);
}

/** Whether the value is the exact one to its last digit that is not a zero. */
function isRounded(value: number, exact: number): boolean {
  const difference = Math.abs(exact - value);
  return difference <= toleranceOf(value, 1) && difference < Math.abs(value) * MOST_ROUNDED;
}

const MOST_ROUNDED = 0.1;

/** Half of its last digit that is not a zero, and at most a share of it. */
export function toleranceOf(value: number, share: number): number {
  const [, zeros = '', decimals = ''] = /^-?\d*?(0*)(?:\.(\d+))?$/.exec(String(value)) ?? [];
  const step = 10 ** (decimals === '' ? zeros.length : -decimals.length);
  return Math.min(step / 2, Math.abs(value) * share);
}

/** Without the error of floating point: 64.1 * 1e6 is not exactly 64,100,000. */
export function scaled(value: number, scale: number): number {
  return Number((value * scale).toPrecision(12));
}

/** Values that are put together at most; from more of them nearly every number follows. */
const MOST_COMBINED = 12;
/** The share by which a figure that somebody worked out may differ, where it is rounded. */
const WORKED_OUT = 0.015;
/** Two digits at least: whoever puts a few numbers together meets every single digit. */
const LEAST_COMBINED = 10;
/** Things that a calculation is about at most: what is counted, and by what. */
const MOST_UNITS = 2;

/** A value of a calculation. */
export interface Term {
  value: number;
  isPercent: boolean;
  /** What it counts, if that is known. */
  unit: string | undefined;
}

/**
 * Whether somebody may have worked the figure out from the others: the sum or difference of two or three, a product, a
 * quotient, a percentage or a part of one. `parts` are the shares that the text speaks of: 1/3 for a third.
 */
export function isWorkedOut(figure: Term, others: readonly Term[], parts: readonly number[]): boolean {
  const { value, isPercent } = figure;
  if (Math.abs(value) < LEAST_COMBINED && Number.isInteger(value)) return false;
  const tolerance = toleranceOf(value, WORKED_OUT) + Number.EPSILON * value;
  const is = (exact: number) => Math.abs(exact - value) <= tolerance;
  const all = others.filter((other) => other.value > 0).slice(0, MOST_COMBINED);
  const shares = all.filter((other) => other.isPercent).map((other) => other.value / 100);
  if (isPercent && [...shares.map((share) => 1 - share), ...parts].some((share) => is(share * 100)))
    return true;
  const ratios = [...parts.flatMap(ratiosOf), ...shares.flatMap((share) => [share, 1 - share, 1 + share])];
  if (all.some((other) => ratios.some((ratio) => is(other.value * ratio)))) return true;
  const areOfAKind = (...terms: readonly Term[]) =>
    new Set([figure, ...terms].flatMap(({ unit }) => unit ?? [])).size <= MOST_UNITS;
  const mayAdd = (...terms: readonly Term[]) => terms.every((term) => term.isPercent === isPercent);
  return all.some((one, at) => {
    const rest = all.toSpliced(at, 1);
    return rest.some((other, place) => {
      if (!areOfAKind(one, other)) return false;
      if (is(one.value * other.value) || is(one.value / other.value)) return true;
      if (!mayAdd(one, other)) return false;
      return (
        is(one.value - other.value) ||
        is(one.value + other.value) ||
        rest
          .slice(place + 1)
          .some(
            (third) =>
              areOfAKind(one, other, third) &&
              mayAdd(third) &&
              (is(one.value + other.value + third.value) || is(one.value - other.value - third.value)),
          )
      );
    });
  });
}

/** Of a third: a third, three times, a third more or less, and what it is a third more or less than. */
function ratiosOf(share: number): number[] {
  return [share, 1 - share, 1 + share].flatMap((ratio) => [ratio, 1 / ratio]);
}

const SCALE_LANGUAGES =
  'en en-IN de fr es it pt nl sv da nb fi pl cs ru uk el tr ar he hi bn ur id vi th ko ja zh zh-Hant';

const scales = new Map<string, ReadonlyMap<string, ReadonlySet<number>>>();

/**
 * "Thousand", "million" and the like in small letters, and their values; short ones too where they are words: "Mio.", "Mrd.".
 * "Billion" is another number in English than in German, so that who knows the language should say so.
 */
export function scaleWords(languages = SCALE_LANGUAGES): ReadonlyMap<string, ReadonlySet<number>> {
  const known = scales.get(languages) ?? scalesOf(languages.split(' '));
  scales.set(languages, known);
  return known;
}

function scalesOf(languages: readonly string[]): ReadonlyMap<string, ReadonlySet<number>> {
  const words = new Map<string, Set<number>>();
  for (const [word, value] of languages.flatMap((language) => scalesIn(language, 'long')))
    words.set(word, (words.get(word) ?? new Set()).add(value));
  // Czech shortens "milion" as Spanish writes "mil".
  const short = languages.flatMap((language) => scalesIn(language, 'short'));
  for (const [word, value] of short.filter((each) => each[0].length >= LEAST_SHORT && !words.has(each[0])))
    words.set(word, new Set([value]));
  return words;
}

function scalesIn(language: string, compactDisplay: 'long' | 'short'): [word: string, value: number][] {
  const format = new Intl.NumberFormat(`${language}-u-nu-latn`, { notation: 'compact', compactDisplay });
  const values = [3, 4, 5, 6, 7, 8, 9, 12].flatMap((zeros) => [1, 2, 5].map((digit) => digit * 10 ** zeros));
  return values.flatMap((value) => {
    const parts = format.formatToParts(value);
    // Spanish says "mil" for 1000, without a digit.
    const digits = Number(parts.find(({ type }) => type === 'integer')?.value ?? 1);
    const word = wordOf(parts.find(({ type }) => type === 'compact')?.value);
    return word === '' ? [] : [[word, value / digits]];
  });
}

/** "M" and "B" stand for too much. */
const LEAST_SHORT = 3;

const wordOf = (compact = '') => compact.toLowerCase().replaceAll('.', '').trim();
