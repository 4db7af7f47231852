import { lazy } from '@trunkline/std';
import { isStopWord, spaced } from '../text/words.ts';

/** What a unit measures and how many of the first unit of its kind it is. Units of one kind can be compared. */
export interface Measure {
  kind: string;
  /** More than one where a name is used for several units: "ton". */
  factors: readonly number[];
  /** What its zero is in the first unit of its kind: that of Celsius in kelvin. */
  offset?: number;
}

/** Units that Intl knows the names of, by what they measure, and their size. */
export const MEASURES: Readonly<Record<string, Readonly<Record<string, number>>>> = {
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
  mass: { gram: 1, kilogram: 1000, pound: 453.59237, ounce: 28.349523 },
  volume: { liter: 1, milliliter: 0.001, gallon: 3.785412 },
  area: { hectare: 10_000, acre: 4046.856 },
  time: { second: 1, minute: 60, hour: 3600, day: 86_400, week: 604_800, month: 2_629_800, year: 31_557_600 },
  data: { byte: 1, kilobyte: 1e3, megabyte: 1e6, gigabyte: 1e9, terabyte: 1e12, petabyte: 1e15 },
  speed: { 'kilometer-per-hour': 1 / 3.6, 'mile-per-hour': 0.44704, 'meter-per-second': 1 },
  temperature: { celsius: 1, fahrenheit: 5 / 9 },
};

const OFFSETS: Readonly<Record<string, number>> = { celsius: 273.15, fahrenheit: 459.67 * (5 / 9) };

/** A US short ton, a British long ton and a tonne. */
const TONS = [907_184.74, 1_016_046.9, 1e6];
const GALLONS = [3.785412, 4.54609];

/** Names that Intl lacks, of English and of other languages: names, separated by commas, and the unit. */
const ENGLISH: readonly (readonly [names: string, kind: string, ...factors: number[]])[] = [
  ['ton,tons', 'mass', ...TONS],
  ['tonne,tonnes,metric ton,metric tons,metric tonnes', 'mass', 1e6],
  ['milligram,milligrams', 'mass', 0.001],
  ['gallon,gallons,gal', 'volume', ...GALLONS],
  ['us gallon,us gallons,u s gallons', 'volume', 3.785412],
  ['imperial gallon,imperial gallons', 'volume', 4.54609],
  ['nautical mile,nautical miles,nmi', 'length', 1852],
  ['lbs', 'mass', 453.59237],
  ['kph,kmh', 'speed', 1 / 3.6],
  ['knot,knots', 'speed', 0.514444],
  ['hr,hrs', 'time', 3600],
  ['horsepower,hp,bhp', 'w', 745.7],
];
const OTHERS: typeof ENGLISH = [
  ['tonne,tonnes,tonnen,tonelada,toneladas,tonnellata,tonnellate,ton,tona,tony', 'mass', 1e6],
  ['milligramm,milligramme,milligrammes,miligramo,miligramos,milligrammi', 'mass', 0.001],
  ['seemeile,seemeilen', 'length', 1852],
  ['mille marin,milles marins,mille nautique,milles nautiques', 'length', 1852],
  ['milla náutica,millas náuticas,miglia nautiche,milhas náuticas', 'length', 1852],
  ['knoten,nœud,nœuds,nudo,nudos,nodi,nós,knop', 'speed', 0.514444],
  ['тонна,тонны,тонн,т', 'mass', 1e6],
  ['м', 'length', 1],
  ['кг', 'mass', 1000],
  ['吨,公吨,噸,公噸,トン', 'mass', 1e6],
  ['公斤,千克,キロ', 'mass', 1000],
  ['斤', 'mass', 500],
  ['公里,千米,キロ', 'length', 1000],
  ['公尺', 'length', 1],
  ['公分', 'length', 0.01],
  ['海里,浬', 'length', 1852],
  ['亩,畝', 'area', 10_000 / 15],
  ['ตัน', 'mass', 1e6],
  ['طن,طنا,طنًا,أطنان', 'mass', 1e6],
  ['كيلوغراما,كيلوغرامًا,كيلوغرامات', 'mass', 1000],
  ['كيلومترا,كيلومترًا', 'length', 1000],
  ['مترا,مترًا', 'length', 1],
  ['هكتارات,هكتارا,هكتارًا', 'area', 10_000],
  ['톤', 'mass', 1e6],
  ['टन', 'mass', 1e6],
];

/** By the script that a name is written in: other languages than English, and letters of the script. */
const SCRIPTS: readonly (readonly [RegExp, string])[] = [
  [/^\p{Script=Latin}/u, 'de fr es it pt nl sv pl'],
  [/^[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}]/u, 'ja zh zh-Hant'],
  [/^\p{Script=Cyrillic}/u, 'ru uk'],
  [/^\p{Script=Thai}/u, 'th'],
  [/^\p{Script=Arabic}/u, 'ar'],
  [/^\p{Script=Hangul}/u, 'ko'],
  [/^\p{Script=Hebrew}/u, 'he'],
  [/^\p{Script=Devanagari}/u, 'hi'],
  [/^\p{Script=Greek}/u, 'el'],
];
/** British and American English differ in "metre" and "litre". */
const BOTH_ENGLISH = ['en', 'en-GB'];

