import { randomUUID } from 'node:crypto';
import { accessCheckMs, lostAccess } from '@trunkline/a2a';
import { HttpError, type SseEvent, type SseSource } from '@trunkline/http';
import { type Principal, quotaKey } from '@trunkline/identity';
import { ModelError } from '@trunkline/llm';
import type { Budget } from '../api-types.ts';
import { researchErrors } from '../errors.ts';
import type { JobStore, NumberedEvent, Spending } from '../store/jobs.ts';
import type { Job, JobOptions, PlannedDimension } from './job.ts';
import { mergeRepeated, planData, type RunEnd, runPipeline } from './pipeline.ts';
import {
  BudgetMeter,
  type ResearchDeps,
  ResearchError,
  type ResearchLogger,
  type RunContext,
} from './run-context.ts';

interface Run {
  principal: Principal;
  cancel: AbortController;
  /** Breaks the job off at once; the reason is what it fails with. */
  cut: AbortController;
  budget: BudgetMeter;
  finished: Promise<void>;
}

export interface StartRequest {
  query: string;
  sessionId: string | undefined;
  options: JobOptions;
  principal: Principal;
  /** A new one when left out. */
  id?: string;
}

/** Jobs under way at once; beyond that a new one is refused. */
const MOST_JOBS = 200;
/** Of one person or program, so that none of them keeps the others out. */
const MOST_OF_ONE = 20;

/** How long a job rests whose state could not be stored. */
const STORE_AGAIN_MS = 2000;

/** Runs research jobs in the background, and takes up after a start what the last stop left unfinished. */
export class ResearchEngine {
  readonly #deps: ResearchDeps;
  readonly #logger: ResearchLogger;
  readonly #stop = new AbortController();
  readonly #runs = new Map<string, Run>();
  readonly #accessTimer: NodeJS.Timeout;

  constructor(deps: ResearchDeps, logger: ResearchLogger) {
    this.#deps = deps;
    this.#logger = logger;
    this.#accessTimer = setInterval(() => this.#checkAccess(), accessCheckMs).unref();
  }

