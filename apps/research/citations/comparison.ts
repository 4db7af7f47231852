import { stem } from '../text/words.ts';
import { type Frame, framesOf } from './frames.ts';
import { isUnit } from './quantities.ts';
import type { Statement } from './statement.ts';
import { areSynonyms } from './synonyms.ts';
import type { Token } from './tokens.ts';

/** "A is larger than B". */
interface Comparison {
  left: readonly Token[];
  right: readonly Token[];
  isMore: boolean;
  /** Whether only sums of money can bear it out. */
  isPrice: boolean;
  /** Whether it compares times and not amounts. */
  isTime?: boolean;
}

const DOWNWARD = new Set(
  'less fewer lower smaller shorter slower cheaper younger lighter shallower narrower weaker rarer below under earlier colder cooler worse poorer nearer sooner'.split(
    ' ',
  ),
);
const UPWARD = new Set(
  'more higher larger bigger greater longer taller faster dearer older heavier deeper wider stronger commoner above over later hotter warmer better richer further quicker'.split(
    ' ',
  ),
);
const PRICE = new Set(['cheaper', 'dearer', 'expensive', 'cost', 'costs', 'pricier', 'affordable']);

/** Sentences that figures for a comparison are taken from. */
const MOST_SENTENCES = 40;

/** Whether the text bears out a comparison of the claim, by words or by two figures; nothing where it cannot be told. */
export function comparisonHolds(claim: Statement, sentences: readonly Statement[]): boolean | undefined {
  const wanted = comparisonOf(claim.tokens);
  if (wanted === undefined) return undefined;
  const [left, right] = distinct(wanted);
  const near = sentences
    .filter(({ tokens }) => hasAny(tokens, left) || hasAny(tokens, right))
    .slice(0, MOST_SENTENCES);
  return statedOtherwise(wanted, left, right, near) ?? figuresTell(wanted, left, right, near);
}

function comparisonOf(tokens: readonly Token[]): Comparison | undefined {
  const than = tokens.findIndex(({ lower }) => lower === 'than');
  if (than === -1) return multiple(tokens) ?? outnumbering(tokens) ?? sequence(tokens);
  const at = tokens.slice(0, than).findLastIndex(({ lower }) => DOWNWARD.has(lower) || UPWARD.has(lower));
  // "More than 40 metres" compares with a figure, not with a thing.
  const right = otherIn(tokens.slice(than + 1));
  if (at === -1 || tokens[than + 1]?.kind === 'number' || right.every(({ lower }) => isUnit(lower)))
    return undefined;
  const between = tokens.slice(at, than);
  return {
    left: [...subjectIn(tokens.slice(0, at)), ...parallelIn(between)],
    right,
    isMore: UPWARD.has(tokens[at]?.lower ?? ''),
    isPrice: [...between, ...tokens.slice(Math.max(0, at - 2), at)].some(({ lower }) => PRICE.has(lower)),
  };
}

/** "Seven times as numerous as". */
function multiple(tokens: readonly Token[]): Comparison | undefined {
  const at = tokens.findIndex(
    ({ lower }, place) => /^(?:times|twice)$/.test(lower) && tokens[place + 1]?.lower === 'as',
  );
  const as = tokens.findIndex(({ lower }, place) => at !== -1 && place > at + 2 && lower === 'as');
  if (as === -1) return undefined;
  return {
    left: subjectIn(tokens.slice(0, at)),
    right: partyIn(tokens.slice(as + 1)),
    isMore: true,
    isPrice: false,
  };
}

/** "Japan did it before Algeria": two names and an order in time. */
function sequence(tokens: readonly Token[]): Comparison | undefined {
  const at = tokens.findIndex(
    ({ lower }, place) => /^(?:before|after)$/.test(lower) && tokens[place + 1]?.capital === true,
  );
  const left = at === -1 ? [] : subjectIn(tokens.slice(0, at));
  if (!left.some(({ capital }) => capital)) return undefined;
  const right = partyIn(tokens.slice(at + 1, at + 4));
  return { left, right, isMore: tokens[at]?.lower === 'after', isPrice: false, isTime: true };
}

function outnumbering(tokens: readonly Token[]): Comparison | undefined {
  const verb = tokens.findIndex(({ lower }) => /^outnumber|^outweigh/.test(lower));
  if (verb < 1) return undefined;
  const [left, right] = [partyIn(tokens.slice(0, verb)), partyIn(tokens.slice(verb + 1))];
  return { left, right, isMore: true, isPrice: false };
}

/** The students of "cheaper for students than for adults". */
function parallelIn(tokens: readonly Token[]): Token[] {
  const at = tokens.findIndex(({ lower }) => /^(?:for|in|among|with|at)$/.test(lower));
  return at === -1 ? [] : partyIn(tokens.slice(at));
}

