import { lazy } from '@trunkline/std';
import { isStopWord } from '../text/words.ts';
import { scaleWords } from './rounding.ts';

/** A unit as far as it can be compared: those of one kind measure the same thing. */
export interface Unit {
  word: string;
  kind: string;
  /** How many of the kind's first unit it is. More than one where a word is used for several: "billion". */
  factors: ReadonlySet<number>;
}

/** Units that Intl knows the names of, by what they measure, and their size. */
const MEASURES: Readonly<Record<string, Readonly<Record<string, number>>>> = {
  length: {
    meter: 1,
    kilometer: 1000,
    centimeter: 0.01,
    millimeter: 0.001,
    mile: 1609.344,
    yard: 0.9144,
    foot: 0.3048,
    inch: 0.0254,
  },
  mass: { gram: 1, kilogram: 1000, pound: 453.592, ounce: 28.3495 },
  volume: { liter: 1, milliliter: 0.001, gallon: 3.78541 },
  area: { hectare: 1, acre: 0.404686 },
  time: { second: 1, minute: 60, hour: 3600, day: 86_400, week: 604_800, month: 2_629_800, year: 31_557_600 },
  data: { byte: 1, kilobyte: 1e3, megabyte: 1e6, gigabyte: 1e9, terabyte: 1e12, petabyte: 1e15 },
};

const LANGUAGES = 'en en-GB de fr es it pt nl sv pl ru ja zh'.split(' ');

/** British and American English differ in "metre" and "litre". */
const englishMeasures = lazy(() => measuresOf(LANGUAGES.filter((language) => language.startsWith('en'))));
const allMeasures = lazy(() => measuresOf(LANGUAGES));

/** The kind and size of units by their names. A name that is a word of another kind too, such as "in", is none. */
function measuresOf(languages: readonly string[]): ReadonlyMap<string, { kind: string; factor: number }> {
  const words = new Map<string, { kind: string; factor: number }>();
  const unsure = new Set<string>();
  for (const [kind, units] of Object.entries(MEASURES))
    for (const [unit, factor] of Object.entries(units))
      for (const word of languages.flatMap((language) => namesOf(unit, language))) {
        const known = words.get(word);
        if (isStopWord(word) || (known !== undefined && known.factor !== factor)) unsure.add(word);
        words.set(word, { kind, factor });
      }
  for (const word of unsure) words.delete(word);
  return words;
}

/** "Percent", "per cent", "Prozent", "pour cent". */
const percentWords = lazy(
  () =>
    new Set([
      '%',
      '٪',
      'percent',
      ...LANGUAGES.flatMap((language) => namesOf('percent', language, /^[\p{L}\p{M} ]{2,}$/u)),
    ]),
);

/** Whether the words, of which the second may be missing, make a figure before them a percentage. */
export function isPercentWord(first: string | undefined, second: string | undefined): boolean {
  return first !== undefined && (percentWords().has(first) || percentWords().has(`${first} ${second}`));
}

function namesOf(unit: string, language: string, form = /^[\p{L}\p{M}]{2,}$/u): string[] {
  return (['long', 'short'] as const).flatMap((unitDisplay) => {
    const format = new Intl.NumberFormat(language, { style: 'unit', unit, unitDisplay });
    return [1, 2, 5].flatMap((value) => {
      const name = format.formatToParts(value).find(({ type }) => type === 'unit')?.value ?? '';
      const word = name.toLowerCase().replaceAll('.', '').trim();
      return form.test(word) ? [word] : [];
    });
  });
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

/** Whether a word is the symbol of a unit, which has capitals and is no name: "MWh". */
export function isSymbol(lower: string): boolean {
  return SYMBOL.test(lower);
}

/** The unit that a word names. A word that names a scale in one language and a unit in another, such as "mil", is a scale. */
export function unitOf(word: string, isEnglish: boolean): Unit | undefined {
  const scale = (isEnglish ? scaleWords('en').get(word) : undefined) ?? scaleWords().get(word);
  if (scale !== undefined) return { word, kind: 'number', factors: scale };
  const known = (isEnglish ? englishMeasures() : allMeasures()).get(word);
  if (known !== undefined) return { word, kind: known.kind, factors: new Set([known.factor]) };
  const plain = word.normalize('NFD').replace(/\p{M}/gu, '');
  const [, symbol = '', base] = SYMBOL.exec(plain) ?? [];
  if (base !== undefined) return { word, kind: base, factors: new Set([SYMBOLS[symbol] ?? 1]) };
  const [, prefix = '', stock] = PREFIXED.exec(plain) ?? [];
  return stock === undefined || isStopWord(word)
    ? undefined
    : { word, kind: stock, factors: new Set([PREFIXES[prefix] ?? 1]) };
}

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
