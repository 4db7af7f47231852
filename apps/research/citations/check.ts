import { stem } from '../text/words.ts';
import { closestClause, matchOf } from './alignment.ts';
import { boundProblem } from './bounds.ts';
import { comparisonHolds } from './comparison.ts';
import { takesRejected } from './contrast.ts';
import { type CheckedDocument, plainClaim } from './document.ts';
import { figureHits, figureProblem, mixesParts } from './figures.ts';
import { framesOf } from './frames.ts';
import { nameProblem, otherParty, rolesSwapped } from './names.ts';
import { certainly, plainVerdict } from './plain-verdict.ts';
import {
  comparesOtherwise,
  deniesContrary,
  dropsAlmost,
  dropsHedge,
  isNegated,
  namesDenied,
  overstates,
  repeatsRefuted,
  saysContrary,
  sharesSubject,
} from './polarity.ts';
import { mixesClauses, type Pairing, pairings, roleProblem } from './roles.ts';
import { type Statement, statementOf } from './statement.ts';
import { substitution } from './substitution.ts';
import { areOpposites } from './synonyms.ts';
import type { Token } from './tokens.ts';
import type { Verdict } from './verdict.ts';
import { passageOf, rankedWindows, type Window } from './windows.ts';

const ENOUGH = 0.6;

/** Whether some passage of the document says what the claim says, and whether that is beyond doubt. */
export function checkClaim(claimText: string, document: CheckedDocument): Verdict {
  const claim = statementOf(plainClaim(claimText));
  const quoted = document.sentences.find(({ statement }) => isQuote(claim, statement));
  if (quoted !== undefined) return certainly(true, '', quoted.span, 1);
  const verdict = weigh(claim, document);
  return plainVerdict(claim, document, verdict) ?? verdict;
}

/** What the rules make of it by likeness in words, figures, names and roles. */
function weigh(claim: Statement, document: CheckedDocument): Verdict {
  let best: Verdict = {
    supported: false,
    certain: false,
    judge: 'rules',
    score: 0,
    reason: 'the page says nothing about it',
    passage: undefined,
  };
  const compared = comparisonHolds(
    claim,
    document.sentences.map(({ statement }) => statement),
  );
  for (const window of rankedWindows(claim, document)) {
    const verdict = judge(claim, window, document, compared);
    // A passage that has less of the claim cannot outweigh one that has more of it and contradicts it.
    if (verdict.supported && verdict.score > best.score) return verdict;
    if (verdict.score > best.score) best = verdict;
  }
  return { ...best, supported: false };
}

const QUOTED = 0.85;

/** The claim gives the sentence word for word, but for its very end. */
function isQuote(claim: Statement, sentence: Statement): boolean {
  const { length } = claim.tokens;
  if (length < 4 || length > sentence.tokens.length || length < sentence.tokens.length * QUOTED) return false;
  return claim.tokens.every((token, at) => token.lower === sentence.tokens[at]?.lower);
}

function judge(
  claim: Statement,
  window: Window,
  document: CheckedDocument,
  compared: boolean | undefined,
): Verdict {
  const passage = passageOf(window, document);
  const score = Math.max(0, Math.min(1, window.score + 0.02 * window.statements.length));
  const reason =
    compared === undefined
      ? problemOf(claim, window, score, document)
      : comparedProblem(claim, window, compared);
  return {
    supported: reason === undefined,
    certain: false,
    judge: 'rules',
    score,
    reason: reason ?? '',
    passage,
  };
}

/** What the text bears out by its own comparison or figures needs no likeness in words. */
function comparedProblem(claim: Statement, window: Window, holds: boolean): string | undefined {
  if (!holds) return 'the passage has it the other way round';
  return figureProblem(claim, window.statements);
}

