import { join } from 'node:path';
import { HttpError } from '@trunkline/http';
import { type AccountAccess, maySee, ownerKey, type Principal } from '@trunkline/identity';
import { type Clock, type Fire, type Job, ScheduleError, Scheduler, systemClock } from '@trunkline/schedule';
import { type Database, openDatabase } from '@trunkline/storage';
import { type Actor, operatorActor } from '../owners.ts';
import { StoreError } from '../stores/store-error.ts';
import { type NamedStores, otherNames, recordOwner, setAside, storePath } from './former-names.ts';
import type { Invoke } from './invoke.ts';
import {
  checkSchedule,
  type NewSchedule,
  type ScheduleBackend,
  type ScheduledJob,
  type Schedules,
} from './schedule-backend.ts';

const schema = `CREATE TABLE jobs (
  id TEXT PRIMARY KEY,
  prompt TEXT NOT NULL,
  schedule TEXT NOT NULL,
  timezone TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  last_fired INTEGER
) STRICT`;

const pausing = 'ALTER TABLE jobs ADD COLUMN paused INTEGER NOT NULL DEFAULT 0';

const owners = 'ALTER TABLE jobs ADD COLUMN principal TEXT';

const sessions = 'ALTER TABLE jobs ADD COLUMN session_id TEXT';

export interface LocalBackendOptions extends NamedStores {
  /** Sends a job that fires to the agent. */
  invoke: Invoke;
  /** Zone of cron expressions and of times without an offset; UTC when left out. */
  timezone?: string;
  /** Who asked for a job, with their rights of today; throws if their account is disabled or was removed. */
  current?: AccountAccess['current'];
  clock?: Clock;
  logger: Log;
}

interface Log {
  info(fields: object, message: string): void;
  warn(fields: object, message: string): void;
}

interface PromptJob extends Job {
  prompt: string;
  principal: Principal;
  sessionId: string | undefined;
}

/** Of all; everybody but the operator may have a tenth of them. */
const maxJobs = 10_000;
const recordRetryMs = 1000;

/** Keeps schedules in this service and fires them from here. */
export class LocalBackend implements ScheduleBackend {
  readonly #options: LocalBackendOptions;
  readonly #clock: Clock;
  readonly #timezone: string;
  readonly #store: JobStore;
  readonly #scheduler: Scheduler<PromptJob>;
  /** The newest write of each job that failed so far. */
  readonly #unrecorded = new Map<string, () => void>();
  #recordTimer: { cancel(): void } | undefined;
  strayNames: readonly string[] = [];

  constructor(options: LocalBackendOptions) {
    this.#options = options;
    this.#clock = options.clock ?? systemClock;
    this.#timezone = options.timezone ?? 'UTC';
    this.#store = new JobStore(storePath(options));
    this.#scheduler = this.#createScheduler();
  }

