import type { Judge } from '../citations/verdict.ts';
import type { SourceKind } from '../sources/source.ts';
import type { DomainLists } from './domains.ts';

type JobStatus = 'running' | 'complete' | 'error' | 'cancelled';
type JobPhase = 'scope' | 'research' | 'evaluate' | 'synthesis' | 'done';

/** What a job may use up; a limit that is not given does not hold. */
export interface Budget {
  seconds?: number | undefined;
  tokens?: number | undefined;
  sources?: number | undefined;
}

export interface JobOptions {
  /** Wait for the user's word on the dimensions before researching them. */
  reviewPlan: boolean;
  budget: Budget;
  domains: DomainLists;
  sources: readonly SourceKind[];
}

export interface Job {
  id: string;
  query: string;
  sessionId: string | null;
  options: JobOptions;
  status: JobStatus;
  phase: JobPhase;
  /** The pass of research and evaluation that is under way, from 1. */
  iteration: number;
  /** Nothing more will happen to it. */
  closed: boolean;
  awaitingPlan: boolean;
  tokens: number;
  /** How long it has been worked on, as far as it is written down. */
  spentMs: number;
  /** US dollars; null when the price of a model that was asked is not known. */
  costUsd: number | null;
  error: string | null;
  report: string | null;
  citations: CitationScore | null;
  model: { name: string; demo: boolean };
  createdAt: number;
}

export interface CitationScore {
  /** Citations in the report. */
  total: number;
  /** Of those, the ones that their page bears out. */
  supported: number;
  /** Sentences that no page bears out and that cite none. */
  uncited: number;
  /** Citations that the language model judged. */
  byModel: number;
  /** Citations that nobody judged: no model is configured for it, or it did not answer. */
  unchecked?: number;
  /** The same number under its old name; in old reports those that rules judged without being sure. */
  doubtful: number;
  /** Why the model did not judge all that is doubtful, where it was to. */
  problem?: string;
}

/** Characters of a dimension's name, and of a query for it. */
export const LONGEST_NAME = 300;

export interface PlannedDimension {
  name: string;
  queries: string[];
}

export interface Dimension extends PlannedDimension {
  position: number;
  iteration: number;
  state: 'planned' | 'started' | 'searched' | 'done';
  summary: string;
  keyFinding: string;
  /** What went wrong with which search service, in words. */
  troubles: string[];
}

export interface JobSource {
  id: number;
  url: string;
  title: string;
  snippet: string;
  /** The name of the source that found it. */
  engine: string;
  quality: number;
  published: string | null;
  state: 'found' | 'read' | 'failed' | 'duplicate';
  documentId: number | null;
  duplicateOf: number | null;
  problem: string | null;
  /** Its number in the report. */
  number: number | null;
}

export interface Claim {
  sentence: string;
  sourceId: number | null;
  number: number | null;
  supported: boolean;
  /** Who judged it. */
  judge: Judge;
  /** False where it was not checked. */
  certain: boolean;
  score: number;
  reason: string;
  passage: string;
  passageStart: number | null;
  passageEnd: number | null;
}

/** An event of a job as clients get it. */
export interface ResearchEvent {
  type: string;
  data?: unknown;
  timestamp: string;
}

export interface NewEvent {
  type: string;
  data?: unknown;
}
