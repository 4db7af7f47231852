/** What the service answers with, as far as the page shows it. */

export interface Score {
  total: number;
  supported: number;
  uncited: number;
  byModel?: number;
  unchecked?: number;
  doubtful?: number;
  problem?: string;
}

type JobStatus = 'running' | 'complete' | 'error' | 'cancelled';
export type JobPhase = 'scope' | 'research' | 'evaluate' | 'synthesis' | 'done';

export interface JobSnapshot {
  researchId: string;
  status: JobStatus;
  phase: JobPhase;
  dimensionsTotal: number;
  dimensionsComplete: number;
  sourceCount: number;
  report?: string;
  query: string;
  createdAt: string;
  model: { name: string; demo: boolean };
  tokens: number;
  costUsd: number | null;
  elapsedMs: number;
  citations?: Score;
  awaiting?: 'plan';
  dimensions: string[];
  plan: { name: string; state: 'planned' | 'started' | 'searched' | 'done'; troubles: string[] }[];
  error?: string;
  warnings: string[];
  share?: string;
}

export interface Claim {
  sentence: string;
  sourceId: number | null;
  number: number | null;
  supported: boolean;
  judge?: 'rules' | 'model' | 'none';
  certain?: boolean;
  reason: string;
  passage: string;
}

/** A source that a citation may lead to. */
export interface CitedSource {
  /** Of sources that claims name. */
  id?: number;
  number: number | null;
  title: string;
  url: string;
  snippet?: string;
  published?: string | null;
}

export interface JobSource extends CitedSource {
  id: number;
  engine: string;
  quality: number;
  state: 'found' | 'read' | 'failed' | 'duplicate';
  duplicateOf: number | null;
  problem: string | null;
}

export interface Evidence {
  sources: JobSource[];
  claims: Claim[];
}

export interface Answer {
  id: number;
  question: string;
  text: string;
  claims: Claim[];
  askedAt: string;
}

export interface SharedReport {
  query: string;
  report: string;
  citations: Score | null;
  model: string;
  createdAt: string;
  sources: (CitedSource & { id: number })[];
  claims: Claim[];
}

export interface StoredFile {
  id: string;
  url: string;
  name: string;
  title: string;
  bytes: number;
  addedAt: string;
}

export interface SourceHealth {
  name: string;
  title: string;
  kind: 'web' | 'encyclopedia' | 'files';
  state: 'ok' | 'failing' | 'unknown';
  words: string;
  at?: string;
}
