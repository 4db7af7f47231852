import { type Frame, framesOf } from './frames.ts';
import type { Statement } from './statement.ts';
import { areOpposites, areSynonyms } from './synonyms.ts';
import type { Token } from './tokens.ts';
import { isVerb } from './verbs.ts';

/** A clause of the claim and the clauses of the passage that say most of the same. */
export interface Pairing {
  claimed: Frame;
  found: readonly Frame[];
}

/** How much of a predicate must be found before its subject is compared. */
const ENOUGH = 0.5;

/** For each clause of the claim, the clauses of the passage that share most with what it says of its subject. */
export function pairings(claim: Statement, passage: readonly Statement[], subjectWorth: number): Pairing[] {
  const frames = passage.flatMap(framesOf);
  return framesOf(claim).flatMap((claimed) => {
    const words = wordsOf(claimed.predicate);
    const total = sumOf(words);
    const scored = frames.map((frame) => ({ frame, score: sharedScore(claimed, words, frame) }));
    const usable = scored
      .filter(({ score }) => total > 0 && score >= total * ENOUGH)
      .map(({ frame, score }) => ({ frame, score: score + subjectWorth * sharedSubject(claimed, frame) }));
    const best = Math.max(0, ...usable.map(({ score }) => score));
    const found = usable.filter(({ score }) => score > best - 0.01).map(({ frame }) => frame);
    return found.length === 0 ? [] : [{ claimed, found }];
  });
}

/** A contrary word shows that the clauses speak of the same, if less surely than the word itself. */
const CONTRARY = 0.6;
/** So does a word that is the subject there. */
const MOVED = 0.4;

function sharedSubject(claimed: Frame, frame: Frame): number {
  const shared = claimed.subject.filter((token) => isAmong(token, frame.own));
  return shared.length / Math.max(1, claimed.subject.length);
}

function sharedScore(claimed: Frame, words: readonly Token[], frame: Frame): number {
  const sameVoice = claimed.isPassive === frame.isPassive;
  const theirs = sameVoice ? frame.predicate : [...frame.own, ...frame.predicate];
  const contrary = words.filter((word) => !isAmong(word, theirs) && isContraryAmong(word, theirs));
  const moved = words.filter((word) => !isAmong(word, theirs) && isAmong(word, frame.subject));
  return (
    sumOf(words.filter((word) => isAmong(word, theirs))) + sumOf(contrary) * CONTRARY + sumOf(moved) * MOVED
  );
}

/** Words for a subject that the passage says something else of. */
export function roleProblem(pairs: readonly Pairing[], passage: readonly Statement[]): string | undefined {
  for (const { claimed, found } of pairs) {
    const conflicts = found.map((frame) => conflictOf(claimed, frame, passage));
    const [first] = conflicts;
    if (first !== undefined && conflicts.every((conflict) => conflict !== undefined)) return first;
  }
  return undefined;
}

function conflictOf(claimed: Frame, frame: Frame, passage: readonly Statement[]): string | undefined {
  const pairs = slotsOf(claimed, frame);
  if (isOtherNamed(claimed, frame))
    return `the passage says it of "${frame.named.map(({ text }) => text).join(' ')}"`;
  for (const [own, theirs] of pairs) {
    if (differ(own, theirs, claimed, frame, passage))
      return `the passage says it of "${theirs.map(({ text }) => text).join(' ')}"`;
  }
  return undefined;
}

/** "Workers of one firm" against "workers of another". */
function isOtherNamed(claimed: Frame, frame: Frame): boolean {
  if (claimed.named.length === 0 || frame.named.length === 0 || claimed.isPassive !== frame.isPassive)
    return false;
  if (!claimed.subject.some((token) => isAmong(token, frame.subject))) return false;
  return (
    !claimed.named.some((token) => isAmong(token, frame.own)) &&
    !frame.named.some((token) => isAmong(token, claimed.own))
  );
}

type Slots = [own: readonly Token[], theirs: readonly Token[]];

/** The parties of the two clauses that ought to be the same, whatever their voice. */
function slotsOf(claimed: Frame, frame: Frame): Slots[] {
  if (claimed.isPassive === frame.isPassive)
    return [
      [claimed.subject, frame.subject],
      [claimed.agent, frame.agent],
    ];
  if (claimed.isPassive) return [[claimed.agent, frame.subject]];
  if (claimed.subject.every((token) => isAmong(token, frame.subject))) return [];
  return [[claimed.subject, frame.agent]];
}