type Names = ReadonlyMap<string, readonly Measure[]>;

const english = lazy(() => namesOf(BOTH_ENGLISH, ENGLISH));
const others = SCRIPTS.map(([script, languages]) => ({
  script,
  // English names stand in other languages too: "30 yards".
  names: lazy(() =>
    namesOf(
      [...languages.split(' '), ...(languages.startsWith('de') ? BOTH_ENGLISH : [])],
      OTHERS.filter(([names]) => script.test(names)),
    ),
  ),
}));

/** What a name of one or more words, in small letters with a space between, may be the name of. */
export function measuresNamed(name: string, isEnglish: boolean): readonly Measure[] {
  if (name.startsWith('°') || (isEnglish && /^\p{Script=Latin}/u.test(name)))
    return english().get(name) ?? [];
  return (
    others
      .find(({ script }) => script.test(name))
      ?.names()
      .get(name) ?? []
  );
}

function namesOf(languages: readonly string[], more: typeof ENGLISH): Names {
  const names = new Map<string, Measure[]>();
  const add = (name: string, measure: Measure, isOverriding = false) => {
    const known = (names.get(name) ?? []).filter(({ kind }) => !isOverriding || kind !== measure.kind);
    const isKnown = known.some(
      (each) => each.kind === measure.kind && each.factors.join() === measure.factors.join(),
    );
    names.set(name, isKnown ? known : [...known, measure]);
  };
  for (const [kind, units] of Object.entries(MEASURES))
    for (const [unit, factor] of Object.entries(units))
      for (const name of languages.flatMap((language) => unitNames(unit, language)))
        if (isTelling(name)) add(name, { kind, factors: [factor], ...offsetOf(unit) });
  // "Ton" is overridden by none: the list says all that a name may mean.
  const listed = new Map<string, Measure>();
  for (const [list, kind, ...factors] of more)
    for (const name of list.split(',')) {
      const key = `${kind} ${name}`;
      const own = listed.get(key);
      listed.set(key, { kind, factors: own === undefined ? factors : [...own.factors, ...factors] });
    }
  for (const [key, measure] of listed) add(key.slice(measure.kind.length + 1), measure, true);
  return names;
}

function offsetOf(unit: string): { offset?: number } {
  const offset = OFFSETS[unit];
  return offset === undefined ? {} : { offset };
}

/** A letter of an alphabet alone, such as the "o" of French bytes, stands for too much; symbols are read by themselves. */
function isTelling(name: string): boolean {
  return !/^\p{L}$/u.test(name) || /[\p{Script=Han}\p{Script=Hangul}]/u.test(name);
}

/** As they stand behind a number: "kilometres", "km", "degrees Celsius" as its words. */
function unitNames(unit: string, language: string): string[] {
  return (['long', 'short'] as const).flatMap((unitDisplay) => {
    const format = new Intl.NumberFormat(`${language}-u-nu-latn`, { style: 'unit', unit, unitDisplay });
    return [1, 2, 5, 11].flatMap((value) => {
      const name = plainUnitName(
        format.formatToParts(value).find(({ type }) => type === 'unit')?.value ?? '',
      );
      return name === '' || isStopWord(name) ? [] : [name];
    });
  });
}

function plainUnitName(name: string): string {
  return (
    spaced(name)
      .toLowerCase()
      .match(/\p{L}[\p{L}\p{M}]*|[°%]/gu) ?? []
  ).join(' ');
}

/** Symbols of the International System and how many of the first unit of its kind each is. */
const BASES: Readonly<Record<string, readonly [kind: string, size: number]>> = {
  m: ['length', 1],
  g: ['mass', 1],
  t: ['mass', 1e6],
  l: ['volume', 1],
  L: ['volume', 1],
  h: ['time', 3600],
  s: ['time', 1],
  W: ['w', 1],
  Wh: ['wh', 1],
  bar: ['pa', 1e5],
  Hz: ['hz', 1],
  V: ['v', 1],
  VA: ['va', 1],
  J: ['wh', 1 / 3600],
  cal: ['wh', 4.184 / 3600],
  Pa: ['pa', 1],
  Bq: ['bq', 1],
  eV: ['wh', 1.602176634e-19 / 3600],
  N: ['n', 1],
  K: ['temperature', 1],
};
const PREFIXES: Readonly<Record<string, number>> = {
  n: 1e-9,
  µ: 1e-6,
  μ: 1e-6,
  m: 1e-3,
  c: 1e-2,
  d: 0.1,
  h: 100,
  k: 1e3,
  M: 1e6,
  G: 1e9,
  T: 1e12,
  P: 1e15,
};
const SYMBOL = new RegExp(
  `^([${Object.keys(PREFIXES).join('')}])?(${Object.keys(BASES).join('|')})([²³])?$`,
  'u',
);

