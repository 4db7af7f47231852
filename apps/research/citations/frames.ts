import { isNumberWord, isUnit } from './quantities.ts';
import type { Statement } from './statement.ts';
import type { Token } from './tokens.ts';
import { isAuxiliary, isPassiveGroup, isVerb, verbPlace } from './verbs.ts';

/** Who does what, as far as the order of the words tells: one clause of a sentence. */
export interface Frame {
  /** The words in front of the verb; empty where the clause only has a pronoun. */
  subject: readonly Token[];
  /** The verb and all that follows it. */
  predicate: readonly Token[];
  /** Whoever stands behind "by" in a passive clause. */
  agent: readonly Token[];
  isPassive: boolean;
  /** Names in front of the verb, wherever they stand there. */
  named: readonly Token[];
  /** The words of the clause itself, without what it borrows from the one before. */
  own: readonly Token[];
  /** The whole sentence. */
  sentence: readonly Token[];
}

type Clause = Omit<Frame, 'sentence'>;

/** The clauses of a sentence in order; what a clause leaves out it takes from the one before. */
export function framesOf({ tokens }: Pick<Statement, 'tokens'>): Frame[] {
  const frames: Clause[] = [];
  for (const segment of joined(segmentsOf(tokens))) {
    const resumes = isVerb(segment, 0);
    const last = resumes ? (frames.findLast(({ own }) => !isRelative(own)) ?? frames.at(-1)) : frames.at(-1);
    frames.push(
      segment.some((_, at) => isVerb(segment, at)) ? fullFrame(segment, last) : scantFrame(segment, last),
    );
  }
  return frames.map((frame) => ({ ...frame, sentence: tokens }));
}

/** "Which" and "who" open a clause inside another, which goes on behind it. */
function isRelative(segment: readonly Token[]): boolean {
  return /^(?:which|who|that|where|when)$/.test(segment[0]?.lower ?? '');
}

const OPENERS = new Set(
  'and but while whereas which who that because since when though although after before if until unless so where ; : •'.split(
    ' ',
  ),
);

function segmentsOf(tokens: readonly Token[]): Token[][] {
  const segments: Token[][] = [[]];
  for (const token of tokens) {
    const isComma = token.lower === ',' || token.lower === '(' || token.lower === ')';
    if (isComma || OPENERS.has(token.lower)) segments.push([]);
    if (!isComma) segments.at(-1)?.push(token);
  }
  return segments.filter((segment) => segment.some(({ content, kind }) => content || kind === 'number'));
}

/** Segments that say nothing of their own go with the one before: the rest of a list, an apposition, a date. */
function joined(segments: readonly Token[][]): Token[][] {
  const found: Token[][] = [];
  let waiting: Token[] = [];
  for (const segment of segments) {
    const last = found.at(-1);
    const hasVerb = segment.some((_, at) => isVerb(segment, at));
    if (waiting.length > 0 && hasVerb && isVerb(segment, 0)) found.push([...waiting, ...segment]);
    else if (last === undefined || hasVerb || isElliptic(segment))
      found.push(...(waiting.length > 0 ? [waiting] : []), [...segment]);
    else if (waiting.length > 0 || /^(?:but|while|whereas|;)$/.test(segment[0]?.lower ?? '')) {
      // "but the governor, Ann Lee, blocked it": a subject that waits for its verb.
      waiting = [...waiting, ...segment];
      continue;
    } else last.push(...segment);
    waiting = [];
  }
  if (waiting.length > 0) found.push(waiting);
  // A clause without a verb at the very start belongs to the one behind it: "In the end, ...", "A, B and C are ...".
  const [first, second] = found;
  if (
    first !== undefined &&
    second !== undefined &&
    !first.some((_, at) => isVerb(first, at)) &&
    !isListEntry(first)
  )
    found.splice(0, 2, [...first, ...second]);
  return found;
}

