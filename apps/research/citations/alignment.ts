import { stem } from '../text/words.ts';
import type { Statement } from './statement.ts';
import { areSynonyms } from './synonyms.ts';
import type { Token } from './tokens.ts';

/** How rare each stem is in a document: a rare one says more about whether two sentences mean the same. */
export type Weights = (stem: string) => number;

export function weightsOf(statements: readonly Statement[]): Weights {
  const counts = new Map<string, number>();
  for (const { stems } of statements) for (const stem of stems) counts.set(stem, (counts.get(stem) ?? 0) + 1);
  const total = Math.max(1, statements.length);
  return (stem) => 1 + 0.25 * Math.log((total + 1) / ((counts.get(stem) ?? 0) + 1));
}

/** The stem of the passage that stands for the claim's one, if any. */
export function matchOf(stem: string, candidates: readonly string[]): string | undefined {
  return candidates.includes(stem) ? stem : candidates.find((candidate) => areSynonyms(stem, candidate));
}

/** Words that fit many sentences: they count for less. */
const LIGHT = new Set(
  'take place get come go make see become use number part time way thing work include give say show know call find year people world new first large'
    .split(' ')
    .map(stem),
);
const FIGURE = 1.2;

/** The share of the claim's meaning, by weight, that the passage has words or figures for. */
export function coverage(
  claim: Statement,
  { stems, title }: { stems: readonly string[]; title: readonly string[] },
  figures: { found: number; total: number },
  weighted: Weights,
): number {
  const weight = (stem: string) => weighted(stem) * (LIGHT.has(stem) ? 0.5 : 1);
  let found = figures.found * FIGURE;
  let total = figures.total * FIGURE;
  for (const stem of claim.stems) {
    const worth = weight(stem);
    total += worth;
    const match = matchOf(stem, stems);
    if (match !== undefined) found += match === stem ? worth : worth * 0.9;
    // The title says what the text is about, but not that this sentence is about it.
    else if (title.includes(stem)) found += worth * 0.5;
  }
  return total === 0 ? 0 : found / total;
}

/** The part of a sentence, between commas and conjunctions, that has most of the claim's words. */
export function closestClause(claim: Statement, passage: Statement): readonly Token[] {
  const clauses = clausesOf(passage.tokens);
  const scored = clauses.map((clause) => ({ clause, hits: sharedStems(claim, clause) }));
  const best = scored.toSorted((left, right) => right.hits - left.hits)[0];
  if (best === undefined) return passage.tokens;
  // A claim that draws on several clauses is compared with the sentence as a whole.
  return best.hits >= 0.7 * sharedStems(claim, passage.tokens) ? best.clause : passage.tokens;
}

const BREAKS = new Set([
  'after',
  'before',
  'that',
  'which',
  'who',
  'when',
  'if',
  'but',
  'although',
  'though',
  'while',
  'whereas',
  'however',
  'because',
  'unless',
  'despite',
  ';',
  ',',
]);

function clausesOf(tokens: readonly Token[]): Token[][] {
  const clauses: Token[][] = [[]];
  for (const token of tokens) {
    if (BREAKS.has(token.lower)) clauses.push([]);
    clauses.at(-1)?.push(token);
  }
  return clauses.filter((clause) => clause.some(({ content }) => content));
}

function sharedStems(claim: Statement, tokens: readonly Token[]): number {
  const stems = tokens.filter(({ content }) => content).map(({ stem }) => stem);
  return claim.stems.filter((stem) => matchOf(stem, stems) !== undefined).length;
}
