import type { Claim, JobSource } from '../api-types.ts';
import type { Dimension, Job } from '../research/job.ts';
import type { DocumentStore } from '../store/documents.ts';
import type { FindingStore } from '../store/findings.ts';

/** A source, and when its text was stored. */
export interface BundledSource extends JobSource {
  readAt: string | null;
}

/** The data of an export. */
export interface Bundle {
  job: Job;
  report: string;
  dimensions: Dimension[];
  sources: BundledSource[];
  claims: Claim[];
}

export interface BundleDeps {
  findings: FindingStore;
  documents: DocumentStore;
}

export function bundleOf(job: Job, { findings, documents }: BundleDeps): Bundle {
  const sources = findings.sources(job.id).map((source) => {
    const document = source.documentId === null ? undefined : documents.describe(source.documentId);
    return {
      ...source,
      readAt: document === undefined ? null : new Date(document.addedAt).toISOString(),
    };
  });
  return {
    job,
    report: job.report ?? '',
    dimensions: findings.dimensions(job.id),
    sources,
    claims: findings.claims(job.id),
  };
}

/** The sources that the report cites, in the order of their numbers. */
export function citedSources({ sources }: Pick<Bundle, 'sources'>): (BundledSource & { number: number })[] {
  return sources
    .flatMap((source) => (source.number === null ? [] : [{ ...source, number: source.number }]))
    .sort((left, right) => left.number - right.number);
}

/** Everything in one document, the texts of the sources too, so that each citation can be checked again without the service. */
export function toEvidence(
  { job, report, dimensions, sources, claims }: Bundle,
  documents: DocumentStore,
): string {
  const {
    id,
    query,
    status,
    phase,
    error,
    options,
    model,
    tokens,
    isEstimated,
    costUsd,
    citations,
    createdAt,
  } = job;
  const spent = { tokens, ...(isEstimated && { estimated: true }), costUsd };
  const research = { id, query, status, phase, error, options, model, ...spent, citations };
  const bundle = {
    format: 'trunkline-evidence',
    version: 1,
    research: { ...research, createdAt: new Date(createdAt).toISOString() },
    report: job.report === null ? null : report,
    dimensions,
    sources: sources.map((source) => ({
      ...source,
      text: documents.get(source.documentId ?? 0)?.text ?? '',
    })),
    claims,
  };
  return `${JSON.stringify(bundle, null, 2)}\n`;
}
