import { type Language, languageOf } from '../../../languages/languages.ts';
import { amounts, digits, numbers, type Rule } from './spoken-numbers.ts';
import { dates } from './spoken-times.ts';

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
