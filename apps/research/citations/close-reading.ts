import type { ComparedToken } from './quantities.ts';
import { areWritten, compareQuantities, haveCommonMeasure } from './quantity-comparison.ts';
import { readingsOf } from './statement.ts';
import { areOpposites, areSynonyms } from './synonyms.ts';

/** What a sentence says of a claim that has nearly its words: the same, the same as far as a judge says so, or the one thing that
 * makes the difference. */
export type CloseReading = 'same' | 'alike' | 'denied' | 'opposite' | 'figure' | 'hedged' | 'name' | 'share';

/** What a page tells of its names: which words are names, and which of them stand side by side. */
export interface NameKnowledge {
  isName(lower: string): boolean;
  areParts(left: string, right: string): boolean;
}

/**
 * Reads a claim against a sentence word by word, in order. It answers only where the claim has the words of the sentence
 * and nothing that was left out can change what they say; anything freer is not its business.
 */
export function readClosely(
  claim: readonly ComparedToken[],
  sentence: readonly ComparedToken[],
  names: NameKnowledge,
): CloseReading | undefined {
  const own = claim.filter(isCompared);
  const theirs = sentence.filter(isCompared);
  if (own.filter(({ content, kind, quantity }) => content || kind === 'number' || quantity).length < LEAST)
    return undefined;
  const readings = theirs.flatMap((_, start) =>
    mayBeginAt(theirs, start) ? (align(own, theirs, start, names) ?? []) : [],
  );
  return readings.includes('same') ? 'same' : readings[0];
}

/** Words that carry meaning, below which a likeness may be chance. */
const LEAST = 3;

const ARTICLES = words('the a an its his her their this these those');
const NEGATORS = words('not no never neither nor none nobody nothing cannot hardly scarcely barely without');
const HEDGES = words(
  'may might could would should possibly perhaps probably likely allegedly reportedly supposedly potentially almost nearly plan plans planned propose proposes proposed expect expects expected hope hopes hoped want wants wanted intend intends try tries tried attempt attempts attempted promise promised against',
);
/** Words that join clauses, or say of how much or of whom: leaving one out changes what is said. */
const BARRIERS = words(
  'and or but while whereas although though if unless that which who whom whose when where because since until before after than as rather instead except only just even some few fewer less least most more many several half part both former latter other another either each any all every too also denied refused failed ; :',
);
/** Words behind the claim that take back a part of it. */
const LIMITS = words('if unless only except provided rather instead than when unlike supposedly allegedly');
/** Words in front of the claim that make it someone's opinion, a condition or a question. */
const FRAMES = words(
  'if unless whether although though according said says say claims claimed claim believes believed thinks thought denied denies doubts that because until suppose when while where not no never neither contrary asked hoped hopes',
);
/** Words before a figure that say it is an end of what may be. */
const BOUNDS = words('under over below above up beyond within exceeding maximum minimum max min towards');
const OPENERS = words('and but so yet then also today however meanwhile moreover still now in fact');

function words(list: string): ReadonlySet<string> {
  return new Set(list.split(' '));
}

function isCompared(token: ComparedToken): boolean {
  const { lower, kind, text, quantity } = token;
  if (quantity !== undefined || isTelling(token)) return true;
  return kind === 'mark' ? /[,;:]/.test(text) : !ARTICLES.has(lower);
}

/** A mark that changes what a figure says: "<5 ml", "35 ‰", "€900", "28″". */
function isTelling({ kind, text }: ComparedToken): boolean {
  return kind === 'mark' && /[%‰‱<>≤≥±′″\p{Sc}]/u.test(text);
}

/** The start of the sentence, or of a part of it that stands for itself. */
function mayBeginAt(tokens: readonly ComparedToken[], start: number): boolean {
  const before = tokens.slice(tokens.slice(0, start).findLastIndex(({ text }) => text === ';') + 1, start);
  if (before.every(({ lower }) => OPENERS.has(lower))) return true;
  if (before.some(({ lower }) => FRAMES.has(lower) || HEDGES.has(lower) || lower.endsWith("n't")))
    return false;
  const [last, second] = [before.at(-1)?.lower ?? '', before.at(-2)?.text ?? ''];
  return last === ',' || (second === ',' && (last === 'and' || last === 'but'));
}