  /** Begins to fire; what was missed within a day comes first. Takes over the schedules of a former name. */
  start(): void {
    recordOwner(this.#options);
    this.#takeOver();
    for (const job of this.#store.all()) this.#scheduler.replace(toJob(job));
    this.#scheduler.start();
  }

  #takeOver(): void {
    const { directory, logger } = this.#options;
    const { former, unowned } = otherNames(this.#options);
    this.strayNames = unowned.filter((name) => jobsIn(join(directory, name, 'jobs.db')).length > 0);
    if (this.strayNames.length > 0)
      logger.warn({ names: this.strayNames, directory }, 'schedules of other agent names do not run');
    for (const name of former) {
      try {
        const jobs = jobsIn(join(directory, name, 'jobs.db'));
        const known = new Map(this.#store.all().map((job) => [job.id, job]));
        for (const job of jobs) {
          const other = `${name}-${job.id}`;
          // The process may have ended between taking it over and setting its store aside.
          if ([job.id, other].some((id) => isSame(known.get(id), job))) continue;
          this.#store.put({ ...job, id: known.has(job.id) ? other : job.id });
        }
        setAside(this.#options, name);
        logger.info({ formerName: name, jobs: jobs.length }, 'took over schedules of a former agent name');
      } catch (error) {
        logger.warn({ err: error, formerName: name }, 'failed to take over schedules of a former agent name');
      }
    }
  }

  async stop(): Promise<void> {
    await this.#scheduler.stop(0);
    this.#recordTimer?.cancel();
    this.#store.close();
  }

  for(actor: Actor): Required<Schedules> {
    const see = (id: string) => {
      const known = this.#scheduler.get(id);
      if (known !== undefined && !sees(actor, known.job))
        throw new ScheduleError('job_unknown', `There is no job ${id}.`);
      return id;
    };
    return {
      add: (given) => this.#add(given, actor),
      list: async () => this.#list(actor),
      cancel: async (id) => {
        const known = this.#scheduler.get(id);
        return known !== undefined && sees(actor, known.job) && this.#cancel(id);
      },
      control: {
        pause: (id) => this.#pause(see(id)),
        resume: (id) => this.#resume(see(id)),
        runNow: (id) => void this.#scheduler.runNow(see(id)),
      },
    };
  }

  readonly #all = this.for(operatorActor);
  readonly add = this.#all.add;
  readonly list = this.#all.list;
  readonly cancel = this.#all.cancel;
  readonly control = this.#all.control;

  async #add(given: NewSchedule, actor: Actor): Promise<{ id: string; next: string }> {
    const { agentName } = this.#options;
    const now = this.#clock.now();
    const { id, prompt, schedule, timezone, next } = checkSchedule(given, {
      agentName,
      timezone: this.#timezone,
      now,
    });
    const known = this.#scheduler.get(id);
    if (known !== undefined && !sees(actor, known.job))
      throw new StoreError('conflict', `the job id ${id} is taken; choose another.`);
    if (known === undefined) this.#checkRoom(actor.owner);
    actor.keep?.(Buffer.byteLength(prompt));
    const job = {
      id,
      prompt,
      schedule,
      timezone,
      created_at: now,
      last_fired: null,
      paused: 0,
      principal: given.principal === undefined ? null : JSON.stringify(given.principal),
      session_id: given.sessionId ?? null,
    };
    this.#writeRecords();
    this.#store.put(job);
    this.#scheduler.replace(toJob(job));
    return { id, next: new Date(next).toISOString() };
  }

  /** Others cannot take the operator's room, and one person cannot take everybody's. */
  #checkRoom(owner: string): void {
    const jobs = this.#scheduler.list();
    const own = jobs.filter(({ job }) => ownerKey(job.principal) === owner).length;
    const isOperator = /^operator(?::|$)/.test(owner);
    if (own >= (isOperator ? maxJobs : maxJobs / 10))
      throw new StoreError('invalid', `you have ${own} jobs already; cancel some first.`);
    if (!isOperator && jobs.length >= maxJobs)
      throw new StoreError(
        'invalid',
        `there are ${jobs.length} jobs already; ask the operator to cancel some.`,
      );
  }

  #list(actor: Actor): ScheduledJob[] {
    const seen = this.#scheduler.list().filter(({ job }) => sees(actor, job));
    return seen.map(({ job, next, running }) => ({
      id: job.id,
      prompt: job.prompt,
      schedule: job.schedule,
      timezone: job.timezone ?? this.#timezone,
      next: next === undefined ? undefined : new Date(next).toISOString(),
      upcoming: this.#scheduler.preview(job.id).map((time) => new Date(time).toISOString()),
      paused: job.paused ?? false,
      running: running > 0,
      session_id: job.sessionId,
      ...(job.principal.origins && { origins: job.principal.origins }),
    }));
  }

  #pause(id: string): void {
    this.#scheduler.pause(id);
    this.#store.pause(id, true);
  }