/** "and Ghana about 15 percent": a subject and a figure, the verb being that of the clause before. */
function isElliptic(segment: readonly Token[]): boolean {
  const figure = segment.findIndex(({ kind }) => kind === 'number');
  const subject = subjectBefore(segment, figure);
  const isDate =
    /^(?:in|on|since|by|from|until|during)$/.test(segment[figure - 1]?.lower ?? '') ||
    MONTH.test(segment[figure - 1]?.lower ?? '');
  return figure > 0 && !isDate && subject.length > 0 && subject.every(({ lower }) => !MONTH.test(lower));
}

const MONTH =
  /^(?:january|february|march|april|may|june|july|august|september|october|november|december|early|late|spring|summer|autumn|winter)$/;

function isListEntry(segment: readonly Token[]): boolean {
  return segment.some(({ kind }) => kind === 'number');
}

function fullFrame(segment: readonly Token[], last: Clause | undefined): Clause {
  const at = verbPlace(segment);
  const before = segment.slice(0, at);
  const predicate = segment.slice(at);
  const by = predicate.findIndex(({ lower }, place) => lower === 'by' && isSomeone(predicate, place + 1));
  const agent = by === -1 ? [] : nounsFrom(predicate.slice(by + 1));
  const isPassive = agent.length > 0 || isPassiveGroup(predicate);
  const own = subjectBefore(before, before.length);
  const goesOn =
    own.length === 0 &&
    before.every(({ lower }) => OPENERS.has(lower) || lower === 'also' || lower === 'then');
  const subject = own.length > 0 ? own : goesOn && !isRelative(segment) ? (last?.subject ?? []) : [];
  return { subject, predicate, agent, isPassive, named: namesIn(before), own: segment };
}

function scantFrame(segment: readonly Token[], last: Clause | undefined): Clause {
  const figure = segment.findIndex(({ kind }) => kind === 'number');
  const subject = subjectBefore(segment, figure === -1 ? segment.length : figure);
  const verb = last?.predicate.filter((token, at) => at < 3 && token.content && !isAuxiliary(token)) ?? [];
  const rest = figure === -1 ? [] : segment.slice(figure);
  return {
    subject,
    predicate: [...verb, ...rest],
    agent: [],
    isPassive: last?.isPassive ?? false,
    named: [],
    own: segment,
  };
}

const PREPOSITIONS = new Set(
  'in on at by for from of to with without within during under over near about around between among against through since until as like per than'.split(
    ' ',
  ),
);

/** The nouns in front of a place; what a preposition brings counts only where there is nothing else. */
function subjectBefore(segment: readonly Token[], end: number): Token[] {
  const whole = segment.slice(0, Math.max(0, end));
  const relative = whole.findIndex(({ lower }, at) => at > 0 && /^(?:that|which|who)$/.test(lower));
  const before = (relative === -1 ? whole : whole.slice(0, relative)).filter(
    ({ lower }) => !OPENERS.has(lower),
  );
  const first = before.findIndex(({ lower }) => PREPOSITIONS.has(lower));
  const head = first <= 0 ? before : before.slice(0, first);
  const nouns = nounsOf(head);
  return nouns.length > 0 ? nouns : nounsOf(before);
}

function nounsOf(tokens: readonly Token[]): Token[] {
  return tokens.filter(
    ({ content, kind, lower }) => content && kind === 'word' && !MONTH.test(lower) && !isNumberWord(lower),
  );
}

function namesIn(tokens: readonly Token[]): Token[] {
  return tokens.filter(
    ({ capital, first, content, lower }) => capital && !first && content && !MONTH.test(lower),
  );
}

/** Neither a figure nor an action follows: "by 34 percent", "by cutting", "by then". */
function isSomeone(tokens: readonly Token[], at: number): boolean {
  const first = tokens.slice(at, at + 4).find(({ content, kind }) => content || kind === 'number');
  return (
    first?.kind === 'word' && !first.lower.endsWith('ing') && !isUnit(first.lower) && !MONTH.test(first.lower)
  );
}

/** The nouns up to the next preposition. */
function nounsFrom(tokens: readonly Token[]): Token[] {
  const end = tokens.findIndex(({ lower }) => PREPOSITIONS.has(lower));
  return tokens.slice(0, end === -1 ? undefined : end).filter(({ content }) => content);
}
