import type { Principal } from '@trunkline/identity';
import { ConcurrencyLimiter } from '@trunkline/std';
import type { Reader } from '../reading/reader.ts';
import type { SearchAggregator } from '../sources/search-aggregator.ts';
import type { DocumentStore } from '../store/documents.ts';
import type { FindingStore } from '../store/findings.ts';
import type { JobStore, Spending } from '../store/jobs.ts';
import type { Job } from './job.ts';
import type { ModelRequest, ResearchModel } from './model.ts';

export interface ResearchSettings {
  parallelDimensions: number;
  sourcesPerDimension: number;
  /** Let the model judge citations that comparing words cannot settle. */
  modelChecks: boolean;
  /** How long that may take for one text. */
  checksTimeoutMs: number;
}

export interface ResearchLogger {
  info(fields: object, message: string): void;
  warn(fields: object, message: string): void;
  error(fields: object, message: string): void;
}

/** What every job needs. */
export interface ResearchDeps {
  jobs: JobStore;
  findings: FindingStore;
  documents: DocumentStore;
  aggregator: SearchAggregator;
  reader: Reader;
  model: ResearchModel;
  settings: ResearchSettings;
  /** Whoever asked, with their rights of today; throws where their account is disabled or gone. */
  current(principal: Principal): Principal;
}

/** What one job needs while it runs. */
export interface RunContext extends ResearchDeps {
  logger: ResearchLogger;
  id: string;
  query: string;
  options: Job['options'];
  /** Whose files are searched, and who owns the pages that are read. */
  owner: string;
  /** Aborted when the service stops: the job stays as it is and goes on after the next start. */
  stopSignal: AbortSignal;
  /** Aborted when the service stops or the user cancels: for work that is no dimension. */
  signal: AbortSignal;
  isCancelled(): boolean;
  budget: BudgetMeter;
  /** Signal and accounting of model calls for this job. */
  ask: Pick<ModelRequest, 'signal' | 'onSpent' | 'principal'>;
}

/** Research may use up this share of the tokens; the rest is for the report. */
const RESEARCH_SHARE = 0.7;

/** Tracks time and tokens of a job across restarts. Uses a monotonic clock, so that setting the clock takes no time from a job. */
export class BudgetMeter {
  readonly #job: Job;
  readonly #jobs: JobStore;
  readonly #startedAt = performance.now();
  readonly #limiter: ConcurrencyLimiter;
  #recordedAt = performance.now();
  #tokens: number;

  constructor(job: Job, jobs: JobStore) {
    this.#job = job;
    this.#jobs = jobs;
    this.#tokens = job.tokens;
    this.#limiter = new ConcurrencyLimiter({
      limit: job.options.budget.tokens === undefined ? Number.POSITIVE_INFINITY : 1,
    });
  }

  spend(spending: Spending): void {
    this.#tokens += spending.tokens;
    this.#jobs.spend(this.#job.id, spending);
    this.recordTime();
  }

  /** Stores the time since the last record. */
  recordTime(): void {
    this.#jobs.addTime(this.#job.id, this.unrecordedMs);
    this.#recordedAt = performance.now();
  }

  get unrecordedMs(): number {
    return performance.now() - this.#recordedAt;
  }

  /** What is used up for a stage of the job, or nothing. */
  spent(stage: 'research' | 'report'): 'seconds' | 'tokens' | undefined {
    const { seconds, tokens } = this.#job.options.budget;
    if (seconds !== undefined && this.#remainingMs(seconds) <= 0) return 'seconds';
    const share = stage === 'research' ? RESEARCH_SHARE : 1;
    return tokens !== undefined && this.#tokens >= tokens * share ? 'tokens' : undefined;
  }

  /** Whether so many tokens more stay within the limit. */
  hasRoomFor(tokens: number): boolean {
    const { tokens: most } = this.#job.options.budget;
    return this.spent('report') === undefined && (most === undefined || this.#tokens + tokens <= most);
  }

  /** Aborted when the time is up; never without a limit. */
  timeSignal(): AbortSignal {
    const { seconds } = this.#job.options.budget;
    if (seconds === undefined) return new AbortController().signal;
    return AbortSignal.timeout(Math.ceil(Math.max(1, Math.min(this.#remainingMs(seconds), 2 ** 31 - 1))));
  }

  /**
   * What a call of the model gives; nothing when the limits are used up, before or meanwhile. Under a limit of tokens
   * calls go one after the other, as only then each knows what is left.
   */
  within<Value>(
    stage: 'research' | 'report',
    caller: AbortSignal,
    call: (signal: AbortSignal) => Promise<Value>,
  ): Promise<Value | undefined> {
    const work = async () => {
      if (this.spent(stage) !== undefined) return undefined;
      const limit = this.timeSignal();
      try {
        return await call(AbortSignal.any([caller, limit]));
      } catch (error) {
        caller.throwIfAborted();
        if (limit.aborted) return undefined;
        throw error;
      }
    };
    return this.#limiter.run(work, { signal: caller });
  }

  #remainingMs(seconds: number): number {
    return seconds * 1000 - this.#job.spentMs - (performance.now() - this.#startedAt);
  }
}

/** A failure of the whole job, in words for the user. */
export class ResearchError extends Error {
  readonly code = 'research_failed';
}