  #resume(id: string): void {
    const { type } = this.#scheduler.resume(id);
    this.#store.pause(id, false);
    // A restart must not make up for what the pause left out.
    if (type === 'cron') this.#store.fired(id, this.#clock.now());
  }

  #cancel(id: string): boolean {
    this.#store.remove(id);
    return this.#scheduler.remove(id);
  }

  #createScheduler(): Scheduler<PromptJob> {
    const { logger } = this.#options;
    return new Scheduler<PromptJob>({
      clock: this.#clock,
      timezone: this.#timezone,
      fire: (job, fire) => this.#fire(job, fire),
      afterFire: (job, fire, failure) => this.#afterFire(job, fire, failure !== undefined),
      onSkipped: (job, fire) => this.#record(job.id, () => this.#store.fired(job.id, fire.scheduledAt)),
      onMissed: (job, missed) => {
        this.#record(job.id, () => this.#store.fired(job.id, missed.scheduledAt));
        logger.warn({ job: job.id, ...missed }, 'skipped job that was due more than a day ago');
      },
      onFinished: (job) => this.#record(job.id, () => this.#store.remove(job.id)),
      onError: (error, job) => logger.warn({ err: error, job: job.id }, 'scheduled job failed'),
    });
  }

  /** Who may no longer come in gets no run, and none later for the time that passed. */
  async #fire(job: PromptJob, { fireId, signal }: Fire): Promise<void> {
    const { id: jobId, prompt, principal: asker, timezone, sessionId } = job;
    const { invoke, logger, current = (known) => known } = this.#options;
    let principal: Principal;
    try {
      principal = current(asker);
    } catch (error) {
      if (!(error instanceof HttpError)) throw error;
      logger.warn({ job: jobId, reason: error.message }, 'skipped job of an account that has no access');
      return;
    }
    await invoke({ jobId, prompt, principal, fireId, timezone, sessionId }, signal);
  }

  /** A one-shot that failed stays unmarked, so that it is tried again, also after a restart. */
  #afterFire(job: PromptJob, fire: Fire, failed: boolean): void {
    const isOnce = this.#scheduler.get(job.id)?.type === 'once';
    if (failed && (isOnce || fire.signal.aborted)) return;
    this.#record(job.id, () => this.#store.fired(job.id, fire.scheduledAt));
  }

  /** Retries a write that fails, as on a full disk, until it succeeds: else a restart would run the job again. */
  #record(id: string, write: () => void): void {
    this.#unrecorded.set(id, write);
    this.#tryRecording();
  }

  #tryRecording(): void {
    try {
      this.#writeRecords();
    } catch (error) {
      this.#options.logger.warn({ err: error }, 'failed to record scheduled run; retrying');
      this.#recordTimer?.cancel();
      this.#recordTimer = this.#clock.setTimer(recordRetryMs, () => this.#tryRecording());
    }
  }

  #writeRecords(): void {
    for (const [id, write] of this.#unrecorded) {
      write();
      this.#unrecorded.delete(id);
    }
  }
}

/** Whose jobs are that name nobody. */
export const operator: Principal = { kind: 'operator', id: 'operator', via: [] };

function sees({ viewer }: Actor, { principal }: PromptJob): boolean {
  return maySee(viewer, ownerKey(principal));
}

function toJob(stored: StoredJob): PromptJob {
  const { id, prompt, schedule, timezone, created_at, last_fired, paused, principal, session_id } = stored;
  const fired = last_fired === null ? {} : { lastFired: last_fired };
  return {
    id,
    prompt,
    schedule,
    timezone,
    createdAt: created_at,
    overlap: 'skip',
    paused: paused === 1,
    principal: principal === null ? operator : (JSON.parse(principal) as Principal),
    sessionId: session_id ?? undefined,
    ...fired,
  };
}

interface StoredJob {
  id: string;
  prompt: string;
  schedule: string;
  timezone: string;
  created_at: number;
  last_fired: number | null;
  /** 1 while it is. */
  paused: number;
  /** For whom it runs, as JSON; null for the operator. */
  principal: string | null;
  /** Null where it was asked for in no conversation. */
  session_id: string | null;
}

function isSame(known: StoredJob | undefined, job: StoredJob): boolean {
  return known?.created_at === job.created_at && known.prompt === job.prompt;
}

function jobsIn(path: string): StoredJob[] {
  const store = new JobStore(path);
  try {
    return store.all();
  } finally {
    store.close();
  }
}

/** The jobs of one agent, in a database of its own. */
class JobStore {
  readonly #database: Database;

  constructor(path: string) {
    const migrations = [schema, pausing, owners, sessions];
    this.#database = openDatabase(path, { migrations, durability: 'full' });
  }

  all(): StoredJob[] {
    return this.#database.prepare<StoredJob>('SELECT * FROM jobs ORDER BY created_at, id').all();
  }

  put(job: StoredJob): void {
    const { id, prompt, schedule, timezone, created_at, last_fired, paused, principal, session_id } = job;
    this.#database
      .prepare(
        `INSERT OR REPLACE INTO jobs (id, prompt, schedule, timezone, created_at, last_fired, paused, principal, session_id)
         VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)`,
      )
      .run(id, prompt, schedule, timezone, created_at, last_fired, paused, principal, session_id);
  }

  fired(id: string, scheduledAt: number): void {
    this.#database.prepare('UPDATE jobs SET last_fired = ? WHERE id = ?').run(scheduledAt, id);
  }

  pause(id: string, paused: boolean): void {
    this.#database.prepare('UPDATE jobs SET paused = ? WHERE id = ?').run(paused ? 1 : 0, id);
  }

  remove(id: string): void {
    this.#database.prepare('DELETE FROM jobs WHERE id = ?').run(id);
  }

  close(): void {
    this.#database.close();
  }
}