/** What stands in front of the verb, with its year. */
function subjectIn(tokens: readonly Token[]): Token[] {
  const subject = framesOf({ tokens }).at(-1)?.subject ?? [];
  return subject.length === 0
    ? partyIn(tokens)
    : [...subject, ...tokens.filter(({ kind }) => kind === 'number')];
}

/** What follows "than", up to where a time or place begins. */
function otherIn(tokens: readonly Token[]): Token[] {
  const end = tokens.findIndex(({ lower }, at) => at > 1 && /^(?:in|at|during|on|by|,|;)$/.test(lower));
  return partyIn(end === -1 ? tokens : tokens.slice(0, end));
}

function partyIn(tokens: readonly Token[]): Token[] {
  return tokens.filter(({ content, kind }) => content || kind === 'number');
}

/** What each side has that the other lacks. */
function distinct({ left, right }: Comparison): [Token[], Token[]] {
  const without = (tokens: readonly Token[], others: readonly Token[]) =>
    tokens.filter((token) => !others.some((other) => other.stem === token.stem));
  const areYears = [left, right].every((side) => side.some(({ kind }) => kind === 'number'));
  const compared = (side: readonly Token[]) => side.filter(({ kind }) => (kind === 'number') === areYears);
  return [without(compared(left), right), without(compared(right), left)];
}

/** The text compares the same two things in words. */
function statedOtherwise(
  wanted: Comparison,
  left: readonly Token[],
  right: readonly Token[],
  sentences: readonly Statement[],
): boolean | undefined {
  for (const { tokens } of sentences) {
    const stated = comparisonOf(tokens);
    if (stated === undefined || stated.isTime !== wanted.isTime) continue;
    if (stated.right.length === 0) continue;
    const isStraight = hasAny(stated.left, left) && hasAny(stated.right, right);
    const isCrossed = hasAny(stated.left, right) && hasAny(stated.right, left);
    if (isStraight === isCrossed) continue;
    return isStraight === (stated.isMore === wanted.isMore);
  }
  return undefined;
}

interface Measured {
  value: number;
  unit: string;
  sentence: number;
}

/** The text gives a figure of the same kind for each. */
function figuresTell(
  wanted: Comparison,
  left: readonly Token[],
  right: readonly Token[],
  sentences: readonly Statement[],
): boolean | undefined {
  const measures = (own: readonly Token[], others: readonly Token[]) =>
    sentences.flatMap((statement, sentence) =>
      framesOf(statement)
        .filter((frame) => hasAny(frame.own, own) && !hasAny(frame.own, others))
        .flatMap((frame) =>
          wanted.isTime === true
            ? timesIn(frame, statement, sentence)
            : measuresIn(frame, statement, sentence),
        ),
    );
  const others = measures(right, left);
  const pairs = measures(left, right).flatMap((first) =>
    others
      .filter(
        ({ unit, sentence }) =>
          (unit === first.unit || unit === '' || first.unit === '') &&
          Math.abs(sentence - first.sentence) <= NEAR,
      )
      .map((second) => ({ first, second, apart: Math.abs(second.sentence - first.sentence) })),
  );
  const usable = pairs.filter(({ first }) => !wanted.isPrice || MONEY.has(first.unit));
  const rank = ({ first, second, apart }: { first: Measured; second: Measured; apart: number }) =>
    apart + (first.unit === '' || second.unit === '' ? 0.5 : 0);
  const best = usable.toSorted((one, other) => rank(one) - rank(other))[0];
  if (best === undefined || best.first.value === best.second.value) return undefined;
  return best.first.value > best.second.value === wanted.isMore;
}

const NEAR = 3;
const MONEY = new Set(['usd', 'eur', 'gbp', 'yen', 'krone', '']);

/** The figures of a clause. */
function measuresIn(frame: Frame, { tokens, quantities }: Statement, sentence: number): Measured[] {
  return quantities
    .filter(({ at }) => frame.own.some((token) => token === tokens[at]))
    .map(({ value, unit }) => ({ value, unit, sentence }));
}

function timesIn(frame: Frame, { tokens, dates }: Statement, sentence: number): Measured[] {
  return dates
    .filter(({ at }) => frame.own.some((token) => token === tokens[at]))
    .map(({ year, impliedYear, month = 0, day = 0 }) => ({
      value: (year ?? impliedYear ?? 0) * 372 + month * 31 + day,
      unit: 'date',
      sentence,
    }));
}

function hasAny(tokens: readonly Token[], wanted: readonly Token[]): boolean {
  return wanted.some((own) =>
    tokens.some(
      ({ stem: other }) =>
        other === own.stem ||
        (!own.capital && own.kind === 'word' && areSynonyms(other, own.stem) && !VAGUE.has(own.stem)),
    ),
  );
}

const VAGUE = new Set(['power', 'cost', 'price', 'year', 'number', 'people'].map(stem));
