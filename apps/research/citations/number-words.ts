import { lazy } from '@trunkline/std';
import { scaleWords } from './rounding.ts';
import type { Token } from './statement.ts';

/**
 * Numbers and parts of numbers in words. Intl spells no numbers out, so these are lists of four languages; Chinese and
 * Japanese numbers are signs, which `statement.ts` reads.
 */
interface Language {
  /** The words of 1 to 99, each as the tokens it consists of; the first is the usual one. */
  spell(number: number): readonly string[];
  /** Words for a hundred, and for several hundreds where these are words of their own. */
  hundreds: Readonly<Record<string, number>>;
  /** Words for a third and so on, by the number of parts. Some are ordinals too: they count only behind a number. */
  parts: Readonly<Record<number, string>>;
  /** Words for a half and for twice or three times as much, by the number of times. */
  times: Readonly<Record<number, string>>;
}

/** A number written in words. */
export interface SpelledNumber {
  value: number;
  text: string;
  /** Places of its first and last token. */
  from: number;
  at: number;
}

const list = (words: string) => words.split(' ');

function english(): Language {
  const ones = list(
    'zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen nineteen',
  );
  const tens = list('_ _ twenty thirty forty fifty sixty seventy eighty ninety');
  return {
    spell: (number) => [
      ones[number] ?? `${tens[Math.floor(number / 10)]} ${number % 10 ? ones[number % 10] : ''}`,
    ],
    hundreds: { hundred: 100 },
    parts: {
      3: 'third thirds',
      4: 'quarter quarters fourth fourths',
      5: 'fifth fifths',
      6: 'sixth sixths',
      7: 'seventh sevenths',
      8: 'eighth eighths',
      9: 'ninth ninths',
      10: 'tenth tenths',
    },
    times: {
      2: 'half halved halves double doubled doubles doubling twice',
      3: 'triple tripled thrice',
      4: 'quadruple quadrupled',
      10: 'tenfold',
    },
  };
}

function german(): Language {
  const ones = list(
    'null ein zwei drei vier fünf sechs sieben acht neun zehn elf zwölf dreizehn vierzehn fünfzehn sechzehn siebzehn achtzehn neunzehn',
  );
  const tens = list('_ _ zwanzig dreißig vierzig fünfzig sechzig siebzig achtzig neunzig');
  return {
    spell: (number) => {
      if (number === 1) return ['ein', 'eins'];
      const ten = tens[Math.floor(number / 10)] ?? '';
      return [ones[number] ?? (number % 10 ? `${ones[number % 10]}und${ten}` : ten)];
    },
    hundreds: { hundert: 100 },
    parts: {
      3: 'drittel dritteln',
      4: 'viertel vierteln',
      5: 'fünftel fünfteln',
      6: 'sechstel',
      7: 'siebtel',
      8: 'achtel',
      9: 'neuntel',
      10: 'zehntel',
    },
    times: {
      2: 'hälfte halb halbe halben halbiert doppelt doppelte doppelten verdoppelt verdoppelte zweimal',
      3: 'dreifache dreimal verdreifacht',
      4: 'viermal vierfache',
      5: 'fünfmal',
      10: 'zehnmal zehnfache',
    },
  };
}

function french(): Language {
  const ones = list(
    'zéro un deux trois quatre cinq six sept huit neuf dix onze douze treize quatorze quinze seize',
  );
  const tens = list('_ _ vingt trente quarante cinquante soixante soixante quatre|vingt quatre|vingt');
  /** Of Belgium and Switzerland. */
  const others: Readonly<Record<number, string>> = { 7: 'septante', 8: 'huitante', 9: 'nonante' };
  const below = (number: number): string => ones[number] ?? `dix ${ones[number - 10]}`;
  const usual = (number: number): string => {
    if (number < 20) return below(number);
    if (number === 80) return 'quatre vingts';
    const ten = Math.floor(number / 10);
    const rest = number - (ten === 7 || ten === 9 ? ten - 1 : ten) * 10;
    const and = rest % 10 === 1 && ten < 8 ? 'et ' : '';
    return `${tens[ten]?.replace('|', ' ')} ${rest ? and + below(rest) : ''}`;
  };
  return {
    spell: (number) => {
      const ten = others[Math.floor(number / 10)];
      const rest = number % 10;
      const all = [usual(number), ...(number === 80 ? ['quatre vingt'] : [])];
      if (ten !== undefined) all.push(`${ten} ${rest === 1 ? 'et ' : ''}${rest ? ones[rest] : ''}`);
      return all.flatMap((word) => [word, word.replace(/(?<!\p{L})un$/u, 'une')]);
    },
    hundreds: { cent: 100, cents: 100 },
    parts: {
      3: 'tiers',
      4: 'quart quarts',
      5: 'cinquième cinquièmes',
      6: 'sixième sixièmes',
      8: 'huitième huitièmes',
      10: 'dixième dixièmes',
    },
    times: {
      2: 'moitié demi demie double doublé doubler',
      3: 'triple triplé',
      4: 'quadruple',
      10: 'décuple',
    },
  };
}

