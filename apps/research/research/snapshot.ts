import type { FindingStore } from '../store/findings.ts';
import type { CitationScore, Job } from './job.ts';

export interface Snapshot {
  researchId: string;
  status: Job['status'];
  phase: Job['phase'];
  dimensionsTotal: number;
  dimensionsComplete: number;
  sourceCount: number;
  report?: string;
  query: string;
  createdAt: string;
  model: Job['model'];
  tokens: number;
  citations?: CitationScore;
  /** Set while the job waits for an edited plan. */
  awaiting?: 'plan';
  dimensions: string[];
  error?: string;
  /** What went wrong with search services without stopping the job. */
  warnings: string[];
}

/** The job as its status route shows it. */
export function snapshotOf(job: Job, findings: FindingStore): Snapshot {
  const dimensions = findings.dimensions(job.id);
  const isComplete = job.status === 'complete';
  return {
    researchId: job.id,
    status: job.status,
    phase: job.phase,
    dimensionsTotal: dimensions.length,
    dimensionsComplete: dimensions.filter(({ state }) => state === 'done').length,
    sourceCount: findings.countSources(job.id, 'read'),
    ...(isComplete && job.report !== null && { report: job.report }),
    query: job.query,
    createdAt: new Date(job.createdAt).toISOString(),
    model: job.model,
    tokens: job.tokens,
    ...(job.citations !== null && { citations: job.citations }),
    ...(job.awaitingPlan && { awaiting: 'plan' as const }),
    dimensions: dimensions.map(({ name }) => name),
    ...(job.error !== null && { error: job.error }),
    warnings: [...new Set(dimensions.flatMap(({ troubles }) => troubles))],
  };
}
