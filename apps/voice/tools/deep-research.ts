import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import {
  type A2aClient,
  answerFrom,
  type RemoteAgent,
  RemoteAgentError,
  type RemoteReply,
} from '@trunkline/a2a';
import type { Logger } from '@trunkline/config';
import { anonymous, decodePrincipal, encodePrincipal, type Principal } from '@trunkline/identity';
import { defineTool, type Tool } from '@trunkline/llm';
import { errorMessage } from '@trunkline/std';
import type { Database } from '@trunkline/storage';
import { questionKey } from '@trunkline/tools';
import { z } from 'zod';
import type { DeliveryPort } from '../delivery/delivery.ts';

const input = z.object({ query: z.string().min(1).describe('What to find out, as a full question.') });

/** Submits a question to the research service; the report is delivered when it is ready. */
export function createDeepResearch(jobs: ResearchJobs, userId: string): Tool {
  return defineTool({
    name: 'deep_research',
    effects: ['spends'],
    subject: () => ({ recipient: 'research', internal: true }),
    description:
      'Starts thorough research that takes minutes. It returns at once; the user is told the answer when it is ready. Use it for questions that need several sources.',
    input,
    async execute({ query }, { principal }) {
      try {
        await jobs.start(userId, query, principal);
        return 'The research has begun. Tell the user that you will come back with the answer, and go on with the conversation.';
      } catch (error) {
        return `Error: ${errorMessage(error)}`;
      }
    },
  });
}

export interface ResearchJobsOptions {
  database: Database;
  client: A2aClient;
  /** The research service; undefined while none is known. */
  service: () => RemoteAgent | undefined;
  delivery: DeliveryPort;
  logger: Logger;
}

interface ResearchJob {
  id: string;
  userId: string;
  principal: Principal;
  query: string;
  /** How often it was submitted. */
  attempts: number;
  /** Undefined between a restart of the research service and the next submission. */
  taskId: string | undefined;
}

const maxConcurrent = 4;
const maxAttempts = 2;
const callTimeoutMs = 10_000;
const firstPollMs = 250;
const longestPollMs = 4000;
/** Time without the research service after which a job is given up. */
const longestAbsenceMs = 10 * 60_000;
const longestJobMs = 2 * 60 * 60_000;
const sender = 'Your research';
/** Status text of a task that a restart of the research service ended. */
const interrupted = 'interrupted by server restart';

/** Jobs at the research service. They survive restarts, and are polled, so that this service needs no address. */
export class ResearchJobs {
  readonly #options: ResearchJobsOptions;
  readonly #store: ResearchJobStore;
  readonly #stopping = new AbortController();
  readonly #running = new Map<string, ResearchJob>();
  readonly #following = new Set<Promise<void>>();

  constructor(options: ResearchJobsOptions) {
    this.#options = options;
    this.#store = new ResearchJobStore(options.database);
  }

  /** Submits a question unless the user's same question is running. Throws an error that can be spoken. */
  async start(userId: string, query: string, principal: Principal = anonymous): Promise<void> {
    if (this.#isRunning(userId, query)) return;
    if (this.#running.size >= maxConcurrent)
      throw new Error('too much research is under way already; try again when some of it is done.');
    const job = { id: randomUUID(), userId, principal, query, attempts: 0, taskId: undefined };
    this.#running.set(job.id, job);
    try {
      await this.#submit(job);
    } catch (error) {
      this.#running.delete(job.id);
      this.#options.logger.warn({ err: error }, 'failed to start research');
      throw error;
    }
    this.#follow(job);
  }

  resume(): void {
    for (const job of this.#store.all()) {
      this.#running.set(job.id, job);
      this.#follow(job);
    }
  }

  /** Stops polling; the jobs continue at the research service. */
  async stop(): Promise<void> {
    this.#stopping.abort();
    await Promise.all(this.#following);
  }

  #isRunning(userId: string, query: string): boolean {
    const key = questionKey(query);
    return [...this.#running.values()].some((job) => job.userId === userId && questionKey(job.query) === key);
  }

  async #submit(job: ResearchJob): Promise<void> {
    const { client } = this.#options;
    const accepted = new AbortController();
    const signal = AbortSignal.any([accepted.signal, this.#stopping.signal]);
    const service = this.#service();
    const { query: text, principal } = job;
    try {
      for await (const event of client.stream(
        service,
        { text },
        { signal, timeoutMs: callTimeoutMs, principal },
      )) {
        if (event.type === 'task-end')
          throw new Error(event.reply.text || 'the research service gave no task');
        if (event.type !== 'task-start') continue;
        job.taskId = event.taskId;
        job.attempts += 1;
        this.#store.save(job);
        return;
      }
    } catch (error) {
      throw explain(error, service);
    } finally {
      // The task continues without its stream.
      accepted.abort();
    }
  }

  #service(): RemoteAgent {
    const service = this.#options.service();
    if (service === undefined) throw new ResearchUnavailableError();
    return service;
  }

  #follow(job: ResearchJob): void {
    const following = this.#deliverResult(job).finally(() => {
      this.#running.delete(job.id);
      this.#following.delete(following);
    });
    this.#following.add(following);
  }