function spanish(): Language {
  const ones = list(
    'cero uno dos tres cuatro cinco seis siete ocho nueve diez once doce trece catorce quince dieciséis diecisiete dieciocho diecinueve veinte veintiuno veintidós veintitrés veinticuatro veinticinco veintiséis veintisiete veintiocho veintinueve',
  );
  const tens = list('_ _ _ treinta cuarenta cincuenta sesenta setenta ochenta noventa');
  const hundreds = list(
    'doscientos trescientos cuatrocientos quinientos seiscientos setecientos ochocientos novecientos',
  );
  return {
    spell: (number) => {
      const word =
        ones[number] ?? `${tens[Math.floor(number / 10)]} ${number % 10 ? `y ${ones[number % 10]}` : ''}`;
      const short = number === 21 ? 'veintiún' : word.replace(/uno$/, 'un');
      return [word, short, word.replace(/uno$/, 'una')];
    },
    hundreds: {
      cien: 100,
      ciento: 100,
      ...Object.fromEntries(
        hundreds.flatMap((word, at) =>
          [word, word.replace(/os$/, 'as')].map((each) => [each, (at + 2) * 100]),
        ),
      ),
    },
    parts: {
      3: 'tercio tercios',
      4: 'cuarto cuartos cuarta cuartas',
      5: 'quinto quintos quinta quintas',
      6: 'sexto sextos',
      8: 'octavo octavos',
      10: 'décimo décimos décima décimas',
    },
    times: { 2: 'mitad medio media doble dobló duplicó duplicado', 3: 'triple triplicó', 4: 'cuádruple' },
  };
}

/** Tokens of a number below a hundred at most: "quatre-vingt-dix-neuf". */
const LONGEST = 4;

interface Vocabulary {
  /** Those of the words, for `scaleWords`. */
  languages: string;
  numbers: ReadonlyMap<string, number>;
  /** Words that a number of several words begins with. */
  beginnings: ReadonlySet<string>;
  hundreds: ReadonlyMap<string, number>;
  parts: ReadonlyMap<string, number>;
  times: ReadonlyMap<string, number>;
}

function vocabularyOf(languages: readonly Language[], names: string): Vocabulary {
  const below = Array.from({ length: 99 }, (_, at) => at + 1);
  const byWord = (counts: Readonly<Record<number, string>>) =>
    Object.entries(counts).flatMap(([count, words]) =>
      list(words).map((word) => [word, Number(count)] as const),
    );
  const numbers = new Map(
    languages.flatMap(({ spell }) =>
      below.flatMap((number) => spell(number).map((word) => [word.trim(), number] as const)),
    ),
  );
  return {
    languages: names,
    numbers,
    beginnings: new Set([...numbers.keys()].flatMap((words) => /^(\S+)\s/.exec(words)?.[1] ?? [])),
    hundreds: new Map(languages.flatMap(({ hundreds }) => Object.entries(hundreds))),
    parts: new Map(languages.flatMap(({ parts }) => byWord(parts))),
    times: new Map(languages.flatMap(({ times }) => byWord(times))),
  };
}

/** Languages whose numbers in words are read, those in signs too. */
export const NUMBER_LANGUAGES = ['en', 'de', 'fr', 'es', 'zh'];

/** "Once" and "elf" are numbers, but not in English. */
const englishWords = lazy(() => vocabularyOf([english()], 'en'));
const otherWords = lazy(() => vocabularyOf([german(), french(), spanish()], 'de fr es'));
const wordsIn = (isEnglish: boolean) => (isEnglish ? englishWords() : otherWords());

/** A word of a number: `number` below a hundred, `hundreds`, or `scale`. */
interface Piece {
  kind: 'number' | 'hundreds' | 'scale';
  value: number;
  text: string;
  /** Places of its first and last token. */
  from: number;
  at: number;
}

/**
 * The numbers from two on that the tokens spell out. A number that is not understood to its last word is none: half of one
 * is another number.
 */
export function spelledNumbers(tokens: readonly Token[], isEnglish: boolean): SpelledNumber[] {
  return runsOf(tokens, wordsIn(isEnglish)).flatMap((run) => {
    const value = composed(run, tokens);
    const [text, from, at] = [
      run.map((piece) => piece.text).join(' '),
      run[0]?.from ?? 0,
      run.at(-1)?.at ?? 0,
    ];
    return value === undefined || value < 2 ? [] : [{ value, text, from, at }];
  });
}

/** Whether some of the words are a number that `spelledNumbers` does not understand. */
export function hasUnreadNumber(tokens: readonly Token[], isEnglish: boolean): boolean {
  return runsOf(tokens, wordsIn(isEnglish)).some(
    (run) => run.some(({ kind }) => kind === 'number') && composed(run, tokens) === undefined,
  );
}

