import { lazy } from '@trunkline/std';
import { type Language, languageOf } from '../../../languages/languages.ts';
import { amounts, digits, numbers, type Rule, sayUnit } from './spoken-numbers.ts';

const compiled = new Map<string, readonly Rule[]>();

/**
 * Writes out what a voice cannot read in a language (a code or Kokoro's letter): addresses, symbols, units, dates, sums.
 * Plain numbers stay.
 */
export function normalise(text: string, lang = 'en'): string {
  const language = languageOf(lang);
  // 06/05 is June in American English only.
  const isDayFirst = !language.locale.startsWith('en') || /^(?:b|en-(?!us).*)$/i.test(lang);
  const key = `${language.locale} ${isDayFirst}`;
  const rules = compiled.get(key) ?? rulesOf(language, isDayFirst);
  compiled.set(key, rules);
  const said = rules.reduce((result, [pattern, replacement]) => {
    if (typeof replacement === 'string') return result.replace(pattern, replacement);
    return result.replace(pattern, (...groups: unknown[]) =>
      replacement(...groups.map((group) => textOf(group))),
    );
  }, text);
  return said.replaceAll('’', "'").replace(/\s+/g, ' ').trim();
}

function textOf(group: unknown): string {
  return typeof group === 'string' ? group : '';
}

/** Each rule sees what those before it have left. */
function rulesOf(language: Language, isDayFirst: boolean): Rule[] {
  return [
    ...addresses(language),
    ...marks(language),
    ...abbreviations(language),
    ...dates(language, isDayFirst),
    ...digits(language),
    ...amounts(language),
    ...symbols(language),
    ...numbers(language),
  ];
}

const domains = 'com|org|net|io|dev|app|ai|edu|gov|eu|uk|us|de|es|fr|it|br|pt|in|mx|ch|info|example';
const files =
  'pdf|docx?|xlsx?|pptx?|txt|csv|md|json|ya?ml|xml|html?|css|tsx?|jsx?|py|rs|go|sh|sql|png|jpe?g|gif|svg|mp3|wav|mp4|zip|gz|log|env';

