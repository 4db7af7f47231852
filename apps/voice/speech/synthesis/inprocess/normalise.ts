type Rule = readonly [RegExp, string | ((...groups: string[]) => string)];

const months = 'January February March April May June July August September October November December'.split(
  ' ',
);
const monthPattern = months.map((month) => `${month.slice(0, 3)}(?:${month.slice(3)})?`).join('|');

const currencies: Record<string, readonly [string, string]> = {
  $: ['dollar', 'cent'],
  '€': ['euro', 'cent'],
  '£': ['pound', 'penny'],
};

const marks: readonly Rule[] = [
  [/https?:\/\/(?:www\.)?([^\s/]+)[^\s]*/gi, (_whole, host = '') => host.replaceAll('.', ' dot ')],
  [/\b([\w.+-]+)@([\w-]+(?:\.[\w-]+)+)/g, (_whole, name = '', host = '') => spelledAddress(name, host)],
  [/^\s*#+\s+/gm, ''],
  [/(?<=\w)_+(?=\w)/g, ' '],
  [/[*_`~|]+/g, ''],
  [/\p{Extended_Pictographic}\uFE0F?/gu, ' '],
  [/[“”]/g, '"'],
  [/[‘’]/g, "'"],
  [/\s*&\s*/g, ' and '],
];

const abbreviations: readonly Rule[] = [
  [/\bDr\.(?= [A-Z])/g, 'Doctor'],
  [/\bMr\.(?= )/g, 'Mister'],
  [/\bMrs\.(?= )/g, 'Missus'],
  [/\bMs\.(?= )/g, 'Miz'],
  [/\bProf\.(?= )/g, 'Professor'],
  [/\bSt\.(?= [A-Z])/g, 'Saint'],
  [/\be\.\s?g\.,?/gi, 'for example,'],
  [/\bi\.\s?e\.,?/gi, 'that is,'],
  [/\betc\./gi, 'et cetera.'],
  [/\bvs\.?(?= )/gi, 'versus'],
  [/\bapprox\.(?= )/gi, 'approximately'],
  [/\bNo\. ?(?=\d)/g, 'number '],
  [/(\d) ?([ap])\.?m\b\.?/gi, (_whole, digit = '', letter = '') => `${digit} ${letter.toUpperCase()}M`],
];

const units: readonly Rule[] = [
  [/(\d)\s?km\/h\b/g, '$1 kilometres per hour'],
  [/(\d)\s?km\b/g, '$1 kilometres'],
  [/(\d)\s?kg\b/g, '$1 kilograms'],
  [/(\d)\s?cm\b/g, '$1 centimetres'],
  [/(\d)\s?mm\b/g, '$1 millimetres'],
  [/(\d)\s?ms\b/g, '$1 milliseconds'],
  [/(\d)\s?GB\b/g, '$1 gigabytes'],
  [/(\d)\s?MB\b/g, '$1 megabytes'],
  [/(\d)\s?°\s?C\b/g, '$1 degrees Celsius'],
  [/(\d)\s?°\s?F\b/g, '$1 degrees Fahrenheit'],
  [/(\d)\s?°/g, '$1 degrees'],
  [/(\d)\s?%/g, '$1 percent'],
];

const numbers: readonly Rule[] = [
  [
    /([$€£])(\d[\d,]*(?:\.\d+)?) (thousand|million|billion|trillion)\b/g,
    (_whole, sign = '', sum = '', size = '') => `${sum} ${size} ${currencies[sign]?.[0] ?? ''}s`,
  ],
  [
    /([$€£])(\d{1,3}(?:,\d{3})+|\d+)(?:\.(\d\d))?(?!\d)/g,
    (_whole, sign = '', whole = '', part = '') => money(sign, whole.replaceAll(',', ''), part),
  ],
  [
    /\b(\d{4})-(\d\d)-(\d\d)\b/g,
    (whole, year = '', month = '', day = '') => monthDay(months[Number(month) - 1], day, year) ?? whole,
  ],
  [
    new RegExp(String.raw`\b(${monthPattern})\.? (\d{1,2})(?:st|nd|rd|th)?\b(?!:)`, 'g'),
    (_whole, month = '', day = '') => `${fullMonth(month)} ${ordinal(Number(day))}`,
  ],
  [/\b(\d{1,2}):00(?= ?[AP]M\b)/g, '$1'],
  [/\b(\d{1,2}):00\b/g, "$1 o'clock"],
  [/\b(\d{1,2}):0([1-9])\b/g, '$1 oh $2'],
  [/\b(\d{1,2}):([1-5]\d)\b/g, '$1 $2'],
  [/\b(?:\d{3}[- ])?\d{3}-\d{4}\b/g, (digits) => spelledDigits(digits)],
  [
    /(?<![\d.,-])(1[1-9]|20)(\d\d)(?!\d|[.,-]\d| ?(?:dollar|euro|pound|percent|degree|kilo|metre|mega|giga))/g,
    (whole, first = '', second = '') => year(first, second) ?? whole,
  ],
  [/\+?\d{7,}/g, (digits) => spelledDigits(digits)],
  [/(?<=\d),(?=\d{3}\b)/g, ''],
  [/(\d) ?[–-] ?(?=\d)(?!\d+-)/g, '$1 to '],
  [/#(?=\d)/g, 'number '],
];

/** Writes out what a voice cannot read: links, symbols, units, dates, sums. Plain numbers stay. */
export function normalise(text: string): string {
  const rules = [...marks, ...abbreviations, ...units, ...numbers];
  const said = rules.reduce((result, [pattern, replacement]) => {
    if (typeof replacement === 'string') return result.replace(pattern, replacement);
    return result.replace(pattern, (...groups: unknown[]) =>
      replacement(...groups.map((group) => textOf(group))),
    );
  }, text);
  return said.replace(/\s+/g, ' ').trim();
}

function textOf(group: unknown): string {
  return typeof group === 'string' ? group : '';
}

function spelledAddress(name: string, host: string): string {
  return `${name.replaceAll('.', ' dot ')} at ${host.replaceAll('.', ' dot ')}`;
}

function spelledDigits(digits: string): string {
  return [...digits.replace(/[^\d+]/g, '')].join(' ').replace('+', 'plus');
}

function money(sign: string, whole: string, part: string): string {
  const [unit = '', small = ''] = currencies[sign] ?? [];
  const units = `${whole} ${plural(unit, Number(whole))}`;
  const cents = Number(part);
  if (cents === 0) return units;
  const change = `${cents} ${plural(small, cents)}`;
  return Number(whole) === 0 ? change : `${units} and ${change}`;
}

function plural(word: string, count: number): string {
  if (count === 1) return word;
  return word === 'penny' ? 'pence' : `${word}s`;
}

function monthDay(month: string | undefined, day: string, year: string): string | undefined {
  return month === undefined || Number(day) > 31 ? undefined : `${month} ${ordinal(Number(day))}, ${year}`;
}

function fullMonth(text: string): string {
  return months.find((month) => month.startsWith(text.slice(0, 3))) ?? text;
}

function ordinal(value: number): string {
  const tens = value % 100;
  const ending = tens >= 11 && tens <= 13 ? 'th' : (['th', 'st', 'nd', 'rd'][value % 10] ?? 'th');
  return `${value}${ending}`;
}

/** Years are read in two halves, except those just after a century. */
function year(first: string, second: string): string | undefined {
  if (second === '00') return first === '20' ? undefined : `${first} hundred`;
  if (first === '20' && second.startsWith('0')) return undefined;
  return second.startsWith('0') ? `${first} oh ${second.slice(1)}` : `${first} ${second}`;
}
