import { lazy } from '@trunkline/std';
import type { Span } from '../text/sentences.ts';
import { type CheckedDocument, missingFigure, skeletonOf } from './document.ts';
import { isElsewhere, otherFigure } from './figures.ts';
import { denies, lowerText, type Statement, statementOf, type Token, withoutNegation } from './statement.ts';
import { figureOfAnotherRow } from './tables.ts';
import { isSymbol } from './units.ts';

/**
 * What no judge can overrule: a figure, date or name of the claim that the text does not have (but for a month or day of the
 * week that may lie within a range of the text), or has in a table for another. It compares signs and not
 * words of one language, so it holds for any; where it cannot tell, it raises no objection.
 */
export function objectionTo(claim: Statement, document: CheckedDocument): string | undefined {
  const figure = missingFigure(claim, document.inventory);
  if (figure !== undefined) return `what was read of the page has no figure "${figure}"`;
  const row = figureOfAnotherRow(claim, document);
  if (row !== undefined) return `the page has the figure "${row}" in another row of its table`;
  const name = otherMonth(claim, document) ?? missingName(claim, document);
  return name === undefined ? undefined : `what was read of the page does not name "${name}"`;
}

/** Whether the claim has a month or day that the page lacks and that may follow from its ranges, which takes reasoning. */
export function isInferred(claim: Statement, { inventory }: CheckedDocument): boolean {
  return claim.tokens.some(
    (token) => isName(token) && !isNamed(token, inventory.words) && mayBeInRange(token, claim, inventory),
  );
}

/** Above this share of capitals a language writes more than names with them, as German does. */
const MOST_CAPITALS = 0.2;
/** The share of a claim's small words that a page in the same language has. */
const SAME_LANGUAGE = 1 / 3;

function isSameLanguage({ tokens }: Statement, { inventory }: CheckedDocument): boolean {
  const small = tokens.filter(({ kind, capital }) => kind === 'word' && !capital);
  const known = small.filter(({ lower }) => inventory.words.has(lower)).length;
  return small.length > 0 && known >= small.length * SAME_LANGUAGE;
}

function missingName(claim: Statement, document: CheckedDocument): string | undefined {
  const { title, sentences, inventory } = document;
  if (inventory.capitals > MOST_CAPITALS || !isSameLanguage(claim, document)) return undefined;
  const missing = claim.tokens.filter(
    (token) =>
      isName(token) &&
      !isMonthInFigures(token, inventory.words) &&
      !isMonthInOtherWords(token, inventory) &&
      !mayBeInRange(token, claim, inventory) &&
      !isNamed(token, inventory.words) &&
      !inventory.skeletons.some((other) => isLike(skeletonOf(token.lower), other)),
  );
  const all = [statementOf(title), ...sentences.map(({ statement }) => statement)];
  return missing.find(({ text }) => !hasInitials(text, all))?.text;
}

/** Written with a capital inside the sentence, and long enough to tell it from others. */
function isName({ kind, capital, first, content, lower }: Token): boolean {
  return kind === 'word' && capital && !first && content && lower.length >= 3 && !isSymbol(lower);
}

/** English alone writes months like names. */
const months = lazy(() => {
  const format = new Intl.DateTimeFormat('en', { month: 'long', timeZone: 'UTC' });
  return Array.from({ length: 12 }, (_, month) => format.format(Date.UTC(2000, month)).toLowerCase());
});

const CALENDAR_LANGUAGES =
  'en de fr es it pt nl sv da nb fi pl cs sk hu ro bg hr sl ru uk el tr ar he hi id vi th ca'.split(' ');

/** The months that a word in small letters stands for, of any of these languages: 0 for January. */
const monthsByName = lazy(() => {
  const found = new Map<string, Set<number>>();
  // Beside a day many languages write the month in another case: "czerwiec", "3 czerwca".
  for (const language of CALENDAR_LANGUAGES)
    for (const day of [undefined, 'numeric' as const]) {
      const format = new Intl.DateTimeFormat(`${language}-u-ca-gregory-nu-latn`, {
        month: 'long',
        ...(day && { day }),
        timeZone: 'UTC',
      });
      for (let month = 0; month < MONTHS; month += 1) {
        const parts = format.formatToParts(Date.UTC(2000, month));
        const name = parts.find(({ type }) => type === 'month')?.value.toLowerCase() ?? '';
        found.set(name, (found.get(name) ?? new Set()).add(month));
      }
    }
  return found;
});

