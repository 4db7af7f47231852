/**
 * A sentence with its figures in the forms that are read: digits of other widths and fractions as usual digits, powers of ten
 * written out, feet with inches and hours with minutes by their units, shortened years whole.
 */
export function plainFigures(sentence: string): string {
  return wholeYears(plainUnits(plainPowers(plainNumbers(sentence))));
}

const OTHER_DIGITS = /[\uFF05\uFF10-\uFF19\u{1D7CE}-\u{1D7FF}]/gu;
const FRACTION = /(?<![\p{Nd}.,/⁄])(?:(\d{1,4})|(\d{1,2})\s)?([¼½¾⅛⅜⅝⅞⅕⅖⅗⅘⅒])/gu;
const MIXED = /(?<![\p{Nd}.,/⁄-])(\d{1,3}) ([1-9])[/⁄]([2458]|10)(?![\p{Nd}/⁄]|[.,]\p{Nd})/gu;
const PARTS: Readonly<Record<string, number>> = {
  '¼': 0.25,
  '½': 0.5,
  '¾': 0.75,
  '⅛': 0.125,
  '⅜': 0.375,
  '⅝': 0.625,
  '⅞': 0.875,
  '⅕': 0.2,
  '⅖': 0.4,
  '⅗': 0.6,
  '⅘': 0.8,
  '⅒': 0.1,
};
const UNUSUAL = /[¼½¾⅛⅜⅝⅞⅕⅖⅗⅘⅒\uFF05\uFF10-\uFF19\u{1D7CE}-\u{1D7FF}℃℉\u3380-\u33DF]|\d [1-9][/⁄]\d|m[23]/u;
/** Symbols that are one sign: "㎞", "℃"; and powers in plain digits: "km2". */
const ONE_SIGN = /[℃℉\u3380-\u33DF]/gu;
const PLAIN_POWER = /(?<=\p{Nd}\s?)([kcmd]?m)([23])(?![\p{L}\p{Nd}])/gu;

/** Digits of full width or in bold as usual ones, and "2½" and "2 1/2" as 2.5; thirds have no such form. */
function plainNumbers(sentence: string): string {
  if (!UNUSUAL.test(sentence)) return sentence;
  return sentence
    .replace(OTHER_DIGITS, (digit) => digit.normalize('NFKC'))
    .replace(ONE_SIGN, (sign) => sign.normalize('NFKD'))
    .replace(PLAIN_POWER, (_, unit: string, power: string) => `${unit}${power === '2' ? '²' : '³'}`)
    .replace(
      FRACTION,
      (_, close: string | undefined, apart: string | undefined, part: string) =>
        ` ${Number(close ?? apart ?? 0) + (PARTS[part] ?? 0)}`,
    )
    .replace(MIXED, (written, whole: string, above: string, below: string) =>
      Number(above) < Number(below) ? `${Number(whole) + Number(above) / Number(below)}` : written,
    );
}

/** Years that a shortened one lies behind the first of its range at most. */
const LONGEST_RANGE = 50;
const RANGE = /(?<![\d.,/–-])(1\d{3}|20\d{2})([-–/])(\d{2})(?![\p{L}\d]|[-–/.,]\d)/gu;

/** "1990–91" as "1990–1991". Where "2008-09" is a month, 2009 is one more year that the text may mean. */
function wholeYears(sentence: string): string {
  return sentence.replace(RANGE, (written, first: string, dash: string, last: string) => {
    const distance = (Number(last) - (Number(first) % 100) + 100) % 100;
    return distance === 0 || distance > LONGEST_RANGE
      ? written
      : `${first}${dash}${Number(first) + distance}`;
  });
}

