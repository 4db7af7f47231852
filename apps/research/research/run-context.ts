import type { Principal } from '@trunkline/identity';
import { ModelError } from '@trunkline/llm';
import { ConcurrencyLimiter } from '@trunkline/std';
import type { ClaimModel } from '../citations/claim-model/claim-model.ts';
import type { Reader } from '../reading/reader.ts';
import type { SearchAggregator } from '../sources/search-aggregator.ts';
import type { DocumentStore } from '../store/documents.ts';
import type { FindingStore } from '../store/findings.ts';
import type { JobStore, Spending } from '../store/jobs.ts';
import type { Job, Passage } from './job.ts';
import { type ModelRequest, type ResearchModel, TokensSpentError } from './model.ts';

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
  /** The built-in judge of citations. */
  claimModel: ClaimModel;
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
  /** Passages found so far, by text and dimension: a stored text never changes. */
  passages: Map<string, Passage[]>;
  /** Signal and accounting of model calls for this job. */
  ask: Pick<ModelRequest, 'signal' | 'onSpent' | 'onNote' | 'principal' | 'tokensLeft'>;
}

const TOO_LONG = 'the model refused it as too long, even after it was halved twice';

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
    this.#jobs.spend(this.#job.id, spending, this.unrecordedMs);
    this.#recordedAt = performance.now();
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
    return tokens !== undefined && this.tokensLeft(stage) <= 0 ? 'tokens' : undefined;
  }

  /** Whether so many tokens more stay within the limit. */
  hasRoomFor(tokens: number): boolean {
    return this.spent('report') === undefined && tokens <= this.tokensLeft('report');
  }

  /** What a stage may still use up. */
  tokensLeft(stage: 'research' | 'report'): number {
    const { tokens = Number.POSITIVE_INFINITY } = this.#job.options.budget;
    return tokens * (stage === 'research' ? RESEARCH_SHARE : 1) - this.#tokens;
  }

  /** The signal, which the end of the job's time aborts too; without a limit nothing is put together, which each page would pay for. */
  inTime(signal: AbortSignal): AbortSignal {
    const limit = this.#timeSignal();
    return limit === undefined ? signal : AbortSignal.any([signal, limit]);
  }

  /** Aborted when the time is up; undefined without a limit. */
  #timeSignal(): AbortSignal | undefined {
    const { seconds } = this.#job.options.budget;
    if (seconds === undefined) return undefined;
    return AbortSignal.timeout(Math.ceil(Math.max(1, Math.min(this.#remainingMs(seconds), 2 ** 31 - 1))));
  }

  /**
   * What a call of the model gives; nothing when the limits are used up, before or meanwhile, or when the model takes the
   * prompt in no length, and then `onRefused` gets the reason. Under a limit of tokens calls go one after the other, as
   * only then each knows what is left.
   */
  within<Value>(
    stage: 'research' | 'report',
    caller: AbortSignal,
    call: (signal: AbortSignal, tokensLeft: () => number) => Promise<Value>,
    onRefused: (why: string, cause: 'budget' | 'context') => void = () => undefined,
  ): Promise<Value | undefined> {
    const work = async () => {
      const limit = this.#timeSignal();
      try {
        const spent = this.spent(stage);
        const signal = limit === undefined ? caller : AbortSignal.any([caller, limit]);
        if (spent === undefined) return await call(signal, () => this.tokensLeft(stage));
        onRefused(this.#spentWords(spent), 'budget');
      } catch (error) {
        caller.throwIfAborted();
        if (limit?.aborted) onRefused(this.#spentWords('seconds'), 'budget');
        else if (error instanceof TokensSpentError) onRefused(this.#spentWords('tokens'), 'budget');
        else if (error instanceof ModelError && error.code === 'context-too-long')
          onRefused(TOO_LONG, 'context');
        else throw error;
      }
      return undefined;
    };
    return this.#limiter.run(work, { signal: caller });
  }

  #spentWords(what: 'seconds' | 'tokens'): string {
    return `the budget of ${this.#job.options.budget[what]} ${what} was used up`;
  }

  #remainingMs(seconds: number): number {
    return seconds * 1000 - this.#job.spentMs - (performance.now() - this.#startedAt);
  }
}

/** A failure of the whole job, in words for the user. */
export class ResearchError extends Error {
  readonly code = 'research_failed';
}
