import type { Span } from '../text/sentences.ts';

/** Who came to a verdict: the rules of this folder, or the language model that doubtful claims are put to. */
export type Judge = 'rules' | 'model';

export interface Verdict {
  supported: boolean;
  /** Whether the claim has the page's own words, or something that stands nowhere on it; what lies between is doubtful. */
  certain: boolean;
  judge: Judge;
  /** The share of the claim that the passage has words for, 0 to 1. */
  score: number;
  /** Why not; empty when supported. */
  reason: string;
  /** The stretch of the document that bears the claim out best. */
  passage: Span | undefined;
}