/** Words of numbers that follow each other, without a scale behind them that `units.ts` reads: "five million". */
function runsOf(tokens: readonly Token[], words: Vocabulary): Piece[][] {
  const runs: Piece[][] = [];
  for (let at = 0; at < tokens.length; at += 1) {
    const pieces = piecesAt(tokens, at, words);
    const [first] = pieces;
    if (first === undefined) continue;
    const run = runs.at(-1);
    const last = run?.at(-1);
    const gap = last === undefined ? undefined : tokens.slice(last.at + 1, at);
    if (run !== undefined && (gap?.length === 0 || (last?.kind !== 'number' && isLink(gap))))
      run.push(...pieces);
    else runs.push(pieces);
    at = first.at;
  }
  return runs.map((run) => {
    const end = run.findLastIndex(({ kind, value }) => kind !== 'scale' || value === THOUSAND);
    return end < 0 ? run : run.slice(0, end + 1);
  });
}

/** "One hundred and twenty". */
const isLink = (gap: readonly Token[] = []) =>
  gap.length === 1 && /^(?:and|und|et|y)$/.test(gap[0]?.lower ?? '');

const THOUSAND = 1000;

/** More than one where a language writes them together: "zweihundertfünfzig". */
function piecesAt(tokens: readonly Token[], at: number, words: Vocabulary): Piece[] {
  const { lower: first = '' } = tokens[at] ?? {};
  const longest = words.beginnings.has(first) ? Math.min(LONGEST, tokens.length - at) : 1;
  for (let length = longest; length > 0; length -= 1) {
    const text = tokens
      .slice(at, at + length)
      .map(({ lower }) => lower)
      .join(' ');
    const value = words.numbers.get(text);
    if (value !== undefined) return [{ kind: 'number', value, text, from: at, at: at + length - 1 }];
  }
  const parts = /hundert|tausend/.test(first)
    ? first.split(/(?<=hundert|tausend)(?:und)?|(?=hundert|tausend)/)
    : [first];
  const pieces = parts.flatMap((text): Piece[] => {
    const [number, hundreds] = [words.numbers.get(text), words.hundreds.get(text)];
    const place = { text, from: at, at };
    if (number !== undefined) return [{ kind: 'number', value: number, ...place }];
    if (hundreds !== undefined) return [{ kind: 'hundreds', value: hundreds, ...place }];
    const scales = scaleWords(words.languages).get(text);
    return scales === undefined ? [] : [{ kind: 'scale', value: Math.max(...scales), ...place }];
  });
  return pieces.length === parts.length ? pieces : [];
}

/** Undefined where the words are no number that is sure: "nineteen forty", "two three", or "million" behind a figure. */
function composed(run: readonly Piece[], tokens: readonly Token[]): number | undefined {
  const [first] = run;
  // "Pour cent" and "thousand" alone are no numbers.
  if (first === undefined || (run.length === 1 && (first.kind === 'scale' || first.value === 100)))
    return undefined;
  if (first.kind !== 'number' && tokens[first.from - 1]?.kind === 'number') return undefined;
  let [total, rest] = [0, 0];
  for (const { kind, value } of run) {
    if (kind === 'number') {
      if (rest % 100 !== 0) return undefined;
      rest += value;
    } else if (kind === 'hundreds') {
      if (rest >= 100 || (rest > 0 && value > 100)) return undefined;
      rest = (rest || 1) * value;
    } else {
      if (total > 0 || value !== THOUSAND) return undefined;
      total = (rest || 1) * value;
      rest = 0;
    }
  }
  return total + rest;
}

/**
 * The parts and multiples that the words speak of, as shares: 2/3 for "two thirds", 1/2 for "half" and for "twice".
 * "The ninth century" is no part.
 */
export function sharesIn(tokens: readonly Token[], isEnglish: boolean): number[] {
  const { numbers, parts, times } = wordsIn(isEnglish);
  return tokens.flatMap(({ lower }, at) => {
    const count = parts.get(lower);
    const before = tokens[at - 1]?.lower ?? '';
    const named = /^(?:an?|ein\p{L}*)$/u.test(before) ? 1 : numbers.get(before);
    if (count !== undefined) return named === undefined || named >= count ? [] : [named / count];
    const multiple = times.get(lower);
    return multiple === undefined ? [] : [1 / multiple];
  });
}

/** The share that the two words from this place on name, such as "a third" and "two thirds". */
export function partAt(tokens: readonly Token[], at: number, isEnglish: boolean): number | undefined {
  const { numbers, parts } = wordsIn(isEnglish);
  const [first = '', second = ''] = [tokens[at]?.lower, tokens[at + 1]?.lower];
  const count = parts.get(second);
  const named = /^(?:an?|ein\p{L}*|une?)$/u.test(first) ? 1 : numbers.get(first);
  return count === undefined || named === undefined || named >= count ? undefined : named / count;
}

/** Whether the number at this place may count years, in English: "three years", "aged 69", "Smith, 69," or at the end. */
export function mayCountYears(tokens: readonly Token[], at: number, from = at): boolean {
  const next = tokens[at + 1];
  return next === undefined || next.kind === 'mark' || isOfYears(tokens, at, from);
}

/** "Three years", "aged sixty". */
export function isOfYears(tokens: readonly Token[], at: number, from = at): boolean {
  return /^years?$/.test(tokens[at + 1]?.lower ?? '') || /^aged?$/.test(tokens[from - 1]?.lower ?? '');
}
