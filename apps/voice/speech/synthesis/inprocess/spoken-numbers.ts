import type { Language } from '../../../languages/languages.ts';

export type Rule = readonly [RegExp, string | ((...groups: string[]) => string)];

/** A number as it is written, with its marks. */
const plainNumber = String.raw`\d+(?:[.,]\d+)*`;
/** Digits in groups. */
const grouped = /^\d{1,3}(?:[.,]\d{2,3})*[.,]\d{3}(?:[.,]\d+)?$/;
const number = String.raw`(?:\d{1,3}(?: \d{3})+(?:[.,]\d+)?(?!\d)|${plainNumber})`;

/** Numbers that are read digit by digit: telephone numbers, post codes, codes; and addresses of machines. */
export function digits({ locale, spoken }: Language): Rule[] {
  const plus = spoken.symbols['+'] ?? '';
  const spell = (text: string) => spelledDigits(text, plus);
  const spellSecond = (_whole: string, word = '', code = '') => `${word} ${spell(code)}`;
  const isEnglish = locale.startsWith('en');
  const versionDot = isEnglish ? spoken.decimal : spoken.dot;
  return [
    [/(?<![\w.])v(?=\d)/g, `${spoken.version} `],
    [/\b\d{1,3}(?:\.\d{1,3}){3}\b/g, (address) => address.replaceAll('.', ` ${spoken.dot} `)],
    [
      /(?<![\d.,])\d+(?:\.\d+){2,}(?![\d.,]*\d)/g,
      (whole) => (isGrouped(whole) ? whole : whole.replaceAll('.', ` ${versionDot} `)),
    ],
    [
      /(?<![\d)])\+\d+(?:[ .-]?\(?\d+\)?)*/g,
      (whole) => (whole.replace(/\D/g, '').length < 7 ? whole : spell(whole)),
    ],
    [new RegExp(spoken.phones, 'g'), spell],
    [
      new RegExp(String.raw`(?<![\p{L}\p{M}])(${spoken.digitsAfter}) (\d[\d-]{2,})(?![\d.,]*\d)`, 'giu'),
      spellSecond,
    ],
    ...(isEnglish
      ? [[/\b([A-Z]{2}) (\d{5}(?:-\d{4})?)\b/g, spellSecond] as const]
      : [[/(?<![\d.,])(?:\d{5}-\d{3}(?!\d)|\d{5}(?= \p{Lu}))/gu, spell] as const]),
    [/(?<![\d.,])\d{7,}(?![.,]?\d)/g, spell],
  ];
}

function isGrouped(text: string): boolean {
  return /^\d{1,3}(?:\.\d{3})+$/.test(text);
}

function spelledDigits(text: string, plus: string): string {
  return [...text.replace(/[^\d+]/g, '')].join(' ').replace('+', plus);
}

const signs: Readonly<Record<string, string>> = {
  $: 'USD',
  US$: 'USD',
  R$: 'BRL',
  '€': 'EUR',
  '£': 'GBP',
  '¥': 'JPY',
  '₹': 'INR',
};
const currency = String.raw`US\$|R\$|[$€£¥₹]|\b(?:USD|EUR|GBP|JPY|INR|BRL|CHF|CAD|AUD|MXN|CNY)\b`;

/** Units that `Intl` can name. */
const knownUnits: Readonly<Record<string, string>> = {
  'km/h': 'kilometer-per-hour',
  kmh: 'kilometer-per-hour',
  mph: 'mile-per-hour',
  'm/s': 'meter-per-second',
  km: 'kilometer',
  cm: 'centimeter',
  mm: 'millimeter',
  m: 'meter',
  mi: 'mile',
  ft: 'foot',
  kg: 'kilogram',
  g: 'gram',
  lbs: 'pound',
  lb: 'pound',
  oz: 'ounce',
  ml: 'milliliter',
  mL: 'milliliter',
  l: 'liter',
  L: 'liter',
  ha: 'hectare',
  TB: 'terabyte',
  GB: 'gigabyte',
  MB: 'megabyte',
  kB: 'kilobyte',
  KB: 'kilobyte',
  Mbps: 'megabit-per-second',
  'Mbit/s': 'megabit-per-second',
  Gbps: 'gigabit-per-second',
  ms: 'millisecond',
  min: 'minute',
  s: 'second',
  h: 'hour',
  '°C': 'celsius',
  '°F': 'fahrenheit',
  '°': 'degree',
};

