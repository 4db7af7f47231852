import { partAt, spelledNumbers } from './number-words.ts';
import { compounded, type Found, type Quantity, withRanges } from './quantity-joins.ts';
import { COUNT, SHARE, unitsBehind } from './quantity-units.ts';
import { type Notation, phraseLength, scaleSign } from './quantity-words.ts';
import { scaled, scaleWords } from './rounding.ts';
import { readingsOf, type Statement, type Token } from './statement.ts';
import type { Measure } from './unit-names.ts';
import { measuresAt } from './units.ts';

/** A token that a quantity takes the place of has its words as its text. */
export interface ComparedToken extends Token {
  quantity?: Quantity;
}

const known = new WeakMap<Statement, readonly ComparedToken[]>();

/** The tokens of a statement with a token for each quantity. */
export function comparedTokens(statement: Statement, notation: Notation): readonly ComparedToken[] {
  const tokens = known.get(statement) ?? withQuantities(statement.tokens, notation);
  known.set(statement, tokens);
  return tokens;
}

function withQuantities(tokens: readonly Token[], notation: Notation): ComparedToken[] {
  const parts = tokens.flatMap(splitScale);
  const places = tokens.flatMap((token, place) => splitScale(token).map(() => place));
  const found = quantitiesIn(parts, notation);
  const compared: ComparedToken[] = [];
  for (let at = 0; at < parts.length; ) {
    const own = found.find(({ from }) => from === at);
    const first = parts[at];
    if (own === undefined || first === undefined) {
      if (first !== undefined) compared.push(first);
      at += 1;
      continue;
    }
    const words = parts.slice(at, own.quantity.end);
    const lower = words.map((token) => token.lower).join(' ');
    const { kind } = parts[own.quantity.at] ?? first;
    compared.push({
      ...first,
      text: words.map(({ text }) => text).join(' '),
      lower,
      stem: lower,
      kind,
      content: false,
      quantity: {
        ...own.quantity,
        at: places[own.quantity.at] ?? own.quantity.at,
        ...(own.quantity.second !== undefined && { second: places[own.quantity.second] ?? -1 }),
      },
    });
    at = own.quantity.end;
    // "Millions de francs", "millions d'euros": what is counted is the same without the word.
    if (own.quantity.scale >= THOUSAND && phraseLength(parts, at, 'partitive', notation.isEnglish) === 1)
      at += 1;
  }
  return compared;
}

const THOUSAND = 1000;

