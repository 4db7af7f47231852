import type { JobSnapshot } from '../api-types.ts';
import type { FindingStore } from '../store/findings.ts';
import type { ShareStore } from '../store/jobs.ts';
import type { ResearchEngine } from './engine.ts';
import type { Job } from './job.ts';

export interface SnapshotDeps {
  findings: FindingStore;
  engine: ResearchEngine;
  shares: ShareStore;
}

/** Notes that tell of something that went wrong. */
const FAULTS = new Set<string>(['extract', 'shortened', 'summary']);

/** The job as its status route shows it. */
export function snapshotOf(job: Job, { findings, engine, shares }: SnapshotDeps): JobSnapshot {
  const dimensions = findings.dimensions(job.id);
  const isComplete = job.status === 'complete';
  const share = shares.tokenOf(job.id);
  const notes = findings.notes(job.id).map(({ position, kind, words }) => ({
    section: dimensions[position]?.name ?? '',
    kind,
    words,
  }));
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
    ...(job.isEstimated && { estimated: true as const }),
    costUsd: job.costUsd,
    elapsedMs: engine.elapsedMs(job),
    ...(job.citations !== null && { citations: job.citations }),
    ...(job.awaitingPlan && { awaiting: 'plan' as const }),
    dimensions: dimensions.map(({ name }) => name),
    plan: dimensions.map(({ name, state, iteration, troubles }) => ({ name, state, iteration, troubles })),
    options: {
      budget: job.options.budget,
      sources: job.options.sources,
      citations: job.options.citations ?? 'marked',
    },
    ...(job.error !== null && { error: job.error }),
    warnings: [
      ...new Set(dimensions.flatMap(({ troubles }) => troubles)),
      ...notes.filter(({ kind }) => FAULTS.has(kind)).map(({ section, words }) => `${section}: ${words}`),
    ],
    notes,
    ...(share !== undefined && { share: sharePath(share) }),
  };
}

/** Where the page of a shared report is. */
export function sharePath(token: string): string {
  return `/share/${token}`;
}