  /** Throws where one more job is too many, of all or of whoever asks. */
  requireRoom(principal: Principal): void {
    if (this.#runs.size >= MOST_JOBS) throw researchErrors.too_many_jobs();
    // Where nobody has a key, all callers are one.
    if (['operator', 'service', 'anonymous'].includes(principal.kind)) return;
    const owner = quotaKey(principal);
    const own = [...this.#runs.values()].filter((run) => quotaKey(run.principal) === owner);
    if (own.length >= MOST_OF_ONE) throw researchErrors.too_many_own_jobs({ most: MOST_OF_ONE });
  }

  /** The service is stopping: jobs that are broken off now go on after the next start. */
  get isStopping(): boolean {
    return this.#stop.signal.aborted;
  }

  start({ id = randomUUID(), ...request }: StartRequest): string {
    this.#deps.jobs.create({ ...request, id, model: this.#deps.model.describe() });
    this.#launch(id);
    return id;
  }

  /** Goes on with every job that is not closed. */
  resume(): void {
    for (const { id } of this.#deps.jobs.open()) {
      this.#logger.info({ researchId: id }, 'research job resumed');
      this.#launch(id);
    }
  }

  /** How long a job has been worked on, up to now. */
  elapsedMs({ id, spentMs }: Job): number {
    return spentMs + Math.round(this.#runs.get(id)?.budget.unrecordedMs ?? 0);
  }

  /** Takes a job that failed or was cancelled up again where it stopped; what found nothing is researched again. */
  takeUp({ id, options, phase, iteration }: Job, budget: Budget = options.budget): void {
    const { jobs, findings } = this.#deps;
    jobs.commit(id, [{ type: 'resumed', data: { phase } }], () => {
      if (phase === 'research') findings.reopenDimensions(id, iteration);
      if (phase === 'synthesis' && this.#draftsFailed(id)) findings.clearDrafts(id);
      jobs.update(id, { status: 'running', closed: false, error: null, options: { ...options, budget } });
    });
    this.#launch(id);
  }

  /** The user's plan for a job that waits for one. */
  submitPlan(job: Job, dimensions: readonly PlannedDimension[]): void {
    const { jobs, findings } = this.#deps;
    const planned = mergeRepeated(dimensions, job.query);
    jobs.commit(job.id, [{ type: 'scope_complete', data: planData(planned) }], () => {
      findings.clearDimensions(job.id);
      findings.addDimensions(job.id, planned, 1);
      jobs.update(job.id, { phase: 'research', awaitingPlan: false });
    });
    this.#launch(job.id);
  }

  /** The dimensions under way finish, then the job stops; a finished job stays as it is. */
  cancel(job: Job): void {
    if (job.status !== 'running') return;
    this.#deps.jobs.commit(job.id, [], () => this.#deps.jobs.update(job.id, { status: 'cancelled' }));
    const run = this.#runs.get(job.id);
    if (run === undefined) this.#close(job.id);
    else run.cancel.abort();
  }

  /** Breaks all jobs off; they go on after the next start. */
  async stop(): Promise<void> {
    this.#stop.abort();
    clearInterval(this.#accessTimer);
    await Promise.all([...this.#runs.values()].map(({ finished }) => finished));
  }

  #launch(id: string): void {
    if (this.#stop.signal.aborted || this.#runs.has(id)) return;
    const job = this.#deps.jobs.get(id);
    if (job === undefined) return;
    if (job.phase === 'scope' || job.phase === 'research') this.#deps.reader.prepare();
    const cancel = new AbortController();
    const cut = new AbortController();
    const budget = new BudgetMeter(job, this.#deps.jobs);
    const finished = this.#run(job, this.#context(job, { cancel, cut, budget }), cut.signal)
      .finally(() => budget.recordTime())
      .catch((error: unknown) => this.#retryLater(id, error))
      .finally(() => this.#runs.delete(id));
    this.#runs.set(id, { principal: job.principal, cancel, cut, budget, finished });
    this.#checkAccess(id);
  }

  /** Breaks off what somebody asked for whose account is disabled, removed or has a lower role now. */
  #checkAccess(only?: string): void {
    for (const [id, { principal, cut }] of this.#runs) {
      if (only !== undefined && id !== only) continue;
      const reason = lostAccess(principal, this.#deps.current, this.#logger);
      if (reason !== undefined) cut.abort(new ResearchError(reason));
    }
  }

  /** What cannot be stored, as on a full disk, neither ends the process nor the job: it goes on as after a restart. */
  #retryLater(id: string, error: unknown): void {
    this.#logger.error({ err: error, researchId: id }, 'failed to store research job; retrying');
    setTimeout(() => {
      if (!this.isStopping && this.#deps.jobs.open().some((job) => job.id === id)) this.#launch(id);
    }, STORE_AGAIN_MS).unref();
  }

  async #run(job: Job, context: RunContext, cut: AbortSignal): Promise<void> {
    const { id } = job;
    try {
      const end = await runPipeline(context, job);
      this.#conclude(id, end);
    } catch (error) {
      if (this.#stop.signal.aborted) return;
      if (this.#isCancelled(id)) this.#close(id);
      else this.#fail(id, cut.aborted ? cut.reason : error);
    }
  }

  #context(job: Job, { cancel, cut, budget }: Pick<Run, 'cancel' | 'cut' | 'budget'>): RunContext {
    const { id, query, options, owner, principal } = job;
    const stopSignal = AbortSignal.any([this.#stop.signal, cut.signal]);
    const signal = AbortSignal.any([stopSignal, cancel.signal]);
    const notes = new Set<string>();
    const ask = {
      signal: stopSignal,
      principal,
      // Calls run side by side, and each of them would say the same.
      onNote: (message: string) => {
        if (notes.has(message)) return;
        notes.add(message);
        try {
          this.#deps.jobs.commit(id, [{ type: 'note', data: { message } }]);
        } catch (error) {
          // It is called between two tries of the model, which go on without it.
          this.#logger.warn({ err: error, researchId: id }, 'failed to store note');
        }
      },
      onSpent: (spending: Spending) => budget.spend(spending),
      tokensLeft: () => budget.tokensLeft('report'),
    };
    return {
      ...this.#deps,
      logger: this.#logger,
      id,
      query,
      options,
      owner,
      stopSignal,
      signal,
      budget,
      passages: new Map(),
      ask,
      isCancelled: () => this.#isCancelled(id),
    };
  }

  /** Every section was drafted and still there was nothing to send. */
  #draftsFailed(id: string): boolean {
    const { jobs, findings } = this.#deps;
    return (
      jobs.countEvents(id, 'synthesis_delta') === 0 &&
      findings.drafts(id).size >= findings.dimensions(id).length
    );
  }

  #conclude(id: string, end: RunEnd): void {
    if (end === 'cancelled') this.#close(id);
  }

  #isCancelled(id: string): boolean {
    return this.#deps.jobs.stateOf(id)?.status === 'cancelled';
  }

  #close(id: string): void {
    const { jobs } = this.#deps;
    jobs.commit(id, [{ type: 'done', data: { researchId: id } }], () => jobs.update(id, { closed: true }));
  }

  #fail(id: string, error: unknown): void {
    const isKnown =
      error instanceof ResearchError || error instanceof ModelError || error instanceof HttpError;
    if (!isKnown) this.#logger.error({ err: error, researchId: id }, 'research failed');
    const message = isKnown ? error.message : 'Something failed inside the service; its log has the cause.';
    const { jobs } = this.#deps;
    const events = [
      { type: 'error', data: { message } },
      { type: 'done', data: { researchId: id } },
    ];
    jobs.commit(id, events, () => jobs.update(id, { status: 'error', error: message, closed: true }));
  }
}

/** The events of a job behind the one the client saw last, as frames of a stream. */
export async function* followEvents(
  jobs: JobStore,
  id: string,
  { lastEventId, signal }: SseSource,
): AsyncGenerator<SseEvent> {
  for await (const { sequence, event } of followJob(jobs, id, seenBefore(lastEventId), signal))
    yield { id: String(sequence), data: JSON.stringify(event) };
}

/** Events that wait for a slow reader; beyond that it reads them from the log. */
const MOST_WAITING = 500;

/** The events of a job as they come, until it is closed; a job that was taken up again goes on behind its earlier end. */
export async function* followJob(
  jobs: JobStore,
  id: string,
  seen: number,
  signal: AbortSignal,
): AsyncGenerator<NumberedEvent> {
  let after = seen;
  let isBehind = true;
  /** A job that is closed says `done` last; one that was closed before says nothing more. */
  let mayBeOver = true;
  let waiting: NumberedEvent[] = [];
  let news = Promise.withResolvers<void>();
  const wake = () => news.resolve();
  const unwatch = jobs.watch(id, (events) => {
    if (waiting.length + events.length > MOST_WAITING) [isBehind, waiting] = [true, []];
    else waiting.push(...events);
    wake();
  });
  signal.addEventListener('abort', wake, { once: true });
  try {
    while (!signal.aborted) {
      news = Promise.withResolvers<void>();
      const isFromLog = isBehind;
      const events = isFromLog ? jobs.events(id, after) : waiting.splice(0);
      if (isFromLog && events.length === 0) isBehind = false;
      for (const event of events) {
        mayBeOver ||= event.event.type === 'done';
        // The log had it already.
        if (event.sequence <= after) continue;
        yield event;
        after = event.sequence;
      }
      if (isFromLog || events.length > 0) continue;
      if (mayBeOver && jobs.stateOf(id)?.closed !== false) return;
      mayBeOver = false;
      await news.promise;
    }
  } finally {
    signal.removeEventListener('abort', wake);
    unwatch();
  }
}

function seenBefore(lastEventId: string | undefined): number {
  return lastEventId !== undefined && /^\d{1,15}$/.test(lastEventId) ? Number(lastEventId) : 0;
}
