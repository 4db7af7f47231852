import { researchErrors } from '../errors.ts';
import type { ResearchEngine } from '../research/engine.ts';
import { followJob } from '../research/follow.ts';
import type { Job, JobOptions, ResearchEvent } from '../research/job.ts';
import type { JobStore } from '../store/jobs.ts';
import { progressText } from './progress-words.ts';

export interface DeepResearchDeps {
  engine: ResearchEngine;
  jobs: JobStore;
  /** What a job gets that is started without settings of its own. */
  jobOptions: JobOptions;
}

/** What a caller of another protocol gets to see of a job. */
export type DeepEvent =
  | { type: 'start'; researchId: string }
  /** What is done now; `step` only grows. */
  | { type: 'progress'; words: string; step: number }
  | { type: 'report-delta'; text: string }
  /** The last one. */
  | { type: 'end'; job: Job };

/** The topic as a caller of another protocol gives it; a job needs at least two characters. */
export function topicOf(text: string): string {
  const topic = text.trim();
  if (topic.length < 2 || topic.length > 2000) throw researchErrors.topic_unusable();
  return topic;
}

/** Researches for a caller who waits: when the caller leaves, the job is cancelled. */
export async function* researchFor(
  { engine, jobs, jobOptions }: DeepResearchDeps,
  query: string,
  signal: AbortSignal,
): AsyncGenerator<DeepEvent> {
  if (engine.isFull) throw researchErrors.too_many_jobs();
  const id = engine.start({ query, sessionId: undefined, options: jobOptions });
  let isOver = false;
  try {
    yield { type: 'start', researchId: id };
    let step = 0;
    for await (const { event } of followJob(jobs, id, 0, signal)) yield* toDeepEvents(event, ++step);
    signal.throwIfAborted();
    const job = jobs.get(id);
    if (job === undefined) return;
    isOver = true;
    yield { type: 'end', job };
  } finally {
    const job = isOver ? undefined : jobs.get(id);
    // A job that a stop of the service breaks off goes on after the next start.
    if (job !== undefined && !engine.isStopping) engine.cancel(job);
  }
}

function toDeepEvents(event: ResearchEvent, step: number): DeepEvent[] {
  if (event.type === 'synthesis_delta')
    return [{ type: 'report-delta', text: (event.data as { text: string }).text }];
  const words = progressText(event);
  return words === undefined ? [] : [{ type: 'progress', words, step }];
}

/** Why a job has no report, or nothing when it has one. */
export function failureMessage({ status, error, report }: Job): string | undefined {
  if (status === 'complete' && report !== null) return undefined;
  return error ?? 'The research was cancelled.';
}