/** A month that the page names in another language: "June" where it has "juin". */
function isMonthInOtherWords({ lower }: Token, { isEnglish, words }: CheckedDocument['inventory']): boolean {
  // "Mars" is March in French alone.
  if (isEnglish && months().includes(lower)) return false;
  const own = [...(monthsByName().get(lower) ?? [])];
  return (
    own.length > 0 && [...words].some((word) => own.some((month) => monthsByName().get(word)?.has(month)))
  );
}

/**
 * A month of the claim with a year beside it, "July 2014", that the page names in no language while it has another month beside that
 * year: "juin 2014".
 */
function otherMonth(claim: Statement, { sentences, inventory }: CheckedDocument): string | undefined {
  const datesOf = ({ tokens }: Statement) =>
    tokens.flatMap((token, at) => {
      const own = monthsByName().get(token.lower);
      // "1 de junio de 2014"
      const year = tokens.slice(at + 1, at + 3).find(({ text }) => /^(?:1\d{3}|20\d{2})$/.test(text));
      return own === undefined || year === undefined ? [] : [{ token, months: own, year: year.text }];
    });
  const written = datesOf(claim);
  if (written.length === 0) return undefined;
  const page = sentences.flatMap(({ statement }) => datesOf(statement));
  return written.find(
    ({ months: own, year }) =>
      page.some((other) => other.year === year) &&
      ![...inventory.words].some((word) =>
        [...(monthsByName().get(word) ?? [])].some((month) => own.has(month)),
      ),
  )?.token.text;
}

/** Months and days of the week, which are nobody's name. */
const calendar = lazy(() => {
  const day = new Intl.DateTimeFormat('en', { weekday: 'long', timeZone: 'UTC' });
  const days = Array.from({ length: 7 }, (_, at) => day.format(Date.UTC(2000, 0, at + 1)).toLowerCase());
  return [...months(), ...days];
});

/** Whether the token is a month, and the page names none: it may write dates as 15/04/1912. */
function isMonthInFigures({ lower }: Token, words: ReadonlySet<string>): boolean {
  return months().includes(lower) && !months().some((month) => words.has(month));
}

const RANGE_MARK = String.raw`\s*(?:[-–—]|to|until|till|through|and)\s*`;
/** "April to October", "from 1 May until 30 September"; "Wednesdays to Sundays". */
const ranges = lazy(() =>
  [calendar().slice(0, MONTHS), calendar().slice(MONTHS)].map((words) => {
    const name = `(?:${words.join('|')})s?`;
    const day = String.raw`(?:\d{1,2}(?:st|nd|rd|th)?\s+)?`;
    const part = String.raw`(?:(?:the\s+)?(?:end\s+of|early|mid-?|late)\s*)?`;
    return new RegExp(String.raw`\b${name}(?:\s+\d{1,2})?${RANGE_MARK}${part}${day}${name}\b`, 'i');
  }),
);
const MONTHS = 12;
const rangesOf = (isMonth: boolean) => ranges()[isMonth ? 0 : 1] ?? /$^/;
/** What holds for many months at once, or for all days. */
const MANY_MONTHS = /\b(?:all year|year[- ]round|every month)\b/i;
const ALL_DAYS = /\bevery day\b/i;

/**
 * Whether the token is a month or day of the week without a date, on a page that speaks of many of them at once: what is so
 * from April to October is not so in January.
 */
