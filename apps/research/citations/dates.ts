import type { Token } from './tokens.ts';

/** A date as far as the text gives it. */
export interface DateMention {
  year?: number;
  month?: number;
  day?: number;
  /** The year named before it in the sentence, where it has none of its own. */
  impliedYear?: number;
  at: number;
}

const MONTHS = new Map(
  'january february march april may june july august september october november december'
    .split(' ')
    .flatMap((name, index) => [[name, index + 1] as const, [name.slice(0, 3), index + 1] as const]),
);
MONTHS.set('sept', 9);

/** The dates of a sentence and the places of the tokens they are made of. */
export function datesOf(tokens: readonly Token[]): { dates: DateMention[]; used: Set<number> } {
  const dates: DateMention[] = [];
  const used = new Set<number>();
  for (const [at, token] of tokens.entries()) {
    if (used.has(at)) continue;
    const found = isMonth(token, nextNumber(tokens, at)) ? monthDate(tokens, at) : yearDate(tokens, at);
    if (found === undefined) continue;
    for (const place of found.places) used.add(place);
    const year = dates.findLast((date) => date.year !== undefined)?.year;
    const isImplied = found.date.year === undefined && year !== undefined;
    dates.push(isImplied ? { ...found.date, impliedYear: year } : found.date);
  }
  return { dates: [...dates, ...reckoned(tokens, dates)], used };
}

/** "Two years later" and "three years before", counted from the last year named before it. */
function reckoned(tokens: readonly Token[], dates: readonly DateMention[]): DateMention[] {
  return tokens.flatMap((token, at) => {
    if (!/^years?$/.test(token.lower)) return [];
    const count = COUNTS.indexOf(tokens[at - 1]?.lower ?? '') + 1 || numberAt(tokens, at - 1);
    const from = dates.findLast((date) => date.at < at && date.year !== undefined)?.year;
    const next = tokens[at + 1]?.lower ?? '';
    const sign = /^(?:later|after|afterwards)$/.test(next)
      ? 1
      : /^(?:earlier|before|previously)$/.test(next)
        ? -1
        : 0;
    return sign === 0 || from === undefined || count === undefined ? [] : [{ year: from + sign * count, at }];
  });
}

const COUNTS = ['one', 'two', 'three', 'four', 'five', 'six', 'seven', 'eight', 'nine', 'ten'];

/** The number beside a month, on either side. */
function nextNumber(tokens: readonly Token[], at: number): Token | undefined {
  return [tokens[at + 1], tokens[at - 1]].find((token) => token?.kind === 'number');
}

interface Found {
  date: DateMention;
  places: number[];
}

/** Short names such as "May" and "Jan" are months only next to a number. */
function isMonth(token: Token, next: Token | undefined): boolean {
  if (!MONTHS.has(token.lower) || !token.capital) return false;
  const isCertain = token.lower.length > 4;
  return isCertain || next?.kind === 'number';
}

function monthDate(tokens: readonly Token[], at: number): Found {
  const month = MONTHS.get(tokens[at]?.lower ?? '') ?? 0;
  const places = [at];
  const date: DateMention = { month, at };
  const take = (place: number, kind: 'day' | 'year') => {
    const value = numberAt(tokens, place);
    if (value === undefined || !(kind === 'day' ? isDay(value) : isYear(tokens[place]))) return false;
    date[kind] = value;
    places.push(place);
    return true;
  };
  let next = at + 1;
  if (!take(at - 1, 'day') && take(next, 'day')) next += 1;
  if (tokens[next]?.text === ',' || tokens[next]?.lower === 'of') next += 1;
  if (/^(?:st|nd|rd|th)$/.test(tokens[next]?.lower ?? '')) next += 1;
  take(next, 'year');
  return { date, places };
}

function yearDate(tokens: readonly Token[], at: number): Found | undefined {
  const token = tokens[at];
  if (!isYear(token) || countsThings(tokens, at)) return undefined;
  const [month, day] = [numberAt(tokens, at + 1), numberAt(tokens, at + 2)];
  const isIso =
    /^0\d$|^1[0-2]$/.test(tokens[at + 1]?.text ?? '') && /^\d\d$/.test(tokens[at + 2]?.text ?? '');
  const date: DateMention = { year: Number(token?.text), at };
  if (!isIso || month === undefined || day === undefined) return { date, places: [at] };
  return { date: { ...date, month, day }, places: [at, at + 1, at + 2] };
}

const BEFORE_YEAR = new Set(
  'a an the its this that in since by from to until till of during before after early late mid year around circa about and or through between ( , spring summer autumn winter'.split(
    ' ',
  ),
);

/** "Killed 1500 people" counts, "in 1500 people" does not. */
function countsThings(tokens: readonly Token[], at: number): boolean {
  if (BEFORE_YEAR.has(tokens[at - 1]?.lower ?? '(')) return false;
  const next = tokens[at + 1];
  return next !== undefined && ((next.content && !next.capital) || next.text === '%');
}

function numberAt(tokens: readonly Token[], at: number): number | undefined {
  const token = tokens[at];
  return token?.kind === 'number' && /^\d+$/.test(token.text) ? Number(token.text) : undefined;
}

function isDay(value: number): boolean {
  return value >= 1 && value <= 31;
}

/** Four digits without a comma between 1000 and 2100; what is counted in units is left to the quantities. */
function isYear(token: Token | undefined): boolean {
  return token !== undefined && /^(?:1\d{3}|20\d{2}|2100)$/.test(token.text);
}

/** Every part that the claim names agrees. */
export function sameDate(claim: DateMention, passage: DateMention): boolean {
  const year = passage.year ?? passage.impliedYear;
  return (
    (claim.year === undefined || claim.year === year) &&
    (['month', 'day'] as const).every((part) => claim[part] === undefined || claim[part] === passage[part])
  );
}