/** Sums of money, and numbers with a unit. */
export function amounts(language: Language): Rule[] {
  const { spoken } = language;
  const short = Object.keys(spoken.scales).join('|');
  const scale = String.raw`(?:\s?((?:${short}|${spoken.scaleWords})(?![\p{L}\p{M}])))?`;
  const money = (sign = '', sum = '', size = '') => sayMoney(language, sign, sum, size);
  const units = [...Object.keys(knownUnits), ...Object.keys(spoken.units)]
    .toSorted((left, right) => right.length - left.length)
    .join('|')
    .replaceAll('°', '° ?');
  return [
    [
      new RegExp(String.raw`(${currency})\s?(${plainNumber})\s?[–-]\s?(?:${currency})?\s?(?=\d)`, 'gu'),
      (_whole, sign = '', sum = '') => `${sum} ${spoken.to} ${sign}`,
    ],
    [
      new RegExp(String.raw`(${currency})\s?(${number})${scale}`, 'gu'),
      (_whole, sign = '', sum = '', size = '') => money(sign, sum, size),
    ],
    [
      new RegExp(String.raw`(?<![\d.,])(${number})${scale}\s?(${currency})(?!\d)`, 'gu'),
      (_whole, sum = '', size = '', sign = '') => money(sign, sum, size),
    ],
    [
      new RegExp(String.raw`(?<![\d.,])(${number})(?: ?(?!s\b)| )(${units})(?![\p{L}\p{M}\p{N}/²³])`, 'gu'),
      (_whole, sum = '', unit = '') => sayUnit(language, sum, unit.replace(' ', '')),
    ],
    [
      new RegExp(String.raw`(?<![\d.,])(${number})\s?%`, 'gu'),
      (_whole, sum = '') => `${sayNumber(language, sum)} ${spoken.percent}`,
    ],
    [
      new RegExp(String.raw`(?<![\d.,])(${number})(${short})(?![\p{L}\p{M}\p{N}])`, 'gu'),
      (_whole, sum = '', size = '') => `${sayNumber(language, sum)} ${scaleWord(language, sum, size)}`,
    ],
  ];
}

function sayMoney(language: Language, sign: string, sum: string, size: string): string {
  const { locale, spoken } = language;
  const code = signs[sign] ?? sign;
  const { whole, decimals, value } = parse(language, sum);
  const [one, many, smallOne, smallMany] = spoken.currencies[code]?.split('|') ?? [];
  const name = (count: number) =>
    one === undefined ? currencyName(locale, code, count) : isOne(locale, count) ? one : (many ?? one);
  if (size !== '') {
    const of = isThousand(spoken, size) || spoken.scaleOf === '' ? '' : `${spoken.scaleOf} `;
    const named = `${of}${name(1_000_000)}`.replace(
      /^de (?=[aeiouhé])/i,
      locale.startsWith('fr') ? "d'" : 'de ',
    );
    return `${sayNumber(language, sum)} ${scaleWord(language, sum, size)} ${named}`;
  }
  const cents = Number(decimals.padEnd(2, '0'));
  if (decimals.length > 2 || (smallOne === undefined && cents > 0))
    return `${sayNumber(language, sum)} ${name(value)}`;
  const units = `${whole} ${name(Number(whole))}`;
  if (cents === 0) return units;
  const change = `${cents} ${isOne(locale, cents) ? smallOne : smallMany}`;
  return Number(whole) === 0 ? change : `${units} ${spoken.moneyJoin} ${change}`;
}

function currencyName(locale: string, code: string, count: number): string {
  const format = new Intl.NumberFormat(locale, {
    style: 'currency',
    currency: code,
    currencyDisplay: 'name',
  });
  return format.formatToParts(count).find(({ type }) => type === 'currency')?.value ?? code;
}

function isThousand({ scales }: Language['spoken'], size: string): boolean {
  return size === 'k' || scales.k?.split('|').includes(size) === true;
}

/** `M` as a word; words stay. */
function scaleWord(language: Language, sum: string, size: string): string {
  const [one = size, many = one] = language.spoken.scales[size]?.split('|') ?? [];
  return isOne(language.locale, parse(language, sum).value) ? one : many;
}

export function sayUnit(language: Language, sum: string, unit: string): string {
  const { locale, spoken } = language;
  const { value } = parse(language, sum);
  const said = sayNumber(language, sum);
  const [one, many] = spoken.units[unit]?.split('|') ?? [];
  if (one !== undefined) return `${said} ${isOne(locale, value) ? one : many}`;
  const format = new Intl.NumberFormat(locale, {
    style: 'unit',
    unit: knownUnits[unit] ?? '',
    unitDisplay: 'long',
  });
  const named = format.formatToParts(value).filter(({ type }) => type === 'unit');
  return `${said} ${named.map((part) => part.value.trim()).join(' ')}`;
}