function addresses({ spoken }: Language): Rule[] {
  const spelled = (text: string) => spellMarks(text, spoken);
  return [
    [
      /https?:\/\/(?:www\.)?([^\s/:?#]+?)(?:[/:?#]\S*?)?([.,;:!?)]*)(?=\s|$)/gi,
      (_whole, host = '', end = '') => `${spelled(host)}${end}`,
    ],
    [
      /\b([\w.+-]+)@([\w-]+(?:\.[\w-]+)+)/g,
      (_whole, name = '', host = '') => `${spelled(name)} ${spoken.at} ${spelled(host)}`,
    ],
    [
      new RegExp(String.raw`\b(?:www\.)?((?:[\w-]+\.)+(?:${domains}))(?![\w.-]*\w)(?:/[^\s,;]*)?`, 'g'),
      (_whole, host = '') => spelled(host),
    ],
    [
      new RegExp(String.raw`(?<![\w/.])((?:[\w.-]+/)*[\w-]+(?:\.[\w-]+)*\.(?:${files}))\b(?!\.\w)`, 'g'),
      (_whole, name = '') => spelled(name),
    ],
    [
      /(?<=^|\s)(?:~?(?:\/[a-zA-Z.](?:[\w.-]*\w)?)+\/?)(?=$|[\s,;:.!?)])/g,
      (path) => spelled(path.replace(/^~|\/$/g, '')),
    ],
    [/(?<=^|\s)--?([a-z][a-z-]*)/g, (whole) => spelled(whole)],
  ];
}

function spellMarks(text: string, { dot, slash, hyphen, underscore, symbols }: Language['spoken']): string {
  const words: Record<string, string> = {
    '.': dot,
    '/': slash,
    '-': hyphen,
    _: underscore,
    '+': symbols['+'] ?? '',
  };
  return text.replace(/[./_+-]/g, (mark) => ` ${words[mark]} `).trim();
}

function marks({ spoken: { and, or, symbols } }: Language): Rule[] {
  return [
    [/[०-९]/g, (digit) => String(digit.charCodeAt(0) - 0x966)],
    [/^\s*#+\s+/gm, ''],
    // snake_case and camelCase, with the brackets of a call.
    [/(?<=\w)_+(?=\w)/g, ' '],
    [/\b[a-z]{2,}(?:[A-Z][a-z]+)+\b/g, (name) => name.replace(/(?=[A-Z])/g, ' ').toLowerCase()],
    [/(?<=\w)\(\)/g, ''],
    [new RegExp(`(?<![\\p{L}\\p{M}])${and}/${or}(?![\\p{L}\\p{M}])`, 'gu'), `${and} ${or}`],
    [/(?<=[\p{Ll}\p{Lo}\p{M}])\/(?=[\p{Ll}\p{Lo}]{2})/gu, ` ${or} `],
    [/(?<=\p{Lu})\/(?=\p{Lu})/gu, ' '],
    [/(?<=\S)\s*\|\s*(?=\S)/g, ', '],
    [/(?<=[\d)]) ?\*\* ?(?=[\d(])/g, ` ${symbols['**']} `],
    [/(?<=[\d)]) ?\* ?(?=[\d(])/g, ` ${symbols['×']} `],
    [/~(?=\d)/g, '≈'],
    [/[*_`~|]+/g, ''],
    [/\p{Extended_Pictographic}\uFE0F?/gu, ' '],
    [/[“”«»]/g, '"'],
    [/[‘’]/g, "'"],
    [/\s*&\s*/g, ` ${and} `],
  ];
}

/** Where an abbreviation may stand: not inside a word. */
const [before, after] = [String.raw`(?<![\p{L}\p{M}\p{N}.])`, String.raw`(?![\p{L}\p{M}])`];

function abbreviations({ locale, spoken }: Language): Rule[] {
  const written = Object.keys(spoken.abbreviations).toSorted((left, right) => right.length - left.length);
  const isInitial = (text: string) => /^\p{L}\.$/u.test(text);
  const whole = written.filter((text) => !isInitial(text)).map(escaped);
  const initials = written.filter(isInitial).map((text) => `${escaped(text)}(?= [\\p{Lu}\\d])`);
  const common: Rule = [
    new RegExp(`${before}(?:${[...whole, ...initials].join('|')})${after},?`, 'gu'),
    (whole) => {
      const said = spoken.abbreviations[whole] ?? spoken.abbreviations[whole.replace(/,$/, '')] ?? whole;
      if (!whole.endsWith(',')) return said;
      return `${said.replace(/[,.]$/, '')},`;
    },
  ];
  return [
    ...(locale.startsWith('en') ? english : []),
    common,
    [/(?<=et cetera|etcétera|eccetera)\.(?= \p{Ll})/gu, ''],
  ];
}

const english: readonly Rule[] = [
  [/\bDr\.(?= [A-Z])/g, 'Doctor'],
  [/(?<=\d\w* (?:[A-Z]\w+ )+)St\b\.?/g, 'Street'],
  [/\bSt\.(?= [A-Z])/g, 'Saint'],
  [/\bNo\. ?(?=\d)/g, 'number '],
  [/(\d) ?([ap])\.?m\b\.?/gi, (_whole, digit = '', letter = '') => `${digit} ${letter.toUpperCase()}M`],
];

/** Symbols between numbers or words. */
function symbols({ spoken }: Language): Rule[] {
  const word = (sign: string) => ` ${spoken.symbols[sign] ?? ''} `;
  const between = (signs: string): RegExp =>
    new RegExp(String.raw`(?<=[\p{L}\p{N})])\s?${signs}\s?(?=[\p{L}\p{N}(])`, 'gu');
  const fractions = Object.keys(spoken.fractions).join('|');
  const vulgar: Readonly<Record<string, string>> = {
    '½': '1/2',
    '⅓': '1/3',
    '⅔': '2/3',
    '¼': '1/4',
    '¾': '3/4',
  };
  return [
    [/(\d?)([½⅓⅔¼¾])/g, (_whole, whole = '', sign = '') => mixed(whole, vulgar[sign] ?? '', spoken)],
    [
      new RegExp(String.raw`(?<![\d/.,])(?:(\d) )?(${fractions})(?![\d/.,]\d|\d| ?=)`, 'g'),
      (_whole, whole = '', sign = '') => mixed(whole, sign, spoken),
    ],
    [/\b24\/7\b/g, '24 7'],
    [/(?<=\d) ?× ?(?=\d)/g, word('×')],
    [/(?<=\d) ?(?:÷|\/) ?(?=[\d(])/g, word('÷')],
    [/(?<=\d) [-−–] (?=\d[\d.,]* =)/g, word('-')],
    [/(?<=[\d)])\s?\+\s?(?=[\d(])/g, word('+')],
    [between('='), word('=')],
    [between('≠'), word('≠')],
    [/(?<![\p{L}\p{N}])[-−](?=\d)/gu, word('-')],
    [/≈\s?/g, word('≈')],
    [/(?:≤|<=)\s?(?=\d)/g, word('≤')],
    [/(?:≥|>=)\s?(?=\d)/g, word('≥')],
    [/<\s?(?=\d)/g, word('<')],
    [/>\s?(?=\d)/g, word('>')],
    [/±\s?(?=\d)/g, word('±')],
    [/\s?(?:→|->)\s?/g, word('→')],
  ];
}

/** `1½` is one and a half. */
function mixed(whole: string, fraction: string, { and, fractions }: Language['spoken']): string {
  const said = fractions[fraction] ?? fraction;
  return whole === '' ? said : `${whole} ${and} ${said}`;
}

function escaped(text: string): string {
  return text.replace(/[.*+?^${}()|[\]\\/]/g, String.raw`\$&`);
}

/** Dates, times of day and durations. */
function dates(language: Language, isDayFirst: boolean): Rule[] {
  const isEnglish = language.locale.startsWith('en');
  const said = (year: string, month: string, day: string) => sayDate(language, year, month, day);
  return [
    [
      /\b(\d{4})-(\d\d)-(\d\d)T(\d\d:\d\d)(?::\d\d(?:\.\d+)?)?(?:Z\b|[+-]\d\d:?\d\d)?/g,
      (whole, year = '', month = '', day = '', time = '') => {
        const date = said(year, month, day);
        return date === undefined ? whole : `${date}, ${time}`;
      },
    ],
    [
      /(?<![\d-])(\d{4})[-/](\d\d)[-/](\d\d)\b(?!-)/g,
      (whole, year = '', month = '', day = '') => said(year, month, day) ?? whole,
    ],
    [
      /(?<![\d/.])(\d{1,2})([/.])(\d{1,2})\2(\d{4})(?![\d/])/g,
      (whole, first = '', mark = '', second = '', year = '') => {
        const [monthFirst, dayFirst] = [said(year, first, second), said(year, second, first)];
        return (isDayFirst || mark === '.' ? (dayFirst ?? monthFirst) : (monthFirst ?? dayFirst)) ?? whole;
      },
    ],
    ...(isEnglish ? englishDays() : firstDays(language)),
    ...times(language),
  ];
}

function sayDate(language: Language, year: string, month: string, day: string): string | undefined {
  const date = new Date(Date.UTC(Number(year), Number(month) - 1, Number(day)));
  if (date.getUTCMonth() !== Number(month) - 1 || date.getUTCDate() !== Number(day)) return undefined;
  const { locale, spoken } = language;
  if (locale.startsWith('en'))
    return `${englishMonths()[Number(month) - 1]} ${ordinal(Number(day))}, ${year}`;
  const text = new Intl.DateTimeFormat(locale, { dateStyle: 'long', timeZone: 'UTC' }).format(date);
  return spoken.firstOfMonth === '' ? text : text.replace(/^1(?:º|er)?(?= )/, spoken.firstOfMonth);
}

/** The first day of a month has a name of its own. */
function firstDays({ locale, spoken }: Language): Rule[] {
  if (spoken.firstOfMonth === '') return [];
  const of = locale.startsWith('es') || locale.startsWith('pt') ? 'de ' : '';
  return [
    [
      new RegExp(String.raw`(?<![\d.,:/-])1(?:º|er)? (?=${of}(?:${monthsOf(locale).join('|')})\b)`, 'gi'),
      `${spoken.firstOfMonth} `,
    ],
  ];
}

function monthsOf(locale: string): string[] {
  const format = new Intl.DateTimeFormat(locale, { month: 'long', timeZone: 'UTC' });
  return Array.from({ length: 12 }, (_, month) => format.format(new Date(Date.UTC(2024, month, 1))));
}

const englishMonths = lazy(() => monthsOf('en-GB'));

const englishDays = lazy((): Rule[] => {
  const monthPattern = englishMonths()
    .map((month) => `${month.slice(0, 3)}(?:${month.slice(3).replace('tember', 't(?:ember)?')})?`)
    .join('|');
  return [
    [
      new RegExp(String.raw`\b(${monthPattern})\.? (\d{1,2})(?:st|nd|rd|th)?\b(?!:)`, 'g'),
      (_whole, month = '', day = '') => `${fullMonth(month)} ${ordinal(Number(day))}`,
    ],
    [
      new RegExp(
        String.raw`(\bthe )?(?<![\d:.,])\b(\d{1,2})(?:st|nd|rd|th)? (?:of )?(${monthPattern})\b\.?`,
        'g',
      ),
      (_whole, _the = '', day = '', month = '') => `the ${ordinal(Number(day))} of ${fullMonth(month)}`,
    ],
  ];
});

function fullMonth(text: string): string {
  return englishMonths().find((month) => month.startsWith(text.slice(0, 3))) ?? text;
}

function ordinal(value: number): string {
  const tens = value % 100;
  const ending = tens >= 11 && tens <= 13 ? 'th' : (['th', 'st', 'nd', 'rd'][value % 10] ?? 'th');
  return `${value}${ending}`;
}

function times(language: Language): Rule[] {
  const { locale, spoken } = language;
  const { time } = spoken;
  const list = new Intl.ListFormat(locale, { type: 'unit', style: 'long' });
  const count = (text: string, unit: string) => sayUnit(language, String(Number(text)), unit);
  const said = (hour: string, minute: string) => {
    const [hours, minutes] = [Number(hour), Number(minute)];
    const form = minutes === 0 ? time.hour : minutes < 10 ? time.few : time.minutes;
    return form
      .replace('{hours}', count(hour, 'h'))
      .replace('{h}', String(hours))
      .replace('{m}', String(minutes));
  };
  const after = time.after === '' ? '' : String.raw`(?:\s?(?:${time.after})(?![\p{L}\p{M}]))?`;
  const rules: Rule[] = [
    [
      /(?<![\d:])(\d{1,2}):([0-5]\d):([0-5]\d)(?![\d:])/g,
      (_whole, hours = '', minutes = '', seconds = '') =>
        list.format([count(hours, 'h'), count(minutes, 'min'), count(seconds, 's')]),
    ],
    [/\b(\d{1,2}):00(?= ?[AP]M\b)/g, (_whole, hour = '') => String(Number(hour))],
    [
      new RegExp(String.raw`(?<![\d:.,])(\d{1,2}):([0-5]\d)(?![\d:])${after}`, 'gu'),
      (_whole, hour = '', minute = '') => said(hour, minute),
    ],
  ];
  if (locale.startsWith('en')) return rules;
  return [
    ...rules,
    [
      /(?<![\d:.,])([01]?\d|2[0-4])\s?h\s?([0-5]\d)(?!\d)(?:\s?min\b)?/g,
      (_whole, hour = '', minute = '') => said(hour, minute),
    ],
  ];
}