/** Finds every word of the claim behind the last one, and notes the one difference that there may be. */
function align(
  own: readonly ComparedToken[],
  theirs: readonly ComparedToken[],
  start: number,
  names: NameKnowledge,
): CloseReading | undefined {
  const claimed = own.filter((token) => token.kind !== 'mark' || isTelling(token));
  const differences: CloseReading[] = [];
  let place = start;
  for (const [at, token] of claimed.entries()) {
    const gap = gapBefore(token, theirs, place, at === 0);
    if (gap !== undefined) {
      const skipped = theirs.slice(place, place + gap);
      // "Up to 300 people" are not 300 people.
      if (isFigure(token) && skipped.some(({ lower }) => BOUNDS.has(lower))) return undefined;
      if (skipped.some(isNegator) || isYetTo(skipped)) differences.push('denied');
      if (skipped.some(isHedge)) differences.push('hedged');
      place += gap + 1;
      continue;
    }
    // The symbol of a unit that is not known is no name: "45 Nm" may be "45 N·m".
    const isUnit = isFigure(claimed[at - 1]) && token.text.length <= LONGEST_SYMBOL;
    const difference =
      isUnit || isElsewhere(token, theirs, place) ? undefined : differenceAt(token, theirs[place], names);
    // Whether "in 1990–91" says "in 1991" is for a judge.
    if (difference === undefined || isWithin(token, theirs, place)) return undefined;
    differences.push(difference);
    if (difference !== 'denied' || isHelper(theirs[place]?.lower)) place += 1;
  }
  if (takesBack(theirs.slice(place)) || differences.length > 1) return undefined;
  return differences[0] ?? 'same';
}

/** The figure in its place measures another thing, and a further one of the sentence may be it: "656.3 nm, or 4.57e14 Hz". */
function isElsewhere({ quantity }: ComparedToken, theirs: readonly ComparedToken[], place: number): boolean {
  const other = theirs[place]?.quantity;
  if (quantity === undefined || other === undefined || haveCommonMeasure(quantity, other)) return false;
  return theirs.some(
    (each) =>
      each.quantity !== undefined &&
      haveCommonMeasure(quantity, each.quantity) &&
      compareQuantities(quantity, each.quantity) !== 'other',
  );
}

const LONGEST_SYMBOL = 5;

function isFigure(token: ComparedToken | undefined): boolean {
  return token?.kind === 'number' || token?.quantity !== undefined;
}

const LONGEST_GAP = 6;

/** How many words of the sentence are left out before this one; undefined where it does not come, or one of them counts. */
function gapBefore(
  token: ComparedToken,
  theirs: readonly ComparedToken[],
  place: number,
  isFirst: boolean,
): number | undefined {
  if (isFirst) return isSame(token, theirs[place]) ? 0 : undefined;
  for (let gap = 0; gap <= LONGEST_GAP; gap += 1) {
    const other = theirs[place + gap];
    if (other === undefined) return undefined;
    if (isSame(token, other)) return gap;
    if (isRange(theirs, place + gap) || !mayBeLeftOut(other, theirs[place + gap - 1])) return undefined;
  }
  return undefined;
}

/** "1990–1991": two numbers with nothing but a dash between them. */
function isRange(tokens: readonly ComparedToken[], place: number): boolean {
  return tokens[place]?.kind === 'number' && tokens[place + 1]?.kind === 'number';
}

function isWithin({ text }: ComparedToken, theirs: readonly ComparedToken[], place: number): boolean {
  const numberAt = (at: number) => Number(theirs[at]?.text);
  return isRange(theirs, place) && Number(text) >= numberAt(place) && Number(text) <= numberAt(place + 1);
}

const PLACES = words('in at near on off');

/** Anything but what joins, counts or names; a place or a year behind "in" only tells more, and "is to open" is not "is open". */
function mayBeLeftOut(token: ComparedToken, before: ComparedToken | undefined): boolean {
  if (isNegator(token) || isHedge(token)) return true;
  // "30 N/m" is not 30 N.
  if (isTelling(token) || token.joint === '/') return false;
  if (token.quantity !== undefined && (token.quantity.measures.length > 0 || token.quantity.isRough))
    return false;
  if (token.lower === 'to' && isHelper(before?.lower)) return false;
  if ((token.capital || /^\d{4}$/.test(token.text)) && PLACES.has(before?.lower ?? '')) return true;
  return token.kind !== 'number' && !token.capital && !BARRIERS.has(token.lower);
}

