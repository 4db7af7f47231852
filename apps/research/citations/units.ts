import { lazy } from '@trunkline/std';
import { isStopWord } from '../text/words.ts';
import { scaleWords } from './rounding.ts';
import {
  MEASURES,
  type Measure,
  measureOfSymbol,
  measuresNamed,
  measuresOfSign,
  powerBefore,
  powerBehind,
  powerOf,
} from './unit-names.ts';

/** A unit as far as it can be compared: those of one kind measure the same thing. */
export interface Unit {
  word: string;
  kind: string;
  /** How many of the kind's first unit it is. More than one where a word is used for several: "billion". */
  factors: ReadonlySet<number>;
}

const LANGUAGES = 'en en-GB de fr es it pt nl sv pl ru ja zh'.split(' ');

/** "Percent", "per cent", "Prozent", "pour cent". */
const percentWords = lazy(
  () => new Set(['%', '٪', 'percent', ...LANGUAGES.flatMap((language) => percentNames(language))]),
);

function percentNames(language: string): string[] {
  return (['long', 'short'] as const).flatMap((unitDisplay) => {
    const format = new Intl.NumberFormat(language, { style: 'unit', unit: 'percent', unitDisplay });
    return [1, 2, 5].flatMap((value) => {
      const name = format.formatToParts(value).find(({ type }) => type === 'unit')?.value ?? '';
      const word = name.toLowerCase().replaceAll('.', '').trim();
      return /^[\p{L}\p{M} ]{2,}$/u.test(word) ? [word] : [];
    });
  });
}

/** Whether the words, of which the second may be missing, make a figure before them a percentage. */
export function isPercentWord(first: string | undefined, second: string | undefined): boolean {
  return percentLength(first, second) > 0;
}

/** How many of the two words say that a figure before them is a percentage. */
export function percentLength(first: string | undefined, second: string | undefined): 0 | 1 | 2 {
  if (first === undefined) return 0;
  if (percentWords().has(first)) return 1;
  return percentWords().has(`${first} ${second}`) ? 2 : 0;
}

/** Prefixes of the International System, as languages write them in units: "mégawatts", "Gigawatt", "megavatios". */
const PREFIXES: Readonly<Record<string, number>> = {
  milli: 1e-3,
  mili: 1e-3,
  kilo: 1e3,
  mega: 1e6,
  giga: 1e9,
  tera: 1e12,
};
const PREFIXED = new RegExp(`^(${Object.keys(PREFIXES).join('|')})?([a-z]{4,}?)s?$`);
/** Symbols: "MWh" and "GWh", "kHz" and "MHz". A small m may be lost, so that thousandths are left out. */
const SYMBOL = /^([kmgt])(w|wh|hz|v|va|j|pa|bq|ev)$/;
const SYMBOLS: Readonly<Record<string, number>> = { k: 1e3, m: 1e6, g: 1e9, t: 1e12 };
/** Units that are written out too, by their symbols. */
const STOCKS: Readonly<Record<string, string>> = {
  watt: 'w',
  vatio: 'w',
  wattstunde: 'wh',
  wattstunden: 'wh',
  hertz: 'hz',
  hercio: 'hz',
  volt: 'v',
  voltio: 'v',
  joule: 'j',
  julio: 'j',
  pascal: 'pa',
};

/** Whether a word is the symbol of a unit, which has capitals and is no name: "MWh". */
export function isSymbol(lower: string): boolean {
  return SYMBOL.test(lower);
}

/** The unit that a word names. A word that names a scale in one language and a unit in another, such as "mil", is a scale. */
export function unitOf(word: string, isEnglish: boolean): Unit | undefined {
  const scale = (isEnglish ? scaleWords('en').get(word) : undefined) ?? scaleWords().get(word);
  if (scale !== undefined) return { word, kind: 'number', factors: scale };
  const [known, ...more] = measuresNamed(word, isEnglish);
  if (known !== undefined && more.length === 0)
    return { word, kind: known.kind, factors: new Set(known.factors) };
  const plain = word.normalize('NFD').replace(/\p{M}/gu, '');
  const [, symbol = '', base] = SYMBOL.exec(plain) ?? [];
  if (base !== undefined) return { word, kind: base, factors: new Set([SYMBOLS[symbol] ?? 1]) };
  const [, prefix = '', stock] = PREFIXED.exec(plain) ?? [];
  return stock === undefined || isStopWord(word)
    ? undefined
    : { word, kind: STOCKS[stock] ?? stock, factors: new Set([PREFIXES[prefix] ?? 1]) };
}