function isOne(locale: string, value: number): boolean {
  return new Intl.PluralRules(locale).select(value) === 'one';
}

/** Plain numbers, ranges, ordinals and years. */
export function numbers(language: Language): Rule[] {
  const { locale, spoken } = language;
  const isEnglish = locale.startsWith('en');
  const group = isEnglish ? plainNumber : number;
  return [
    ...ordinals(language),
    [/(\d) ?[–-] ?(?=\d)(?!\d+-)/g, `$1 ${spoken.to} `],
    ...(isEnglish ? years : []),
    [/#(?=\d)/g, `${spoken.number} `],
    [
      new RegExp(String.raw`(?<![\d.,\p{L}]|\d )(${group})(?![\p{L}\d])`, 'gu'),
      (written) => sayNumber(language, written),
    ],
  ];
}

/** `1º` and `1ª`; in French `1er`, `1re` and `2e`. */
function ordinals({ locale, spoken }: Language): Rule[] {
  if (spoken.ordinals === '') return [];
  const words = spoken.ordinals.split(' ');
  const feminine = (word: string) => (word === 'premier' ? 'première' : word.replace(/o$/, 'a'));
  const ending = locale.startsWith('fr') ? '(er|re|ère|e|ème)' : String.raw`\.?([ºª])`;
  return [
    [
      new RegExp(String.raw`(?<![\d.,])(10|[1-9])${ending}(?![\p{L}\d])`, 'gu'),
      (_whole, digit = '', mark = '') => {
        const word = words[Number(digit) - 1] ?? digit;
        return ['ª', 're', 'ère'].includes(mark) ? feminine(word) : word;
      },
    ],
  ];
}

const counted = String.raw` (?:people|men|women|children|pence|(?!(?:was|is|has|does|as|this|his|its|us)\b)[a-z]{4,}s)\b`;

/** In English years are read in two halves, except those just after a century. */
const years: readonly Rule[] = [
  [
    new RegExp(
      String.raw`(?<![\d.,-]|\d )(1[1-9]|20)(\d\d)(?!\d|(?!s\b)\p{L}|[.,-]\d| \d|${counted}| ?(?:percent|degree|kilo|metre|mega|giga))`,
      'gu',
    ),
    (whole, first = '', second = '') => year(first, second) ?? whole,
  ],
];

function year(first: string, second: string): string | undefined {
  if (second === '00') return first === '20' ? undefined : `${first} hundred`;
  if (first === '20' && second.startsWith('0')) return undefined;
  return second.startsWith('0') ? `${first} oh ${second.slice(1)}` : `${first} ${second}`;
}

/** Whole part and decimals, whichever mark stands for which: a mark before three digits is the decimal one only where the locale says so. */
function parse({ locale }: Language, written: string): { whole: string; decimals: string; value: number } {
  const plain = written.replaceAll(' ', '');
  const last = Math.max(plain.lastIndexOf('.'), plain.lastIndexOf(','));
  const mark = plain[last] ?? '';
  const decimals = last < 0 ? '' : plain.slice(last + 1);
  const isOnly = !/[.,]/.test(plain.slice(0, last));
  const isThousands = isOnly && decimals.length === 3 && mark !== decimalMark(locale);
  const isGroup = last >= 0 && (isThousands || plain.indexOf(mark) !== last);
  const whole = (last < 0 || isGroup ? plain : plain.slice(0, last)).replace(/[.,]/g, '');
  return isGroup
    ? { whole, decimals: '', value: Number(whole) }
    : { whole, decimals, value: Number(`${whole}.${decimals || '0'}`) };
}

function decimalMark(locale: string): string {
  const parts = new Intl.NumberFormat(locale).formatToParts(1.5);
  return parts.find(({ type }) => type === 'decimal')?.value ?? '.';
}

/** Voices read whole numbers, and in English decimals. */
function sayNumber(language: Language, written: string): string {
  if (/[.,].*[.,]/.test(written) && !grouped.test(written.replaceAll(' ', ''))) return written;
  const { whole, decimals } = parse(language, written);
  if (decimals === '') return whole;
  if (language.locale.startsWith('en')) return `${whole}.${decimals}`;
  const said = decimals.length > 2 || decimals.startsWith('0') ? [...decimals].join(' ') : decimals;
  return `${whole} ${language.spoken.decimal} ${said}`;
}