/** A word of the claim that stands for another one of the sentence, or that denies what the sentence says. */
function differenceAt(
  token: ComparedToken,
  other: ComparedToken | undefined,
  names: NameKnowledge,
): CloseReading | undefined {
  if (isNegator(token)) return 'denied';
  if (other === undefined) return undefined;
  if (token.quantity !== undefined && other.quantity !== undefined) {
    const compared = compareQuantities(token.quantity, other.quantity);
    if (compared === undefined) return undefined;
    if (compared === 'other') return 'figure';
    return compared === 'same' && isNearly(other) ? 'hedged' : 'alike';
  }
  if (token.kind !== other.kind) return undefined;
  // "1.200" may be "1200", and "-5" is not "5": a judge must say.
  if (token.kind === 'number')
    return readingsOf(token.text).some((value) => readingsOf(other.text).includes(value))
      ? undefined
      : 'figure';
  if (ALL.has(token.lower) && SOME.has(other.lower)) return 'share';
  if (areOtherNames(token, other, names)) return 'name';
  return areOpposites(token.stem, other.stem) ? 'opposite' : undefined;
}

const ALL = words('all every');
const SOME = words('some few most many several half');

function areOtherNames(
  token: ComparedToken,
  other: ComparedToken,
  { isName, areParts }: NameKnowledge,
): boolean {
  const isNamed = (each: ComparedToken) =>
    each.capital && each.content && (!each.first || isName(each.lower));
  return isNamed(token) && isNamed(other) && !areParts(token.text, other.text);
}

const PERCENT = words('% percent');
const ABOUT = words('about around some approximately roughly circa');

function isSame(token: ComparedToken, other: ComparedToken | undefined): boolean {
  if (other === undefined) return false;
  if (areWritten(token, other)) return true;
  if (token.quantity !== undefined && other.quantity !== undefined)
    return (
      compareQuantities(token.quantity, other.quantity) === 'same' &&
      (!isNearly(other) || token.quantity.isRough)
    );
  if ([PERCENT, ABOUT].some((alike) => alike.has(token.lower) && alike.has(other.lower))) return true;
  if (token.kind === 'number' || other.kind === 'number')
    return token.kind === other.kind && token.lower.replaceAll(',', '') === other.lower.replaceAll(',', '');
  if (isHelper(token.lower) && isHelper(other.lower)) return true;
  return (
    token.content &&
    other.content &&
    (token.capital ? token.stem === other.stem : areSynonyms(token.stem, other.stem))
  );
}

/** "Almost 5 km". */
function isNearly({ lower }: ComparedToken): boolean {
  return HEDGES.has(lower.split(' ', 1)[0] ?? '');
}

const HELPERS = words('is are was were be been has have had do does did');

function isHelper(lower: string | undefined): boolean {
  return lower !== undefined && HELPERS.has(lower);
}

function isNegator({ lower }: ComparedToken): boolean {
  return NEGATORS.has(lower) || lower.endsWith("n't");
}

/** "Has yet to approve it": it was not done. */
function isYetTo(tokens: readonly ComparedToken[]): boolean {
  return tokens.some(({ lower }, at) => lower === 'yet' && tokens[at + 1]?.lower === 'to');
}

function isHedge({ lower }: ComparedToken): boolean {
  return HEDGES.has(lower);
}

/** What follows in the same clause limits or denies what was said. */
function takesBack(rest: readonly ComparedToken[]): boolean {
  const end = rest.findIndex(({ text }) => text === ';' || text === ',');
  const clause = rest.slice(0, end === -1 ? undefined : end + 3);
  // "Its load is 30 N", of 30 N/m; "300 or more".
  if (
    rest[0]?.joint === '/' ||
    (rest[0]?.lower === 'or' && /^(?:more|less|fewer)$/.test(rest[1]?.lower ?? ''))
  )
    return true;
  return clause.some((token) => LIMITS.has(token.lower) || isNegator(token));
}