/** Each has a word that the other lacks, and the claim's one stands elsewhere in the passage: it belongs to another clause. */
function differ(
  own: readonly Token[],
  theirs: readonly Token[],
  claimed: Frame,
  frame: Frame,
  passage: readonly Statement[],
): boolean {
  const mine = own.filter((token) => !isAmong(token, theirs));
  const others = theirs.filter((token) => !isAmong(token, own));
  if (mine.length === 0 || others.length === 0) return false;
  if (mine.some((token) => isAmong(token, frame.own)))
    return isSwap(mine, others, claimed, frame) || isBystander(mine, others, claimed, frame);
  if (others.some((token) => isAmong(token, claimed.own))) return false;
  // "The animal" may stand for a name of the sentence before; a name, or a thing of the same sentence, may not.
  const head = own.at(-1);
  const isOpen =
    !others.some(({ capital, first }) => capital && !first) && head !== undefined && mine.includes(head);
  if (isOpen) return mine.some((token) => isAmong(token, frame.sentence));
  return mine.some((token) => passage.some(({ tokens }) => isAmong(token, tokens)));
}

/** The claim has its verb from one clause and its figures from another that has a verb and figures of its own. */
export function mixesClauses(claim: Statement, passage: readonly Statement[]): boolean {
  const all = passage.flatMap(framesOf);
  return framesOf(claim).some(({ predicate }) => {
    const figures = predicate.filter(({ kind }) => kind === 'number');
    const verb = wordsOf(predicate)[0];
    if (figures.length === 0 || verb?.kind !== 'word') return false;
    const withFigures = all.filter(({ own }) => figures.every((figure) => isAmong(figure, own)));
    const withVerb = all.filter(
      ({ own, predicate: said }) =>
        isAmong(verb, [...own, ...said]) && own.some(({ kind }) => kind === 'number'),
    );
    return withFigures.length > 0 && withFigures.every((frame) => isOtherDeed(frame, verb, withVerb));
  });
}

/** "A survey ..., run by ... in 2023": says more of the same thing. */
function isAddition({ own }: Frame): boolean {
  return isVerb(own, 0);
}

/** Another clause of the same sentence has the verb, and this one has a different one. */
function isOtherDeed(frame: Frame, verb: Token, withVerb: readonly Frame[]): boolean {
  if (
    isAddition(frame) ||
    isAmong(verb, [...frame.own, ...frame.predicate]) ||
    frame.predicate.every(({ content }) => !content)
  )
    return false;
  return withVerb.some(({ sentence }) => sentence === frame.sentence);
}

const MUTUAL =
  /^(?:link|connect|meet|met|draw|drew|share|join|compar|resembl|differ|merg|marri|marry|border|unit|separat)/;

/** Both clauses have both parties, on opposite sides of the same verb. */
function isSwap(mine: readonly Token[], others: readonly Token[], claimed: Frame, frame: Frame): boolean {
  const verb = wordsOf(claimed.predicate)[0];
  if (verb === undefined || MUTUAL.test(verb.lower) || !isAmong(verb, frame.predicate)) return false;
  return (
    claimed.isPassive === frame.isPassive &&
    mine.some((token) => isAmong(token, frame.predicate)) &&
    others.some((token) => isAmong(token, claimed.predicate))
  );
}

/** A name that the clause only mentions, while another one does what the claim says. */
function isBystander(
  mine: readonly Token[],
  others: readonly Token[],
  claimed: Frame,
  frame: Frame,
): boolean {
  const verb = wordsOf(claimed.predicate)[0];
  const isName = ({ stem }: Token) => frame.predicate.some((token) => token.capital && token.stem === stem);
  const areNames = mine.some(isName) && others.some(({ capital }) => capital);
  const hasVerb = verb !== undefined && isAmong(verb, frame.predicate.slice(0, 4));
  const isMentioned = mine.every((token) => isAmong(token, frame.predicate));
  return (
    areNames && hasVerb && isMentioned && claimed.isPassive === frame.isPassive && !MUTUAL.test(verb.lower)
  );
}

function wordsOf(tokens: readonly Token[]): Token[] {
  return tokens.filter(({ content, kind }) => content || kind === 'number');
}

function sumOf(tokens: readonly Token[]): number {
  return tokens.reduce((sum, { kind }) => sum + (kind === 'number' ? 2 : 1), 0);
}

function isContraryAmong(token: Token, tokens: readonly Token[]): boolean {
  return tokens.some(({ stem }) => areOpposites(stem, token.stem));
}

function isAmong(token: Token, tokens: readonly Token[]): boolean {
  return tokens.some((other) =>
    token.kind === 'number' || token.capital
      ? other.stem === token.stem
      : areSynonyms(other.stem, token.stem),
  );
}
