import type { Span } from '../text/sentences.ts';

/** Who judged: word-by-word comparison with the page, the language model, or nobody (not checked). */
export type Judge = 'rules' | 'model' | 'none';

export interface Verdict {
  supported: boolean;
  /** False where it was not checked. */
  certain: boolean;
  judge: Judge;
  /** The share of the claim that the passage has words for, 0 to 1. */
  score: number;
  /** Why not; empty when supported. */
  reason: string;
  /** The stretch of the document that bears the claim out best. */
  passage: Span | undefined;
}
