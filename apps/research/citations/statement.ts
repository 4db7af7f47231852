import { isStopWord, isUnspaced, spaced, stem } from '../text/words.ts';
import { plainFigures } from './plain-figures.ts';
import { isPercentWord } from './units.ts';

/** A number of a text. */
export interface Figure {
  /** What it may mean: "1.234" is another number in English than in German. */
  values: readonly number[];
  /** As it is written. */
  text: string;
  isYear: boolean;
  /** The last year of "the 1960s" or "the 1800s". */
  until?: number;
  isPercent: boolean;
  /** Place among the tokens. */
  at: number;
}

/** A sentence taken apart into what can be compared. */
export interface Statement {
  tokens: readonly Token[];
  /** Stems that carry meaning, each once, in order. */
  stems: readonly string[];
  figures: readonly Figure[];
}

export function statementOf(text: string): Statement {
  const tokens = tokensOf(text);
  const content = tokens.filter((token) => token.content);
  return {
    tokens,
    stems: [...new Set(content.map((token) => token.stem))],
    figures: tokens.flatMap((token, at) => (token.kind === 'number' ? [figureAt(tokens, token, at)] : [])),
  };
}

/** Its words in small letters. */
export function lowerText({ tokens }: { tokens: readonly Token[] }): string {
  return tokens.map(({ lower }) => lower).join(' ');
}

function figureAt(tokens: readonly Token[], { text }: Token, at: number): Figure {
  const written = readingsOf(text);
  const [year = 0] = written;
  const inEra = yearOfEra(tokens, at, year);
  const values = inEra === undefined ? written : [...written, inEra];
  const next = tokens[at + 1]?.lower ?? '';
  const isYear = values.length === 1 && /^(?:1\d{3}|20\d{2}|2100)$/.test(`${year}`) && !/[.,\s]/.test(text);
  const isDecade = isYear && year % 10 === 0 && DECADE.test(next);
  return {
    values,
    text,
    isYear,
    ...(isDecade && { until: year + (year % 100 === 0 ? 99 : 9) }),
    isPercent: isPercentWord(next, tokens[at + 2]?.lower),
    at,
  };
}

/** Years between those of an era and the common one, by the words before the figure. */
const ERAS: Readonly<Record<string, number>> = {
  明治: 1867,
  大正: 1911,
  昭和: 1925,
  平成: 1988,
  令和: 2018,
  民國: 1911,
  民国: 1911,
  'พ ศ': -543,
};

/** The common year of "平成19年", "民國96年" and "พ.ศ. 2550". */
function yearOfEra(tokens: readonly Token[], at: number, year: number): number | undefined {
  const [second = '', first = ''] = [tokens[at - 2]?.lower, tokens[at - 1]?.lower];
  const distance = ERAS[first] ?? ERAS[`${second} ${first}`];
  return distance === undefined ? undefined : year + distance;
}

/** Endings of a year that stands for a decade: "1960s", "1960er", "1960-х", "1960年代". */
const DECADE = /^(?:s|er(?:ne?)?|[хе]|tal(?:l?et)?|年代|년대\p{L}*)$/u;

/** Whether the figure is a decade or century that has the year. */
export function covers({ values: [from = 0], until }: Figure, year: number): boolean {
  return until !== undefined && year >= from && year <= until;
}

/** A word, a number or a mark of a text. */
export interface Token {
  text: string;
  lower: string;
  stem: string;
  kind: 'word' | 'number' | 'mark';
  /** Begins with a capital letter. */
  capital: boolean;
  /** First word of its sentence, where a capital says nothing. */
  first: boolean;
  /** Carries meaning of its own. */
  content: boolean;
  /** Stands right behind a digit, as in "1.2m". */
  isGlued?: true;
  /** Stands right behind a unit and a slash, as "h" in "l/h", or a hyphen or dot, as "feet" in "acre-feet". */
  joint?: '/' | '-';
}

const TOKEN =
  /(?<!\p{Nd})\p{Nd}{1,3}(?:[ \u00A0\u2009\u202F]\p{Nd}{3})+(?!\p{Nd})(?:[.,]\p{Nd}+)?|\p{Nd}+(?:[.,'’٫٬]\p{Nd}+)*|[〇零一二三四五六七八九十百千]{2,}|(?<!\p{L})(?:[kcdmµ]?m|ft|mi|yd|in)[²³]|\p{L}[\p{L}\p{M}]*(?:['’]\p{L}+)?|[%٪‰‱\p{Sc}°,;:()<>≤≥±≈′″|]|~(?=\p{Nd})/gu;

export function tokensOf(sentence: string): Token[] {
  const tokens: Token[] = [];
  let first = true;
  const written = spacedWords(plainFigures(sentence));
  for (const { 0: text, index } of written.matchAll(TOKEN)) {
    const token = tokenOf(text, first);
    if (token.kind === 'word') first = false;
    if (token.kind === 'word' && /\p{Nd}/u.test(written[index - 1] ?? '')) token.isGlued = true;
    if (token.kind === 'number' && isNegative(written, index)) token.lower = `-${token.lower}`;
    const joint = jointAt(written, index);
    if (joint !== undefined && token.kind !== 'mark') token.joint = joint;
    tokens.push(token);
  }
  return tokens;
}

/** Between two letters, or behind a power or a sign of money: "t/ha", "€/m²", "l/100 km", "N·m". */
function jointAt(text: string, at: number): Token['joint'] {
  const [sign = '', before = ''] = [text[at - 1], text[at - 2]];
  if (!/[/⁄·⋅∙‑-]/.test(sign) || !/[\p{L}²³\p{Sc}]/u.test(before)) return undefined;
  return /[/⁄]/.test(sign) ? '/' : '-';
}

