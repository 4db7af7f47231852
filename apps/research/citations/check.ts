import { type Span, sentenceSpans } from '../text/sentences.ts';
import { closestClause, coverage, matchOf, type Weights, weightsOf } from './alignment.ts';
import { figureHits, figureProblem } from './figures.ts';
import { nameProblem, rolesSwapped } from './names.ts';
import { dropsHedge, isNegated, overstates } from './polarity.ts';
import { type Statement, statementOf } from './statement.ts';
import { substitution } from './substitution.ts';
import { areOpposites } from './synonyms.ts';

/** A document taken apart once, for any number of claims. */
export interface CheckedDocument {
  title: string;
  text: string;
  sentences: readonly { span: Span; statement: Statement }[];
  weight: Weights;
}

export interface Verdict {
  supported: boolean;
  /** The share of the claim that the passage has words for, 0 to 1. */
  score: number;
  /** Why not; empty when supported. */
  reason: string;
  /** The stretch of the document that bears the claim out best. */
  passage: Span | undefined;
}

const MOST_SENTENCES = 4000;

export function prepareDocument(title: string, text: string): CheckedDocument {
  const sentences = sentenceSpans(text)
    .slice(0, MOST_SENTENCES)
    .map((span) => ({ span, statement: statementOf(span.text) }));
  return { title, text, sentences, weight: weightsOf(sentences.map(({ statement }) => statement)) };
}

/** Sentences that count as one passage at most. */
const WIDEST = 3;
/** The passages that are looked at closely. */
const CANDIDATES = 6;
const ENOUGH = 0.6;

/** Whether some passage of the document says what the claim says. */
export function checkClaim(claimText: string, document: CheckedDocument): Verdict {
  const claim = statementOf(plainClaim(claimText));
  const windows = rankedWindows(claim, document);
  let best: Verdict = {
    supported: false,
    score: 0,
    reason: 'the page says nothing about it',
    passage: undefined,
  };
  for (const window of windows) {
    const verdict = judge(claim, window, document);
    if (verdict.supported) return verdict;
    if (verdict.score > best.score) best = verdict;
  }
  return best;
}

/** The claim without citation marks and Markdown. */
export function plainClaim(text: string): string {
  return text
    .replace(/\[\d{1,3}\??\]|\[\?\]/g, '')
    .replace(/\[([^\]]*)\]\([^)]*\)/g, '$1')
    .replace(/^\s*(?:[-*•>]|#{1,6}|\d+[.)])\s+/, '')
    .replace(/\*\*|__|`/g, '')
    .trim();
}

interface Window {
  from: number;
  to: number;
  statements: readonly Statement[];
  score: number;
}

/** The passages of one to three sentences that share most with the claim; the shorter one first where they are equal. */
function rankedWindows(claim: Statement, document: CheckedDocument): Window[] {
  const { sentences, weight } = document;
  const windows: Window[] = [];
  const promising = sentences.map(({ statement }) =>
    claim.stems.some((stem) => matchOf(stem, statement.stems)),
  );
  for (let from = 0; from < sentences.length; from += 1) {
    if (!promising[from]) continue;
    for (let to = from + 1; to <= Math.min(from + WIDEST, sentences.length); to += 1) {
      const statements = sentences.slice(from, to).map(({ statement }) => statement);
      const stems = [...new Set(statements.flatMap((statement) => statement.stems)), ...titleStems(document)];
      windows.push({
        from,
        to,
        statements,
        score: coverage(claim, stems, figureHits(claim, statements), weight) - 0.02 * (to - from),
      });
    }
  }
  return windows.toSorted((left, right) => right.score - left.score).slice(0, CANDIDATES);
}

function titleStems({ title }: CheckedDocument): readonly string[] {
  return title === '' ? [] : statementOf(title).stems;
}

function judge(claim: Statement, window: Window, document: CheckedDocument): Verdict {
  const passage = passageOf(window, document);
  const score = Math.max(0, Math.min(1, window.score + 0.02 * window.statements.length));
  const reason = problemOf(claim, window, score, document);
  return { supported: reason === undefined, score, reason: reason ?? '', passage };
}

function passageOf({ from, to }: Window, { sentences, text }: CheckedDocument): Span | undefined {
  const [first, last] = [sentences[from]?.span, sentences[to - 1]?.span];
  if (first === undefined || last === undefined) return undefined;
  return { start: first.start, end: last.end, text: text.slice(first.start, last.end) };
}

function problemOf(
  claim: Statement,
  window: Window,
  score: number,
  { title }: CheckedDocument,
): string | undefined {
  const closest = closestStatement(claim, window.statements);
  const clause = closestClause(claim, closest);
  if (score < ENOUGH) return 'the page does not say this';
  const figures =
    figureProblem(claim, window.statements) ?? nameProblem(claim, closest, window.statements, title);
  if (figures !== undefined) return figures;
  if (isNegated(claim.tokens) !== isNegated(clause)) return 'the passage says the opposite';
  const opposite = oppositeIn(
    claim,
    clause.map(({ stem }) => stem),
  );
  if (opposite !== undefined) return `the passage says the opposite of "${opposite}"`;
  if (dropsHedge(claim.tokens, clause)) return 'the passage says only that it may be so';
  if (overstates(claim.tokens, closest.tokens)) return 'the passage says it of some only';
  if (rolesSwapped(claim, closest)) return 'the passage has it the other way round';
  const changed = substitution(claim, closest, title);
  return changed === undefined ? undefined : `the passage does not say "${changed}"`;
}

function closestStatement(claim: Statement, statements: readonly Statement[]): Statement {
  const shared = (statement: Statement) =>
    claim.stems.filter((stem) => matchOf(stem, statement.stems)).length;
  return statements.reduce((best, statement) => (shared(statement) > shared(best) ? statement : best));
}

/** A word of the claim that the clause lacks while it has the contrary. */
function oppositeIn(claim: Statement, clause: readonly string[]): string | undefined {
  const all = claim.tokens.filter(({ kind }) => kind === 'word');
  const own = new Set(all.map(({ stem }) => stem));
  return all.find(
    ({ stem }) =>
      !clause.includes(stem) && clause.some((other) => areOpposites(stem, other) && !own.has(other)),
  )?.text;
}
