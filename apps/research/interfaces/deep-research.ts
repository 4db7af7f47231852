import type { AgentSkill, ExecutionEvent, Executor } from '@trunkline/a2a';
import { HttpError } from '@trunkline/http';
import type { CitationScore } from '../api-types.ts';
import { judgesText } from '../citations/marks.ts';
import { researchErrors } from '../errors.ts';
import { followJob, type ResearchEngine, type StartRequest } from '../research/engine.ts';
import type { Job, JobOptions, ResearchEvent } from '../research/job.ts';
import type { JobStore } from '../store/jobs.ts';
import { progressText } from './progress-words.ts';

export const researchSkill: AgentSkill = {
  id: 'deep_research',
  name: 'Deep research',
  description:
    'Researches a topic on the web, in an encyclopedia and in the files of the library, and writes a report in Markdown whose citations are checked one by one. Give the topic as text.',
  tags: ['research', 'report', 'citations'],
  examples: ['How do tidal power stations affect fish?'],
};

export interface DeepResearchDeps {
  engine: ResearchEngine;
  jobs: JobStore;
  /** What a job gets that is started without settings of its own. */
  jobOptions: JobOptions;
}

/** Events of a job for callers of other protocols. */
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
  deps: DeepResearchDeps,
  asked: Pick<StartRequest, 'query' | 'principal' | 'id'>,
  signal: AbortSignal,
): AsyncGenerator<DeepEvent> {
  deps.engine.requireRoom(asked.principal);
  const id = deps.engine.start({ ...asked, sessionId: undefined, options: deps.jobOptions });
  yield* followFor(deps, id, signal);
}

/** Follows a job for a caller who waits. */
export async function* followFor(
  { engine, jobs }: DeepResearchDeps,
  id: string,
  signal: AbortSignal,
): AsyncGenerator<DeepEvent> {
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

/** Why a job has no report; undefined if it has one. */
export function failureMessage({ status, error, report }: Job): string | undefined {
  if (status === 'complete' && report !== null) return undefined;
  return error ?? 'The research was cancelled.';
}

/**
 * A task is a topic; it tells of its progress and ends with the report as an artifact. Its job has the same id, so that
 * the task goes on with it after a restart.
 */
export function createResearchExecutor(deps: DeepResearchDeps): Executor {
  const executions = async function* (events: AsyncIterable<DeepEvent>): AsyncGenerator<ExecutionEvent> {
    for await (const event of events) yield* toExecution(event);
  };
  return {
    recover: ({ id }, signal) =>
      deps.jobs.get(id) === undefined ? undefined : { events: executions(followFor(deps, id, signal)) },
    async *execute({ task: { id }, text, principal }, signal): AsyncGenerator<ExecutionEvent> {
      try {
        yield* executions(researchFor(deps, { query: topicOf(text), principal, id }, signal));
      } catch (error) {
        if (!(error instanceof HttpError)) throw error;
        yield { type: 'rejected', message: error.message };
      }
    },
  };
}

function toExecution(event: DeepEvent): ExecutionEvent[] {
  switch (event.type) {
    case 'start':
      return [];
    case 'progress':
      return [{ type: 'progress', text: event.words }];
    case 'report-delta':
      return [{ type: 'text-delta', text: event.text }];
    case 'end': {
      const failure = failureMessage(event.job);
      if (failure !== undefined) return [{ type: 'failed', message: failure }];
      const { tokens, isEstimated, costUsd, citations } = event.job;
      // A job counts its tokens together.
      const estimated = isEstimated && { estimated: true as const };
      const usage = { inputTokens: 0, outputTokens: tokens, totalTokens: tokens, ...estimated };
      return [
        { type: 'usage', usage: { ...usage, ...(costUsd !== null && { costUsd }) } },
        { type: 'completed', message: scoreOf(citations) },
      ];
    }
  }
}

function scoreOf(citations: CitationScore | null): string {
  const { total = 0, supported = 0 } = citations ?? {};
  const judges = judgesText(citations ?? {});
  return `The report is complete: ${supported} of ${total} citations are borne out by their sources${judges && ` (${judges})`}.`;
}