/** White space between numbers that is looked through. */
const LONGEST_GAP = 100;

/** A sign right before the number and behind a space; "5 -7" is a range. */
function isNegative(text: string, at: number): boolean {
  return (
    /[-−]/.test(text[at - 1] ?? '') &&
    /^[\s(]?$/.test(text[at - 2] ?? '') &&
    !/\p{Nd}\s+$/u.test(text.slice(Math.max(0, at - LONGEST_GAP), at - 1))
  );
}

/** Numbers in ideographs stay whole. */
function spacedWords(sentence: string): string {
  return sentence
    .split(/([〇零一二三四五六七八九十百千]{2,})/)
    .map((part, place) => (place % 2 ? ` ${part} ` : spaced(part)))
    .join('');
}

function tokenOf(text: string, first: boolean): Token {
  const lower = text.toLowerCase().replaceAll('’', "'");
  if (isNumber(text))
    return { text, lower, stem: lower, kind: 'number', capital: false, first: false, content: false };
  if (!/^\p{L}/u.test(text))
    return { text, lower, stem: lower, kind: 'mark', capital: false, first: false, content: false };
  const content = !isStopWord(lower) && (lower.length > 1 || isUnspaced(lower));
  return { text, lower, stem: stem(lower), kind: 'word', capital: /^\p{Lu}/u.test(text), first, content };
}

/** The zeros of the scripts that have digits of their own. */
const ZEROS = [
  0x0660, 0x06f0, 0x07c0, 0x0966, 0x09e6, 0x0a66, 0x0ae6, 0x0b66, 0x0be6, 0x0c66, 0x0ce6, 0x0d66, 0x0e50,
  0x0ed0, 0x0f20, 0x1040, 0x17e0, 0x1810, 0xff10,
];

const IDEOGRAPHS = '〇一二三四五六七八九';
const UNITS: Readonly<Record<string, number>> = { 十: 10, 百: 100, 千: 1000 };

function isNumber(text: string): boolean {
  return /^\p{Nd}/u.test(text) || /^[〇零一二三四五六七八九十百千]{2,}$/.test(text);
}

/** The numbers that a written one may mean: the English reading first, then the one of languages with a decimal comma. */
export function readingsOf(written: string): number[] {
  if (!/^\p{Nd}/u.test(written)) return [ideographic(written)];
  const text = written
    .replace(/\p{Nd}/gu, asciiDigit)
    .replaceAll('٫', '.')
    .replace(/['’\s٬]/g, '');
  // Spaces may group digits, or stand between two numbers.
  if (/ /.test(written)) return [...readingsOf(text), ...written.split(' ').flatMap(readingsOf)];
  const marks = text.match(/[.,]/g) ?? [];
  const last = text.slice(Math.max(text.lastIndexOf('.'), text.lastIndexOf(',')) + 1);
  const whole = Number(text.replace(/[.,]/g, ''));
  if (marks.length === 0) return [whole];
  const decimal = whole / 10 ** last.length;
  if (new Set(marks).size > 1) return [decimal];
  if (marks.length > 1) return [whole];
  // One mark: before three digits it may stand for thousands.
  if (last.length !== 3) return [decimal];
  return marks[0] === ',' ? [whole, decimal] : [decimal, whole];
}

function asciiDigit(digit: string): string {
  const code = digit.codePointAt(0) ?? 0;
  const zero = ZEROS.find((each) => code >= each && code < each + 10);
  return zero === undefined ? digit : String(code - zero);
}

/** "二〇〇八" digit by digit, or "二千零八" with its units. */
function ideographic(text: string): number {
  const digits = [...text.replaceAll('零', '〇')];
  if (!digits.some((digit) => digit in UNITS))
    return Number(digits.map((digit) => IDEOGRAPHS.indexOf(digit)).join(''));
  let [sum, digit] = [0, 0];
  for (const sign of digits) {
    const unit = UNITS[sign];
    if (unit === undefined) digit = IDEOGRAPHS.indexOf(sign);
    else {
      sum += (digit || 1) * unit;
      digit = 0;
    }
  }
  return sum + digit;
}

/** Words that deny, of many languages: they count only where two texts are nearly the same, so that a word that means something else in another language does no harm. */
const NEGATION =
  /(?<![\p{L}])(?:not|no|never|none|nobody|nothing|neither|nor|cannot|without|except|yet to|nicht|kein(?:e[mnrs]?)?|nie|niemals|nichts|niemand|ohne|ne|pas|jamais|aucune?|rien|sans|non|nunca|jamás|nada|nadie|ningun[oa]?|ningún|sin|nem|não|nenhum[a]?|mai|nessun[oa]?|senza|niente|niet|geen|nooit|zonder|inte|ikke|ikkje|aldrig|aldri|ingen|nie|nigdy|żaden|bez|не|нет|никогда|ни|без|нема|δεν|μη|μην|değil|yok|hiç|ei|eivät|لا|لم|لن|ليس|ليست|ما|غير|לא|אין|नहीं|không|tidak|bukan)(?![\p{L}])|n['’]t(?!\p{L})|(?<!\p{L})n['’](?=\p{L})|没有|沒有|[不没沒未無无非]|ない|なかった|ません|ず(?=、|。|に)|ไม่|않|없|못/giu;

export function denies(text: string): boolean {
  return text.search(NEGATION) >= 0;
}

export function withoutNegation(text: string, instead = ' '): string {
  return text.replace(NEGATION, instead);
}
