// What stands behind a number: its unit, or one unit for each of another.
import { type Notation, phraseLength } from './quantity-words.ts';
import type { Token } from './statement.ts';
import type { Measure } from './unit-names.ts';
import { measuresAt, percentLength } from './units.ts';

/** What is counted, what a share is, and the difference of two shares. */
export const COUNT = 'count';
export const SHARE = 'share';
export const POINTS = 'points';

interface Units {
  measures: readonly Measure[];
  length: number;
}

const NONE: Units = { measures: [], length: 0 };

/** The units behind a number and how many tokens they take. */
export function unitsBehind(
  tokens: readonly Token[],
  at: number,
  { isYear, isArticle }: { isYear: boolean; isArticle: boolean },
  { isEnglish }: Notation,
): Units {
  const share = isArticle ? NONE : shareAt(tokens, at);
  if (share.length > 0) return share;
  // "The 1960s" are no seconds, and "1987年" is no length of time.
  const next = tokens[at]?.text ?? '';
  if (isYear && /^(?:s|[年年]|년|h|t)$/.test(next)) return NONE;
  const unit = measuresAt(tokens, at, isEnglish);
  if (unit === undefined) return NONE;
  const product = productAt(tokens, at, unit, isEnglish);
  return rateAt(tokens, at, product, isEnglish) ?? product;
}

const POINT_WORDS: ReadonlySet<string> = new Set(
  'points point punkte punkten prozentpunkte prozentpunkten prozentpunkt pp procentpoint procentpoints procentenheter procentenhet prosenttiyksikköä'.split(
    ' ',
  ),
);
/** "Points de pourcentage", "puntos porcentuales". */
const POINTS_OF =
  /^(?:points? de pourcentage|puntos? porcentual(?:es)?|punti percentuali|punto percentuale|pontos? percentua(?:l|is))(?: |$)/;
const SHARES: Readonly<Record<string, number>> = { '‰': 0.001, '‱': 0.0001 };

function shareAt(tokens: readonly Token[], at: number): Units {
  const [first, second, third] = [tokens[at]?.lower ?? '', tokens[at + 1]?.lower, tokens[at + 2]?.lower];
  const size = SHARES[first];
  if (size !== undefined) return { measures: [{ kind: SHARE, factors: [size] }], length: 1 };
  const points = (length: number): Units => ({ measures: [{ kind: POINTS, factors: [0.01] }], length });
  const named = POINTS_OF.exec(`${first} ${second} ${third}`)?.[0];
  if (named !== undefined) return points(named.trim().split(' ').length);
  if (first === 'percentage' && POINT_WORDS.has(second ?? '')) return points(2);
  if (/^(?:prozentpunkt|procentpoint|procentenhet|pp$)/.test(first)) return points(1);
  const length = percentLength(first, second);
  if (length === 0) return NONE;
  if (POINT_WORDS.has(tokens[at + length]?.lower ?? '')) return points(length + 1);
  return { measures: [{ kind: SHARE, factors: [0.01] }], length };
}

/** Names shorter than this behind a unit are other words: "5 km in". */
const LEAST_NAME = 4;
/** Products that are units of another kind, by the first unit of each: "acre-feet" are a volume. */
const PRODUCTS: Readonly<Record<string, readonly [kind: string, size: number]>> = {
  area·length: ['volume', 1000],
  length·area: ['volume', 1000],
  w·time: ['wh', 1 / 3600],
};

/** "Acre-feet", "tonne kilometres": two units that follow each other. */
function productAt(tokens: readonly Token[], at: number, unit: Units, isEnglish: boolean): Units {
  const place = at + unit.length;
  const next = tokens[place];
  if (next === undefined || next.kind !== 'word' || next.joint === '/') return unit;
  const other = measuresAt(tokens, place, isEnglish);
  if (other === undefined || (next.joint === undefined && next.lower.length < LEAST_NAME)) return unit;
  const measures = unit.measures.flatMap((left) =>
    other.measures.map((right): Measure => {
      const [kind, size] = PRODUCTS[`${left.kind}·${right.kind}`] ?? [`${left.kind}·${right.kind}`, 1];
      return { kind, factors: combined(left, right, (one, two) => one * two * size) };
    }),
  );
  return { measures, length: unit.length + other.length };
}

/** Words between a unit and a number of others: "5 l auf 100 km". */
const PER_MANY: ReadonlySet<string> = new Set(
  'per pro je auf par pour aux por cada per su på na op на a'.split(' '),
);
/** Rates that are units of another kind. */
const RATES: Readonly<Record<string, readonly [kind: string, size: number]>> = {
  'length/time': ['speed', 1],
  'wh/time': ['w', 3600],
};

/** "60 miles an hour", "22 l/h", "6.4 litres per 100 km", where the name of the unit is not one for rates. */
function rateAt(tokens: readonly Token[], at: number, unit: Units, isEnglish: boolean): Units | undefined {
  const place = at + unit.length;
  const next = tokens[place];
  const isSlash = next?.joint === '/';
  const per = isSlash ? 0 : phraseLength(tokens, place, 'per', isEnglish);
  const isMany = !isSlash && PER_MANY.has(next?.lower ?? '') && tokens[place + 1]?.kind === 'number';
  if (!isSlash && per === 0 && !isMany) return undefined;
  const behind = isMany ? place + 1 : place + per;
  const isNumbered = tokens[behind]?.kind === 'number';
  const count = isNumbered ? Number(tokens[behind]?.text) : 1;
  const other = measuresAt(tokens, behind + (isNumbered ? 1 : 0), isEnglish);
  if (other === undefined || !(count > 0)) return undefined;
  const measures = unit.measures.flatMap((left) =>
    other.measures.flatMap((right): Measure[] => {
      // "From 5 m auf 100 m".
      if (left.kind === right.kind) return [];
      const [kind, size] = RATES[`${left.kind}/${right.kind}`] ?? [`${left.kind}/${right.kind}`, 1];
      return [{ kind, factors: combined(left, right, (one, two) => (one / two / count) * size) }];
    }),
  );
  if (measures.length === 0) return undefined;
  return { measures, length: behind + (isNumbered ? 1 : 0) + other.length - at };
}

function combined(left: Measure, right: Measure, of: (one: number, two: number) => number): number[] {
  return left.factors.flatMap((one) => right.factors.map((two) => of(one, two)));
}

/** Made of two kinds: whether one of them is another, "8 km/l" and "12.5 l/100 km", takes more than a factor. */
export function isCombinedKind(kind: string): boolean {
  return /[/·]/.test(kind);
}