/** Symbols that are read as they stand, capitals included; feet and inches share their signs with minutes and seconds. */
const SINGLE: Readonly<Record<string, readonly Measure[]>> = {
  KiB: [{ kind: 'data', factors: [2 ** 10] }],
  MiB: [{ kind: 'data', factors: [2 ** 20] }],
  GiB: [{ kind: 'data', factors: [2 ** 30] }],
  TiB: [{ kind: 'data', factors: [2 ** 40] }],
  kb: [{ kind: 'data', factors: [1e3 / 8] }],
  Kb: [{ kind: 'data', factors: [1e3 / 8] }],
  Mb: [{ kind: 'data', factors: [1e6 / 8] }],
  Gb: [{ kind: 'data', factors: [1e9 / 8] }],
  Tb: [{ kind: 'data', factors: [1e12 / 8] }],
  Å: [{ kind: 'length', factors: [1e-10] }],
  psi: [{ kind: 'pa', factors: [6894.757] }],
  atm: [{ kind: 'pa', factors: [101_325] }],
  PS: [{ kind: 'w', factors: [735.49875] }],
  '′': [
    { kind: 'length', factors: [0.3048] },
    { kind: 'time', factors: [60] },
    { kind: 'angle', factors: [60] },
  ],
  '″': [
    { kind: 'length', factors: [0.0254] },
    { kind: 'time', factors: [1] },
    { kind: 'angle', factors: [1] },
  ],
};

/** The units that a sign or symbol without a prefix may stand for. */
export function measuresOfSign(text: string): readonly Measure[] {
  return SINGLE[text] ?? [];
}

/** Other symbols that may have a power: "mi²". */
const POWERED = /^(\p{L}+)([²³])$/u;

/** The unit that a symbol stands for, in which capitals count: "mW" and "MW", "km²". */
export function measureOfSymbol(text: string): Measure | undefined {
  const [, prefix, base = '', power] = SYMBOL.exec(text) ?? [];
  const unit = BASES[base];
  // "Milliseconds" and "hectowatts" aside, time has no prefix that a text would not write out.
  if (unit !== undefined && !(unit[0] === 'time' && prefix !== undefined && prefix !== 'm')) {
    const size = (prefix === undefined ? 1 : (PREFIXES[prefix] ?? 1)) * unit[1];
    const plain: Measure = { kind: unit[0], factors: [size] };
    return power === undefined ? plain : powerOf(plain, power === '²' ? 2 : 3);
  }
  const [, name = '', sign] = POWERED.exec(text) ?? [];
  const [named] = measuresNamed(name.toLowerCase(), true);
  return named === undefined ? undefined : powerOf(named, sign === '²' ? 2 : 3);
}

/** Square and cubic units of a length; litres are the first unit of volumes. */
export function powerOf({ kind, factors }: Measure, power: 2 | 3): Measure | undefined {
  if (kind !== 'length') return undefined;
  return power === 2
    ? { kind: 'area', factors: factors.map((factor) => factor ** 2) }
    : { kind: 'volume', factors: factors.map((factor) => factor ** 3 * 1000) };
}

const list = (words: string) => words.split(' ');

/** Words before a unit of length that make it square or cubic, some of them in one word with it, and words behind it. */
const BEFORE: Readonly<Record<2 | 3, readonly string[]>> = {
  2: list(
    'square sq quadrat vierkante kvadrat kw квадратный квадратных квадратные кв 平方 ตาราง 제곱 평방 वर्ग τετραγωνικά',
  ),
  3: list('cubic cu kubik kubieke kubikk кубический кубических кубические куб 立方 ลูกบาศก์ 세제곱 घन κυβικά'),
};
const BEHIND: Readonly<Record<2 | 3, readonly string[]>> = {
  2: list(
    'carré carrés cuadrado cuadrados quadrato quadrati quadrado quadrados kwadratowych مربع مربعة مربعا مربعًا',
  ),
  3: list('cube cubes cúbico cúbicos cubo cubi sześciennych مكعب مكعبة مكعبا مكعبًا'),
};
const POWERS = [2, 3] as const;

/** The power that a word in front of a unit gives it, and what is left of a word that has both: "Quadratkilometer". */
export function powerBefore(word: string): { power: 2 | 3; rest: string } | undefined {
  for (const power of POWERS) {
    const found = BEFORE[power].find((each) => word === each || (each.length > 1 && isJoined(word, each)));
    if (found !== undefined) return { power, rest: word.slice(found.length) };
  }
  return undefined;
}

const JOINED = list('quadrat kubik kvadrat kubikk 平方 立方 ตาราง ลูกบาศก์ 제곱 평방 세제곱');

function isJoined(word: string, prefix: string): boolean {
  return JOINED.includes(prefix) && word.startsWith(prefix);
}

export function powerBehind(word: string): 2 | 3 | undefined {
  return POWERS.find((power) => BEHIND[power].includes(word));
}