  async #deliverResult(job: ResearchJob): Promise<void> {
    const { delivery, logger } = this.#options;
    const text = await this.#result(job);
    if (this.#stopping.signal.aborted) return;
    try {
      const origins = [{ kind: 'deep_research', source: '' }];
      delivery.deliver(job.userId, { from: sender, text, policy: 'next_silence', origins });
      this.#store.remove(job.id);
    } catch (error) {
      // The job stays in the store; its result is fetched again after the next start.
      logger.error({ err: error }, 'failed to store research result');
    }
  }

  async #result(job: ResearchJob): Promise<string> {
    try {
      return await this.#poll(job);
    } catch (error) {
      if (!this.#stopping.signal.aborted) this.#options.logger.warn({ err: error }, 'research failed');
      return `I could not finish "${job.query}": ${errorMessage(error)}`;
    }
  }

  /** Polls until the task ends, less and less often. */
  async #poll(job: ResearchJob): Promise<string> {
    const { signal } = this.#stopping;
    const startedAt = Date.now();
    let answeredAt = startedAt;
    for (let pauseMs = firstPollMs; ; pauseMs = Math.min(pauseMs * 2, longestPollMs)) {
      if (job.taskId === undefined && job.attempts >= maxAttempts)
        return `I had to give up on "${job.query}": I was interrupted twice.`;
      try {
        const text = await this.#look(job);
        if (text !== undefined) return text;
        answeredAt = Date.now();
      } catch (error) {
        if (signal.aborted || !isAway(error) || Date.now() - answeredAt > longestAbsenceMs) throw error;
      }
      if (Date.now() - startedAt > longestJobMs) throw new Error('it took longer than two hours.');
      await delay(pauseMs, undefined, { signal });
    }
  }

  /** The result, if the job is done. */
  async #look(job: ResearchJob): Promise<string | undefined> {
    if (job.taskId === undefined) {
      await this.#submit(job);
      return undefined;
    }
    const service = this.#service();
    const { taskId, principal } = job;
    const options = { signal: this.#stopping.signal, timeoutMs: callTimeoutMs, principal };
    const reply = await this.#options.client.get(service, taskId, options);
    if (reply.state === 'submitted' || reply.state === 'working') return undefined;
    if (!isInterrupted(reply)) return answerFrom(service, reply);
    job.taskId = undefined;
    this.#store.save(job);
    return undefined;
  }
}

function isInterrupted({ state, statusText }: RemoteReply): boolean {
  return state === 'failed' && statusText === interrupted;
}

class ResearchUnavailableError extends Error {
  override readonly name = 'ResearchUnavailableError';

  constructor(
    problem = 'Deep research needs the research service, and none is known here.',
    cause?: unknown,
  ) {
    super(
      `${problem} Start it with "npm run research" and set RESEARCH_URL to its address, or run all services with "npm start".`,
      { cause },
    );
  }
}

function isAway(error: unknown): boolean {
  return (
    error instanceof ResearchUnavailableError ||
    (error instanceof RemoteAgentError && ['agent_unreachable', 'agent_timeout'].includes(error.code))
  );
}

function explain(error: unknown, { url }: RemoteAgent): unknown {
  if (!(error instanceof RemoteAgentError)) return error;
  if (error.code === 'agent_unreachable')
    return new ResearchUnavailableError(`The research service at ${url} could not be reached.`, error);
  if (error.code === 'agent_unauthorized')
    return new Error(`${error.message} Set RESEARCH_AUTH_TOKEN to the token of the research service.`, {
      cause: error,
    });
  return error;
}

interface Row {
  id: string;
  user_id: string;
  query: string;
  attempts: number;
  principal: string | null;
  task_id: string | null;
}

class ResearchJobStore {
  readonly #database: Database;

  constructor(database: Database) {
    this.#database = database;
  }

  save({ id, userId, query, attempts, principal, taskId }: ResearchJob): void {
    this.#database
      .prepare(
        `INSERT INTO research_jobs (id, user_id, query, attempts, principal, task_id) VALUES (?, ?, ?, ?, ?, ?)
         ON CONFLICT (id) DO UPDATE SET attempts = excluded.attempts, task_id = excluded.task_id`,
      )
      .run(id, userId, query, attempts, encodePrincipal(principal), taskId ?? null);
  }

  remove(id: string): void {
    this.#database.prepare('DELETE FROM research_jobs WHERE id = ?').run(id);
  }

  all(): ResearchJob[] {
    const rows = this.#database
      .prepare<Row>('SELECT id, user_id, query, attempts, principal, task_id FROM research_jobs')
      .all();
    return rows.map(({ user_id: userId, principal, task_id: taskId, ...row }) => ({
      ...row,
      userId,
      principal: decodePrincipal(principal ?? '') ?? anonymous,
      taskId: taskId ?? undefined,
    }));
  }
}