/** A word of a text, as far as units need it. */
interface UnitWord {
  text: string;
  lower: string;
}

/** Words of a name at most: "sq mi", "degrees Celsius", "миль в час". */
const LONGEST = 3;

/** The units that the words from this place on may name, and how many words that takes. */
export function measuresAt(
  words: readonly UnitWord[],
  at: number,
  isEnglish: boolean,
): { measures: readonly Measure[]; length: number } | undefined {
  const word = words[at];
  if (word === undefined) return undefined;
  const before = powerBefore(word.lower);
  if (before !== undefined) {
    const place = before.rest === '' ? at + 1 : at;
    const named = before.rest === '' ? plainAt(words, place, isEnglish) : nameOf(before.rest, isEnglish);
    const measures = named?.measures.flatMap((each) => powerOf(each, before.power) ?? []) ?? [];
    // "kw" is short for square in Polish, and a kilowatt.
    if (measures.length > 0 && named !== undefined) return { measures, length: place - at + named.length };
  }
  const plain = plainAt(words, at, isEnglish);
  if (plain === undefined) return undefined;
  const power = powerBehind(words[at + plain.length]?.lower ?? '');
  if (power === undefined) return plain;
  const measures = plain.measures.flatMap((each) => powerOf(each, power) ?? []);
  return measures.length === 0 ? plain : { measures, length: plain.length + 1 };
}

function nameOf(name: string, isEnglish: boolean): ReturnType<typeof measuresAt> {
  const measures = measuresNamed(name, isEnglish);
  return measures.length === 0 ? undefined : { measures, length: 1 };
}

function plainAt(words: readonly UnitWord[], at: number, isEnglish: boolean): ReturnType<typeof measuresAt> {
  const signs = measuresOfSign(words[at]?.text ?? '');
  if (signs.length > 0) return { measures: signs, length: 1 };
  for (let length = LONGEST; length > 0; length -= 1) {
    const name = words.slice(at, at + length).map(({ lower }) => lower);
    const measures = name.length < length ? [] : measuresNamed(name.join(' '), isEnglish);
    if (measures.length > 0) return { measures, length };
  }
  const { text = '', lower = '' } = words[at] ?? {};
  const symbol = measureOfSymbol(text);
  if (symbol !== undefined) return { measures: [symbol], length: 1 };
  const unit = unitOf(lower, isEnglish);
  // Any long word may be the stock of a unit.
  if (unit === undefined || !STOCK_KINDS.has(unit.kind)) return undefined;
  if (unit.kind === 'j') {
    const factors = [...unit.factors].map((size) => size / HOUR);
    return { measures: [{ kind: 'wh', factors }], length: 1 };
  }
  const hour = measuresNamed(words[at + 1]?.lower ?? '', isEnglish).find(({ kind }) => kind === 'time');
  if (unit.kind !== 'w' || hour === undefined)
    return { measures: [{ kind: unit.kind, factors: [...unit.factors] }], length: 1 };
  // "Gigawatt hours".
  const factors = [...unit.factors].flatMap((size) => hour.factors.map((time) => (size * time) / HOUR));
  return { measures: [{ kind: 'wh', factors }], length: 2 };
}

const STOCK_KINDS: ReadonlySet<string> = new Set(Object.values(STOCKS));
const HOUR = 3600;

/** Whether it is a word for things that are counted, not measured: "118 people". */
function isCount({ kind, factors }: Unit): boolean {
  return kind !== 'number' && !(kind in MEASURES) && factors.has(1);
}

/**
 * By how much the first unit may be larger than the second, where both measure the same thing; undefined where nobody can
 * say. `isScaleNamed`: a scale such as "million" that stands elsewhere in the text may be meant where none stands behind a
 * figure; else it is compared with none at all where a long word stands in its place: "118 people".
 */
export function ratiosOf(
  left: Unit | undefined,
  right: Unit | undefined,
  isScaleNamed: boolean,
): number[] | undefined {
  if (left === undefined || right === undefined || left.word === right.word) return undefined;
  if (!isScaleNamed && left.kind === 'number' && isCount(right)) return [...left.factors];
  if (!isScaleNamed && right.kind === 'number' && isCount(left))
    return [...right.factors].map((factor) => 1 / factor);
  if (left.kind !== right.kind) return undefined;
  return [...left.factors].flatMap((own) => [...right.factors].map((theirs) => own / theirs));
}