function mayBeInRange(token: Token, { tokens }: Statement, { text }: CheckedDocument['inventory']): boolean {
  const day = token.lower.replace(/s$/, '');
  const isMonth = months().includes(token.lower);
  if (!isMonth && !calendar().includes(day)) return false;
  const at = tokens.indexOf(token);
  if ([tokens[at - 1], tokens[at + 1]].some((each) => each?.kind === 'number')) return false;
  return (isMonth ? MANY_MONTHS : ALL_DAYS).test(text) || rangesOf(isMonth).test(text);
}

const ENDING = 4;

const bare = (lower: string) => lower.replace(/['’]s?$/, '');

/** Names take endings: "Orvane's", "Москве", "Parisian". */
function isNamed({ lower }: Token, words: ReadonlySet<string>): boolean {
  if (words.has(lower) || words.has(bare(lower))) return true;
  const root = lower.slice(0, Math.max(ENDING, lower.length - 3));
  return root.length >= ENDING && [...words].some((word) => word.startsWith(root));
}

const LEAST_SKELETON = 3;

function isLike(one: string, other: string): boolean {
  return one.slice(0, LEAST_SKELETON) === other.slice(0, LEAST_SKELETON) && one.length >= LEAST_SKELETON;
}

/** "UN" where the text has the United Nations. */
function hasInitials(text: string, statements: readonly Statement[]): boolean {
  if (!/^\p{Lu}{2,6}s?$/u.test(text)) return false;
  const wanted = text.replace(/s$/, '');
  return statements.some(({ tokens }) =>
    tokens
      .flatMap(({ capital, text: word }) => (capital ? [word[0]] : []))
      .join('')
      .includes(wanted),
  );
}

/**
 * Why the words that a model shows for its "supported" do not bear on the claim, if they do not: they deny what it says, have
 * another figure or name, or stand far from its figures and names.
 */
export function irrelevanceOf(claim: Statement, shown: Span, document: CheckedDocument): string | undefined {
  const places = document.sentences.flatMap(({ span }, place) =>
    span.start < shown.end && span.end > shown.start ? [place] : [],
  );
  const [first = 0, last = first] = [places[0], places.at(-1)];
  const statementsIn = (from: number, to: number) =>
    document.sentences.slice(Math.max(0, from), to + 1).map(({ statement }) => statement);
  const here = statementsIn(first, last);
  const near = [
    statementOf(document.title),
    ...headOfTable(first, document).flatMap((place) => statementsIn(place, place)),
    ...statementsIn(first - NEIGHBOURS, last + NEIGHBOURS),
  ];
  const topic = statementsIn(0, 0);
  if (here.some((statement) => isTurned(claim, statement))) return 'the passage says the opposite';
  if (isElsewhere(claim, here, near, document)) return 'the words shown for it are about something else';
  const figure = otherFigure(claim, here, near, document);
  if (figure !== undefined) return `the words shown for it have another figure than "${figure}"`;
  const name = otherName(claim, here, [...topic, ...near], document);
  return name === undefined ? undefined : `the words shown for it name another than "${name}"`;
}

/** Sentences on either side of what is shown that may name what it is about. */
const NEIGHBOURS = 2;

/** The place of the head of the table that has a sentence as its row, and of what stands above the table: "in millions of euros". */
function headOfTable(place: number, { sentences }: CheckedDocument): number[] {
  let head = place;
  while (sentences[head]?.span.text.startsWith('|') === true) head -= 1;
  return head === place ? [] : [head, head + 1];
}

/** A name of the claim that stands far from the words shown, while they name somebody or something else. */
function otherName(
  claim: Statement,
  here: readonly Statement[],
  near: readonly Statement[],
  document: CheckedDocument,
): string | undefined {
  const { inventory } = document;
  if (inventory.capitals > MOST_CAPITALS || !isSameLanguage(claim, document)) return undefined;
  const namesIn = (statement: Statement) =>
    statement.tokens.filter(
      (token) => isName(token) || (token.first && token.content && inventory.names.has(bare(token.lower))),
    );
  const wordSet = (statements: readonly Statement[]) =>
    new Set(statements.flatMap(({ tokens }) => tokens.map(({ lower }) => lower)));
  const own = namesIn(claim).filter(({ lower }) => !calendar().includes(lower));
  const around = wordSet(near);
  const skeletons = near.flatMap(namesIn).map(({ lower }) => skeletonOf(lower));
  const isThere = (token: Token) =>
    isNamed(token, around) ||
    hasInitials(token.text, near) ||
    skeletons.some((other) => isLike(skeletonOf(token.lower), other));
  const [subject] = own;
  if (subject === undefined || isThere(subject)) return undefined;
  const claimed = wordSet([claim]);
  return here.flatMap(namesIn).some((token) => !isNamed(token, claimed)) ? subject.text : undefined;
}

/** The same words, and one of the two denies them. */
function isTurned(claim: Statement, sentence: Statement): boolean {
  const [own, theirs] = [claim, sentence].map(lowerText);
  if (own === undefined || theirs === undefined || denies(own) === denies(theirs)) return false;
  if (likeness(withoutNegation(own), withoutNegation(theirs)) < SAME_WORDS) return false;
  return denies(own) ? isDenied(own, theirs) : isDenied(theirs, own);
}

const SAME_WORDS = 0.8;
const DENIAL = '\u00ac';
/** Words on either side of a denial of which one must be in the other text too, and how far apart the two may be there. */
const BESIDE_DENIAL = 2;
const WIDEST_GAP = 3;

/**
 * Whether a denial of the first text stands between words that follow each other in the second. Else it denies what the
 * second does not speak of: "the hut sleeps eight and has never had a warden".
 */
function isDenied(denying: string, other: string): boolean {
  const words = withoutNegation(denying, ` ${DENIAL} `).split(/\s+/).filter(Boolean);
  const theirs = other.split(/\s+/).filter(Boolean);
  const places = alignedPlaces(words, theirs);
  const isPlain = (at: number) => words[at] !== undefined && words[at] !== DENIAL;
  const nearest = (at: number, step: 1 | -1): number | 'none' | undefined => {
    const beside: number[] = [];
    for (
      let next = at + step;
      next >= 0 && next < words.length && beside.length < BESIDE_DENIAL;
      next += step
    )
      if (isPlain(next)) beside.push(next);
    // "Tags can be changed later; the type of a queue cannot."
    if (beside.length === 0) return 'none';
    return beside.map((each) => places[each]).find((place) => place !== undefined);
  };
  return words.some((word, at) => {
    if (word !== DENIAL) return false;
    const [before, behind] = [nearest(at, -1), nearest(at, 1)];
    if (before === undefined || behind === undefined) return false;
    return before === 'none' || behind === 'none' || behind - before <= WIDEST_GAP;
  });
}

/** For each word of the first text its place in the longest run of words, with gaps, that both have in this order. */
function alignedPlaces(words: readonly string[], others: readonly string[]): (number | undefined)[] {
  const longest = Array.from({ length: words.length + 1 }, () => new Uint16Array(others.length + 1));
  const at = (row: number, column: number) => longest[row]?.[column] ?? 0;
  for (let row = words.length - 1; row >= 0; row -= 1)
    for (let column = others.length - 1; column >= 0; column -= 1) {
      const line = longest[row];
      if (line === undefined) continue;
      line[column] =
        words[row] === others[column]
          ? at(row + 1, column + 1) + 1
          : Math.max(at(row + 1, column), at(row, column + 1));
    }
  const places: (number | undefined)[] = [];
  for (let [row, column] = [0, 0]; row < words.length && column < others.length; ) {
    if (words[row] === others[column]) {
      places[row] = column;
      row += 1;
      column += 1;
    } else if (at(row + 1, column) >= at(row, column + 1)) row += 1;
    else column += 1;
  }
  return places;
}

/** The share of words that two texts have in common, 0 to 1. */
function likeness(one: string, other: string): number {
  const [left, right] = [one, other].map((text) => new Set(text.split(/\s+/).filter(Boolean)));
  if (left === undefined || right === undefined || left.size + right.size === 0) return 0;
  const shared = [...left].filter((word) => right.has(word)).length;
  return (2 * shared) / (left.size + right.size);
}
