import type { Span } from '../text/sentences.ts';
import { coverage } from './alignment.ts';
import { type CheckedDocument, plainClaim } from './document.ts';
import { figureHits } from './figures.ts';
import { type Statement, statementOf } from './statement.ts';

/** Sentences that count as one passage at most. */
const WIDEST = 3;
/** The passages that are looked at closely. */
const CANDIDATES = 6;
/** A stretch of a document and how much of a claim it has. */
export interface Window {
  from: number;
  to: number;
  statements: readonly Statement[];
  score: number;
}

/** The passages of one to three sentences that share most with the claim; the shorter one first where they are equal. */
export function rankedWindows(claim: Statement, document: CheckedDocument): Window[] {
  const { sentences, weight } = document;
  const windows: Window[] = [];
  const extra = titleStems(document);
  const seen = new Set<number>();
  for (const center of promising(claim, document)) {
    for (let from = Math.max(0, center - WIDEST + 1); from <= center; from += 1) {
      for (let to = center + 1; to <= Math.min(from + WIDEST, sentences.length); to += 1) {
        if (seen.has(from * 10 + (to - from))) continue;
        seen.add(from * 10 + (to - from));
        const statements = sentences.slice(from, to).map(({ statement }) => statement);
        const stems = [...new Set(statements.flatMap((statement) => statement.stems))];
        const covered = coverage(claim, { stems, title: extra }, figureHits(claim, statements), weight);
        windows.push({ from, to, statements, score: covered - 0.02 * (to - from) });
      }
    }
  }
  return windows.toSorted((left, right) => right.score - left.score).slice(0, CANDIDATES);
}

/** Sentences that are compared closely. */
const COMPARED = 40;

/** The places of the sentences that share most words and figures with the claim; a cheap look before the close one. */
export function promising(claim: Statement, { sentences, weight }: CheckedDocument): number[] {
  const wanted = new Set(claim.stems);
  return sentences
    .map(({ statement }, place) => {
      const shared = statement.stems
        .filter((stem) => wanted.has(stem))
        .reduce((sum, stem) => sum + weight(stem), 0);
      return { place, score: shared + 1.5 * figureHits(claim, [statement]).found };
    })
    .toSorted((left, right) => right.score - left.score)
    .slice(0, COMPARED)
    .map(({ place }) => place);
}

function titleStems({ title }: CheckedDocument): readonly string[] {
  return title === '' ? [] : statementOf(title).stems;
}

/** The places of the sentences nearest to a claim. */
export function likelySentences(claimText: string, document: CheckedDocument): number[] {
  return promising(statementOf(plainClaim(claimText)), document);
}

export function passageOf({ from, to }: Window, { sentences, text }: CheckedDocument): Span | undefined {
  const [first, last] = [sentences[from]?.span, sentences[to - 1]?.span];
  if (first === undefined || last === undefined) return undefined;
  return { start: first.start, end: last.end, text: text.slice(first.start, last.end) };
}