const NUMBER = String.raw`(?<![\p{L}\d.,])\d+(?:[.,]\d+)?`;
const EXPONENT = String.raw`(?:\^\s?\(?([+−-]?\d{1,2})\)?|([⁺⁻]?[⁰¹²³⁴⁵⁶⁷⁸⁹]{1,2}))(?![\d⁰¹²³⁴⁵⁶⁷⁸⁹])`;
const TIMES_TEN = String.raw`(?:\s?[×xX·⋅∙*]\s?)10${EXPONENT}`;
const POWER = new RegExp(String.raw`(?<![\p{L}\d.,]|[×xX·⋅∙*]\s?)10${EXPONENT}`, 'gu');
const SCIENTIFIC = new RegExp(`(${NUMBER})${TIMES_TEN}`, 'gu');
const WITH_TOLERANCE = new RegExp(
  String.raw`\(\s*(${NUMBER})\s*±\s*(\d+(?:[.,]\d+)?)\s*\)${TIMES_TEN}`,
  'gu',
);
/** "4.57e14"; "5e3" may be a name. */
const WITH_E = new RegExp(String.raw`(${NUMBER})[eE]([+−-]?\d{1,2})(?![\p{L}\d]|[.,]\d)`, 'gu');
const RAISED = '⁰¹²³⁴⁵⁶⁷⁸⁹';

/** "1.2 × 10⁶", "1.2·10^6", "1.2e6" and "10⁶" in digits. */
function plainPowers(sentence: string): string {
  if (!/10\s?[\^⁺⁻⁰¹²³⁴⁵⁶⁷⁸⁹]|\d[eE][+−-]?\d/u.test(sentence)) return sentence;
  return sentence
    .replace(
      WITH_TOLERANCE,
      (_, value: string, about: string, plain: string | undefined, raised: string | undefined) =>
        [value, about].map((each) => powerOfTen(each, plain ?? raised)).join(' ± '),
    )
    .replace(SCIENTIFIC, (_, value: string, plain: string | undefined, raised: string | undefined) =>
      powerOfTen(value, plain ?? raised),
    )
    .replace(POWER, (_, plain: string | undefined, raised: string | undefined) =>
      powerOfTen('1', plain ?? raised),
    )
    .replace(WITH_E, (_, value: string, exponent: string) => powerOfTen(value, exponent));
}

/** Moves the mark of decimals, so that no digit is lost to floating point. Three decimals would read as thousands. */
function powerOfTen(value: string, exponent = ''): string {
  const by = Number(
    [...exponent]
      .map((sign) => (RAISED.includes(sign) ? RAISED.indexOf(sign) : /[−⁻]/.test(sign) ? '-' : sign))
      .join('')
      .replace(/^[+⁺]/, ''),
  );
  const [whole = '', decimals = ''] = value.split(/[.,]/);
  const point = whole.length + by;
  const digits = `${'0'.repeat(Math.max(0, 1 - point))}${whole}${decimals}`.padEnd(Math.max(0, point), '0');
  const place = Math.max(1, point);
  const behind = digits.slice(place);
  const front = digits.slice(0, place).replace(/^0+(?=\d)/, '');
  return `${front}${behind === '' ? '' : `.${behind.length === 3 ? `${behind}0` : behind}`}`;
}

/** 6′2″, 6'2", 6 ft 2 in; of two signs that have more than 11 behind them, minutes and seconds. */
const FEET =
  /(?<![\p{L}\d.,:°′″'"’”]|[°′']\s)(\d+)\s?(?:[′'’]|ft\.?,?|feet,?|foot,?)\s?(\d{1,2}(?:\.\d+)?)\s?(?:[″"”]|′′|''|in(?:\.|\b))/gu;
const MOST_INCHES = 12;
/** "1h30", and "1:30 h" for a length of time. */
const HOURS_GLUED = /(?<![\p{L}\d.,:])(\d{1,3})h([0-5]\d)(?![\p{L}\d:]|[.,]\d|\s?(?:min|mn)\b)/gu;
const HOURS_COLON = /(?<![\p{L}\d.,:])(\d{1,3}):([0-5]\d)\s?(h|hrs?|hours?|Std|Stunden|heures)(?![\p{L}])/gu;

function plainUnits(sentence: string): string {
  if (!/\d(?:\s?[′'’]\s?\d|\s?(?:ft|feet|foot)[.,]?\s?\d|h\d|:[0-5]\d\s?[hS])/u.test(sentence))
    return sentence;
  return sentence
    .replace(FEET, (written, feet: string, inches: string) => {
      if (Number(inches) < MOST_INCHES && !/^0\d/.test(inches)) return `${feet} ft ${inches} inches`;
      return /[ft]/.test(written) ? written : `${feet} min ${inches} s`;
    })
    .replace(HOURS_GLUED, '$1 h $2 min')
    .replace(HOURS_COLON, '$1 h $2 min');
}
