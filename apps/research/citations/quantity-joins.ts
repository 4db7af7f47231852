// Quantities that stand beside each other: the parts of one, and the ends of a range.
import { type Notation, phraseLength } from './quantity-words.ts';
import { scaled } from './rounding.ts';
import type { Token } from './statement.ts';
import type { Measure } from './unit-names.ts';

/** A number with all that belongs to it: "about 1.2 million", "a dozen", "5 km", "half". */
export interface Quantity {
  /** What the number may be, its scale included; the first is the likeliest. */
  values: readonly number[];
  /** Nothing but the first value can be meant. */
  isSure: boolean;
  scale: number;
  /** What the words behind it may be; empty for what is counted. */
  measures: readonly Measure[];
  isYear: boolean;
  isRough: boolean;
  /** Marks that change what it says: "<", "±", "€". */
  signs?: string;
  /** Place of its number among the tokens, and the place behind all of it. */
  at: number;
  end: number;
  /** Place of the number of its smaller unit: "2 hours 15 minutes". */
  second?: number;
}

export interface Found {
  quantity: Quantity;
  /** Where its first word stands, an article or "about" included. */
  from: number;
  isArticle: boolean;
}

/** "2 hours 15 minutes", "5 feet 10 inches", and of time alone "2 hours and 15 minutes". */
export function compounded(
  found: readonly Found[],
  tokens: readonly Token[],
  { isEnglish }: Notation,
): Found[] {
  const joined: Found[] = [];
  for (const each of found) {
    const last = joined.at(-1);
    const [left, ...others] = last?.quantity.measures ?? [];
    const [right, ...more] = each.quantity.measures;
    const [large = 0, small = 0] = [left?.factors[0], right?.factors[0]];
    const [value = 0] = each.quantity.values;
    const between = last === undefined ? 0 : each.from - last.quantity.end;
    const isLinked = left?.kind === 'time' && phraseLength(tokens, each.from - 1, 'to', isEnglish) === 1;
    if (
      last === undefined ||
      others.length + more.length > 0 ||
      left?.kind !== right?.kind ||
      !COMPOUND.has(left?.kind ?? '') ||
      value * small >= large ||
      each.isArticle ||
      !(between === 0 || (between === 1 && isLinked))
    ) {
      joined.push(each);
      continue;
    }
    const values = last.quantity.values.map((own) => scaled(own * large + value * small, 1 / large));
    const { end, at: second } = each.quantity;
    joined[joined.length - 1] = { ...last, quantity: { ...last.quantity, values, end, second } };
  }
  return joined;
}

const COMPOUND: ReadonlySet<string> = new Set(['time', 'length', 'mass']);

/** "5–7 km", "5 to 7 km": the first number has the unit of the second. */
export function withRanges(
  found: readonly Found[],
  tokens: readonly Token[],
  { isEnglish }: Notation,
): Found[] {
  return found.map((each, at) => {
    const next = found[at + 1];
    const { quantity } = each;
    if (next === undefined || next.isArticle || quantity.measures.length > 0) return each;
    if (next.quantity.measures.length === 0) return each;
    // "For €5 and 7 km".
    if (/\p{Sc}/u.test(quantity.signs ?? '')) return each;
    if (quantity.isYear || quantity.scale !== 1 || next.quantity.scale !== 1) return each;
    const between = next.from - quantity.end;
    const isRange = between === 0 || phraseLength(tokens, quantity.end, 'to', isEnglish) === between;
    if (!isRange || between > 1 || tokens[quantity.at]?.kind !== 'number') return each;
    return { ...each, quantity: { ...quantity, measures: next.quantity.measures } };
  });
}