function problemOf(
  claim: Statement,
  window: Window,
  score: number,
  { title, text }: CheckedDocument,
): string | undefined {
  const closest = closestStatement(claim, window.statements);
  const clause = closestClause(claim, closest);
  if (score < ENOUGH) return 'the page does not say this';
  const figures =
    figureProblem(claim, window.statements) ??
    boundProblem(claim, window.statements) ??
    nameProblem(claim, closest, window.statements, { title, text });
  if (figures !== undefined) return figures;
  const pairs = pairings(claim, window.statements, 2);
  if (pairs.length > 0 ? saysContrary(pairs) : isNegated(claim.tokens) !== isNegated(clause))
    return 'the passage says the opposite';
  const opposite = deniesContrary(pairs) || isAboutSame(pairs) ? undefined : oppositeIn(claim, closest);
  if (opposite !== undefined) return `the passage says the opposite of "${opposite}"`;
  if (takesRejected(claim.tokens, closest.tokens)) return 'the passage puts that aside';
  if (namesDenied(claim, window.statements.flatMap(framesOf)))
    return 'the passage denies it of one that is named';
  if (dropsHedge(claim.tokens, closest.tokens, pairs)) return 'the passage says only that it may be so';
  if (repeatsRefuted(claim.tokens, closest.tokens)) return 'the passage says that this is rejected';
  if (dropsAlmost(claim.tokens, closest.tokens)) return 'the passage says that it was almost so';
  if (comparesOtherwise(claim.tokens, closest.tokens)) return 'the passage finds no difference';
  if (overstates(claim.tokens, closest.tokens)) return 'the passage says it of some only';
  if (rolesSwapped(claim, closest)) return 'the passage has it the other way round';
  const role = roleProblem(pairings(claim, window.statements, 0), window.statements);
  if (role !== undefined) return role;
  const party = otherParty(claim, closest);
  if (party !== undefined) return `the passage does not say "${party}"`;
  if (mixesParts(claim, closest) || mixesClauses(claim, window.statements))
    return 'the passage says it with another figure';
  const bold = goesTooFar(claim, closest);
  if (bold !== undefined) return `the passage does not go as far as "${bold}"`;
  const changed = substitution(claim, closest, { title, statements: window.statements });
  return changed === undefined ? undefined : `the passage does not say "${changed}"`;
}

/** Clauses with the same subject were found and compared word by word. */
function isAboutSame(pairs: readonly Pairing[]): boolean {
  return (
    pairs.length > 0 &&
    pairs.every(({ claimed, found }) =>
      found.some((frame) => frame.subject.length === 0 || sharesSubject(claimed, frame)),
    )
  );
}

function closestStatement(claim: Statement, statements: readonly Statement[]): Statement {
  const shared = (statement: Statement) =>
    claim.stems.filter((stem) => matchOf(stem, statement.stems)).length +
    2 * figureHits(claim, [statement]).found;
  return statements.reduce((best, statement) => (shared(statement) > shared(best) ? statement : best));
}

/** A word of the claim whose contrary the sentence has instead of it, or nearer to what the claim is about. */
function oppositeIn(claim: Statement, closest: Statement): string | undefined {
  const words = claim.tokens.filter(({ kind }) => kind === 'word');
  const own = new Set(words.map(({ stem: word }) => word));
  const sentence = closest.tokens.map(({ stem: word }) => word);
  const contradicted = words.find(({ stem: word }) => {
    const contrary = sentence.find((other) => areOpposites(word, other) && !own.has(other));
    if (contrary === undefined) return false;
    const match = matchOf(word, sentence);
    return match === undefined || sharedWith(claim, closest, contrary) > sharedWith(claim, closest, match);
  });
  return contradicted?.text;
}

/** How much of the claim stands in the same part of the sentence as this word. */
function sharedWith(claim: Statement, { tokens }: Statement, word: string): number {
  const at = tokens.findIndex((token) => token.stem === word);
  const isBreak = ({ lower }: { lower: string }) =>
    lower === 'and' || lower === 'but' || lower === 'while' || lower === ';';
  const from = tokens.slice(0, at).findLastIndex(isBreak) + 1;
  const length = tokens.slice(at).findIndex(isBreak);
  const part = tokens.slice(from, length === -1 ? undefined : at + length).map((token) => token.stem);
  return claim.stems.filter((own) => part.includes(own)).length;
}

/** Words that make more of a finding than most findings bear, and the words that bear them out. */
const FAR_REACHING = new Map(
  'prove|cause because due trigger result make produc|prevent avoid stop protect keep|cure heal|ensure guarantee|guarantee ensure|eliminate remove end'
    .split('|')
    .map((line) => line.split(' ').map(stem))
    .map((words) => [words[0] ?? '', words] as const),
);

function goesTooFar(claim: Statement, closest: Statement): string | undefined {
  const stems = framesOf(closest)
    .filter(({ own }) => !isNegated(own))
    .flatMap(({ own }) => own.map((token) => token.stem));
  if (isNegated(claim.tokens)) return undefined;
  const bears = (token: Token) => {
    const words = FAR_REACHING.get(token.stem);
    return words === undefined || words.some((word) => stems.includes(word));
  };
  return claim.tokens.find((token) => !bears(token))?.text;
}
