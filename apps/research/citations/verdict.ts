import type { Judge } from '../api-types.ts';
import type { Span } from '../text/sentences.ts';

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