/** Chinese and Japanese write a scale and what is counted in one word, French "d'euros". */
function splitScale(token: Token): Token[] {
  const [, scale = '', rest = ''] = /^([万萬亿億兆千]|[dD]['’])(.+)$/u.exec(token.text) ?? [];
  if (scale === '') return [token];
  const part = (text: string): Token => ({
    ...token,
    text,
    lower: text.toLowerCase(),
    stem: text.toLowerCase(),
  });
  return [part(scale.replace(/['’]/, '')), { ...part(rest), first: false }];
}

function quantitiesIn(tokens: readonly Token[], notation: Notation): Found[] {
  const spelled = new Map(
    spelledNumbers(tokens, notation.isEnglish).map((number) => [number.from, number] as const),
  );
  const found: Found[] = [];
  for (let at = 0; at < tokens.length; at += 1) {
    const rough = phraseLength(tokens, at, 'rough', notation.isEnglish);
    const signs = signsAt(tokens, at + rough);
    const place = at + rough + signs.length;
    const number = numberAt(tokens, place, spelled, notation);
    if (number === undefined) continue;
    const isRough = rough > 0 || signs.some(({ text }) => ABOUT.test(text));
    const quantity = measured(tokens, number, isRough, notation);
    if (quantity === undefined) continue;
    const telling = signs.map(({ text }) => text).filter((text) => !ABOUT.test(text));
    if (telling.length > 0) quantity.signs = telling.join('');
    found.push({ quantity, from: at, isArticle: number.isArticle });
    at = quantity.end - 1;
  }
  return withRanges(compounded(found, tokens, notation), tokens, notation);
}

/** Marks in front of a number that change what it says: "<5 ml", "±0.5", "€186.50", "~12". */
const SIGN = /^[<>≤≥±≈~\p{Sc}]$/u;
const ABOUT = /^[≈~]$/;

function signsAt(tokens: readonly Token[], at: number): readonly Token[] {
  let end = at;
  while (SIGN.test(tokens[end]?.text ?? '')) end += 1;
  return tokens.slice(at, end);
}

interface NumberRead {
  values: readonly number[];
  isSure: boolean;
  isYear: boolean;
  /** It is a part of something, unless a unit follows: "half", "a third". */
  isPart: boolean;
  /** An article, which is a number before a unit alone: "an hour". */
  isArticle: boolean;
  at: number;
  end: number;
}

type Spelled = ReadonlyMap<number, { value: number; at: number }>;

function numberAt(
  tokens: readonly Token[],
  at: number,
  spelled: Spelled,
  notation: Notation,
): NumberRead | undefined {
  const token = tokens[at];
  if (token === undefined) return undefined;
  const { isEnglish } = notation;
  const plain = { isSure: true, isYear: false, isPart: false, isArticle: false };
  const words = spelled.get(at);
  const share = partAt(tokens, at, isEnglish);
  if (share !== undefined) return { ...plain, values: [share], isPart: true, at: at + 1, end: at + 2 };
  const article = phraseLength(tokens, at, 'article', isEnglish);
  const half = phraseLength(tokens, at + article, 'half', isEnglish);
  if (half > 0) {
    const end = at + article + half;
    // "Half an hour".
    const unit = phraseLength(tokens, end, 'article', isEnglish);
    return {
      ...plain,
      values: [0.5],
      isPart: true,
      at: end - 1,
      end: hasUnit(tokens, end + unit, isEnglish) ? end + unit : end,
    };
  }
  const count = countAt(token, at, words, notation);
  const dozen = phraseLength(tokens, count?.end ?? at + article, 'dozen', isEnglish);
  if (dozen > 0 && (count !== undefined || article > 0)) {
    const values = (count?.values ?? [1]).map((value) => value * DOZEN);
    const end = (count?.end ?? at + article) + dozen;
    return { ...plain, isSure: count?.isSure ?? true, values, at: end - 1, end };
  }
  if (count !== undefined) return { ...plain, ...count };
  if (article > 0 && hasUnit(tokens, at + article, isEnglish))
    return { ...plain, values: [1], isArticle: true, at, end: at + article };
  return undefined;
}

const DOZEN = 12;

function hasUnit(tokens: readonly Token[], at: number, isEnglish: boolean): boolean {
  const unit = measuresAt(tokens, at, isEnglish);
  // "A m" and "the second" are no units; a symbol stands behind digits.
  return unit !== undefined && (tokens[at]?.lower.length ?? 0) >= LEAST_NAME;
}

const LEAST_NAME = 3;

/** A number in digits or in words. */
function countAt(
  token: Token,
  at: number,
  words: { value: number; at: number } | undefined,
  notation: Notation,
): { values: readonly number[]; isSure: boolean; isYear: boolean; at: number; end: number } | undefined {
  if (words !== undefined)
    return { values: [words.value], isSure: true, isYear: false, at: words.at, end: words.at + 1 };
  if (token.kind !== 'number') return undefined;
  const sign = token.lower.startsWith('-') ? -1 : 1;
  const { values, isSure } = likeliest(token.text, notation);
  const isYear = /^(?:1\d{3}|20\d{2}|2100)$/.test(token.text) && sign > 0;
  return { values: values.map((value) => sign * value), isSure, isYear, at, end: at + 1 };
}

/** The readings of a number, the one of the language first. "1.200" is 1200 where the comma marks decimals. */
function likeliest(text: string, { decimal, isSpaced }: Notation): { values: number[]; isSure: boolean } {
  const readings = readingsOf(text);
  if (readings.length < 2) return { values: readings, isSure: true };
  // A space that does not break stands inside a number.
  if (/\s/.test(text)) {
    const isOne = isSpaced || !text.includes(' ');
    return { values: isOne ? readings.slice(0, 1) : readings, isSure: isOne };
  }
  const mark = /[.,]/.exec(text)?.[0];
  if (decimal === undefined || mark === undefined) return { values: readings, isSure: false };
  const [smaller = 0, larger = 0] = readings.toSorted((left, right) => left - right);
  // The mark of thousands is never that of decimals, but the other way round pages mix the two up.
  return { values: mark === decimal ? [smaller, larger] : [larger], isSure: true };
}

/** The number with what stands behind it: "and a half", scale, unit. */
function measured(
  tokens: readonly Token[],
  number: NumberRead,
  isRough: boolean,
  notation: Notation,
): Quantity | undefined {
  const { isEnglish } = notation;
  let { values, end } = number;
  const andHalf = (place: number) => phraseLength(tokens, place, 'andHalf', isEnglish);
  const addHalf = () => {
    values = values.map((value) => value + 0.5);
  };
  let half = andHalf(end);
  // "Two and a half hours"; "半" alone may begin another word.
  if (half > 0 && !number.isPart && !number.isArticle) {
    end += half;
    addHalf();
  }
  let [scale, isSure] = [1, true];
  if (!number.isPart) {
    const compound = scalesAt(tokens, end, values, notation);
    if (compound !== undefined) ({ values, end, scale, isSure } = compound);
  }
  const { measures, length } = unitsBehind(tokens, end, number, notation);
  // Some write it for gigabytes.
  if (BITS.test(tokens[end]?.text ?? '')) isSure = false;
  // A symbol of a scale may be that of a unit too: "1.2m".
  const sign = number.isArticle ? undefined : scaleSign(tokens[end] ?? { text: '' }, isEnglish);
  const isMoney = isCurrency(tokens[number.at - 1]) || isCurrency(tokens[end + 1]);
  end += length;
  if (sign !== undefined && (length === 0 || isMoney)) {
    end = length === 0 ? end + 1 : end;
    return finish(
      values.map((value) => scaled(value, sign)),
      sign,
      [],
    );
  }
  if (sign !== undefined)
    return { ...finish(values, 1, measures), measures: [...measures, { kind: COUNT, factors: [sign] }] };
  half = length > 0 ? andHalf(end) : 0;
  if (half > 0 && !number.isPart) {
    end += half;
    addHalf();
  }
  if (number.isArticle && measures.length === 0) return undefined;
  const isShare = number.isPart && measures.length === 0;
  return finish(values, scale, isShare ? [{ kind: SHARE, factors: [1] }] : measures);

  function finish(found: readonly number[], by: number, units: readonly Measure[]): Quantity {
    const currency = isCurrency(tokens[end]) && units.length === 0 ? tokens[end]?.text : undefined;
    if (currency !== undefined) end += 1;
    return {
      ...(currency !== undefined && { signs: currency }),
      values: found,
      isSure: number.isSure && isSure,
      scale: by,
      measures: units,
      isYear: number.isYear && by === 1 && units.length === 0,
      isRough,
      at: number.at,
      end,
    };
  }
}

/** "Million", "mil millones", and of Chinese and Japanese "1億2000万": each figure with its scale, and the sum. */
function scalesAt(
  tokens: readonly Token[],
  at: number,
  values: readonly number[],
  { isEnglish }: Notation,
): { values: readonly number[]; end: number; scale: number; isSure: boolean } | undefined {
  const named = (place: number) => {
    const [first = '', second = ''] = [tokens[place]?.lower, tokens[place + 1]?.lower];
    const sign = SIGNS[first];
    if (sign !== undefined) return { scales: [sign], length: 1, isSign: true };
    const words = (isEnglish ? scaleWords('en') : undefined) ?? scaleWords();
    const both = words.get(`${first} ${second}`);
    if (both !== undefined) return { scales: [...both], length: 2, isSign: false };
    const one = words.get(first) ?? scaleWords().get(first);
    return one === undefined ? undefined : { scales: [...one], length: 1, isSign: false };
  };
  const first = named(at);
  if (first === undefined) return undefined;
  let found = first.scales.flatMap((scale) => values.map((value) => scaled(value, scale)));
  let end = at + first.length;
  for (let smallest = Math.min(...first.scales); first.isSign && tokens[end]?.kind === 'number'; ) {
    const next = named(end + 1);
    const [scale = 1] = next?.isSign === true ? next.scales : [];
    const [more = 0] = readingsOf(tokens[end]?.text ?? '');
    if (scale >= smallest || scaled(more, scale) >= smallest) break;
    found = found.map((value) => value + scaled(more, scale));
    smallest = scale;
    end += scale === 1 ? 1 : 2;
  }
  // "Billion" is one of two numbers.
  return { values: found, end, scale: first.scales[0] ?? 1, isSure: first.scales.length === 1 };
}

const SIGNS: Readonly<Record<string, number>> = {
  千: 1e3,
  万: 1e4,
  萬: 1e4,
  亿: 1e8,
  億: 1e8,
  兆: 1e12,
};

const BITS = /^[kKMGT]b$/;

function isCurrency(token: Token | undefined): boolean {
  return /^\p{Sc}$/u.test(token?.text ?? '');
}

/** The quantity that a figure or number in words at this place belongs to. */
export function quantityAt(tokens: readonly ComparedToken[], at: number): Quantity | undefined {
  return tokens.find(({ quantity }) => quantity?.at === at || quantity?.second === at)?.quantity;
}
