import { randomUUID } from 'node:crypto';
import { ModelError } from '@trunkline/llm';
import type { Job, JobOptions, PlannedDimension } from './job.ts';
import { type RunEnd, runPipeline } from './pipeline.ts';
import { BudgetMeter, ResearchError, type ResearchParts, type RunContext } from './run-context.ts';

interface EngineLogger {
  info(fields: object, message: string): void;
  error(fields: object, message: string): void;
}

interface Run {
  cancel: AbortController;
  finished: Promise<void>;
}

export interface StartRequest {
  query: string;
  sessionId: string | undefined;
  options: JobOptions;
}

/** Jobs under way at once; beyond that a new one is refused. */
const MOST_JOBS = 200;

/** Runs research jobs in the background, and takes up after a start what the last stop left unfinished. */
export class ResearchEngine {
  readonly #parts: ResearchParts;
  readonly #logger: EngineLogger;
  readonly #stop = new AbortController();
  readonly #runs = new Map<string, Run>();

  constructor(parts: ResearchParts, logger: EngineLogger) {
    this.#parts = parts;
    this.#logger = logger;
  }

  get isFull(): boolean {
    return this.#runs.size >= MOST_JOBS;
  }

  start({ query, sessionId, options }: StartRequest): string {
    const id = randomUUID();
    this.#parts.jobs.create({ id, query, sessionId, options, model: this.#parts.model.describe() });
    this.#launch(id);
    return id;
  }

  /** Goes on with every job that is not closed. */
  resume(): void {
    for (const { id } of this.#parts.jobs.open()) {
      this.#logger.info({ researchId: id }, 'going on with a research job');
      this.#launch(id);
    }
  }

  /** The user's plan for a job that waits for one. */
  submitPlan(job: Job, dimensions: readonly PlannedDimension[]): void {
    const { jobs, findings } = this.#parts;
    const names = dimensions.map(({ name }) => name);
    jobs.commit(job.id, [{ type: 'scope_complete', data: { dimensions: names } }], () => {
      findings.clearDimensions(job.id);
      findings.addDimensions(job.id, dimensions, 1);
      jobs.update(job.id, { phase: 'research', awaitingPlan: false });
    });
    this.#launch(job.id);
  }

  /** The dimensions under way finish, then the job stops; a finished job stays as it is. */
  cancel(job: Job): void {
    if (job.status !== 'running') return;
    this.#parts.jobs.commit(job.id, [], () => this.#parts.jobs.update(job.id, { status: 'cancelled' }));
    const run = this.#runs.get(job.id);
    if (run === undefined) this.#close(job.id);
    else run.cancel.abort();
  }

  /** Breaks all jobs off; they go on after the next start. */
  async stop(): Promise<void> {
    this.#stop.abort();
    await Promise.all([...this.#runs.values()].map(({ finished }) => finished));
  }

  #launch(id: string): void {
    if (this.#stop.signal.aborted || this.#runs.has(id)) return;
    const cancel = new AbortController();
    const finished = this.#run(id, cancel).finally(() => this.#runs.delete(id));
    this.#runs.set(id, { cancel, finished });
  }

  async #run(id: string, cancel: AbortController): Promise<void> {
    const job = this.#parts.jobs.get(id);
    if (job === undefined) return;
    try {
      const end = await runPipeline(this.#context(job, cancel), job);
      this.#conclude(id, end);
    } catch (error) {
      if (this.#stop.signal.aborted) return;
      if (this.#isCancelled(id)) this.#close(id);
      else this.#fail(id, error);
    }
  }

  #context(job: Job, cancel: AbortController): RunContext {
    const { id, query, options } = job;
    const stopSignal = this.#stop.signal;
    const signal = AbortSignal.any([stopSignal, cancel.signal]);
    const budget = new BudgetMeter(job, this.#parts.jobs);
    const ask = { signal: stopSignal, onTokens: (tokens: number) => budget.addTokens(tokens) };
    return {
      ...this.#parts,
      id,
      query,
      options,
      stopSignal,
      signal,
      budget,
      ask,
      isCancelled: () => this.#isCancelled(id),
    };
  }

  #conclude(id: string, end: RunEnd): void {
    if (end === 'cancelled') this.#close(id);
  }

  #isCancelled(id: string): boolean {
    return this.#parts.jobs.get(id)?.status === 'cancelled';
  }

  #close(id: string): void {
    const { jobs } = this.#parts;
    jobs.commit(id, [{ type: 'done', data: { researchId: id } }], () => jobs.update(id, { closed: true }));
  }

  #fail(id: string, error: unknown): void {
    const isKnown = error instanceof ResearchError || error instanceof ModelError;
    if (!isKnown) this.#logger.error({ err: error, researchId: id }, 'research failed');
    const message = isKnown ? error.message : 'Something failed inside the service; its log has the cause.';
    const { jobs } = this.#parts;
    const events = [
      { type: 'error', data: { message } },
      { type: 'done', data: { researchId: id } },
    ];
    jobs.commit(id, events, () => jobs.update(id, { status: 'error', error: message, closed: true }));
  }
}
