import { setTimeout as delay } from 'node:timers/promises';
import { type Bus, BusError } from '@trunkline/bus';
import type { Logger } from '@trunkline/config';
import type { AccountAccess } from '@trunkline/identity';
import { type Clock, type Fire, parseSchedule, Scheduler, type Timer } from '@trunkline/schedule';
import { errorMessage } from '@trunkline/std';
import type { FireRow, ScheduleView } from '../api-types.ts';
import type { Leader } from '../cluster/leader.ts';
import type { SharedLog } from '../cluster/workspace-replica.ts';
import { aboutSchedule } from '../core/messages.ts';
import { hourly } from '../core/timers.ts';
import { announce, reportError } from '../workspace/problems.ts';
import type { CronFolder } from './cron-folder.ts';
import type { FireCompletion, FireResults, Outcome } from './fire-results.ts';
import { createFires, type Fires } from './fires.ts';
import type { Ledger } from './ledger.ts';
import { type Entry, jobOf, ownerOf, type ScheduleJob, viewOf } from './record.ts';

const words = {
  schedule_unknown: (id: string) => `There is no schedule ${JSON.stringify(id)}.`,
  schedule_exists: (id: string) => `The schedule ${id} is there already; remove it first, or replace it.`,
  schedule_foreign: (id: string) =>
    `The schedule ${id} belongs to another key; its owner or the operator can change it.`,
  schedules_full: (what: string) =>
    `You have ${what}, and may have no more: remove some first, or ask the operator to add it.`,
  not_leading: (id: string) => `${id} was not run: another switchboard took the lead just now; try again.`,
  action_unknown: (action: string) =>
    `There is no action ${JSON.stringify(action)}: use add, remove, list, pause, resume, run-now or preview.`,
} as const;

const firstWaitMs = 1000;

const longestWaitMs = 30_000;

const mostWaiting = 100_000;

/** A recorded fire, or the id of a finished one-shot with the time that it had; older versions leave that out. */
export type SharedFire = { row: FireRow } | { ended: string; schedule?: string };

export type FireReplica = Pick<SharedLog<SharedFire>, 'share' | 'catchUp'>;

export interface ScheduleSettings {
  bus: Bus;
  clock: Clock;
  leader: Leader;
  folder: CronFolder;
  ledger: Ledger;
  outcomes: FireResults;
  fireCompletion: FireCompletion;
  /** Shares fires with other switchboards; undefined when there are none. */
  replica: FireReplica | undefined;
  /** Resolves when the records of all switchboards are here. */
  catchUp: () => Promise<void>;
  logger: Logger;
  /** Who makers of schedules are today. */
  accounts: Pick<AccountAccess, 'current'>;
  outcomeLimitMs: number;
}

const stopLimitMs = 5000;
const retryMs = 1000;
const previewed = 5;
const mostRecalled = 500;

/** All schedules and, while this switchboard leads, their timer. */
export class Schedules {
  readonly #settings: ScheduleSettings;
  readonly #fires: Fires;
  readonly #deferredWrites: DeferredWrites;
  readonly #stopSweeping: () => void;
  /** Runs while this switchboard leads. */
  #scheduler: Scheduler<ScheduleJob> | undefined;
  #stopped = false;
  #turn: Promise<void> = Promise.resolve();

  constructor(settings: ScheduleSettings) {
    this.#settings = settings;
    const note = (row: FireRow) => this.#note(row);
    const known = (fireId: string) => settings.ledger.get(fireId);
    const noteEnd = (row: FireRow) => this.#noteEnd(row);
    this.#fires = createFires({ ...settings, note, noteEnd, known });
    this.#deferredWrites = createDeferredWrites({ ...settings, note: (row) => this.#noteHere(row) });
    const { ledger, clock, outcomeLimitMs, logger } = settings;
    this.#stopSweeping = hourly(() => ledger.sweep(clock.now(), outcomeLimitMs), logger);
  }

  /** As leader, starts once the others' fires are known here. */
  lead(isLeader: boolean): Promise<void> {
    this.#turn = this.#turn.then(() => (isLeader ? this.#takeOver() : this.#end(0)));
    return this.#turn;
  }

  changed(id: string, entry: Entry | undefined): void {
    if (entry === undefined) this.#scheduler?.remove(id);
    else this.#scheduler?.replace(jobOf(entry, this.#settings.ledger.lastFired(id)));
  }

  /** Records the end of another process's fire. */
  async ended(fireId: string, outcome: Outcome): Promise<void> {
    const { ledger, clock, logger } = this.#settings;
    try {
      const row = ledger.get(fireId);
      if (row?.status === 'fired') await this.#noteEnd({ ...row, ...outcome, endedAt: clock.now() });
    } catch (error) {
      logger.error({ err: error, fireId }, 'failed to look up the end of a scheduled run');
    }
  }

  /** Reads outcomes from the journal that came while this switchboard was away. */
  async recall(): Promise<void> {
    const { ledger, outcomes, clock, outcomeLimitMs, logger } = this.#settings;
    try {
      for (const { fireId } of ledger.open(clock.now() - outcomeLimitMs).slice(0, mostRecalled)) {
        const outcome = await outcomes.past(fireId);
        if (outcome !== undefined) await this.ended(fireId, outcome);
      }
    } catch (error) {
      logger.warn({ err: error }, 'failed to read ends of scheduled runs from the journal');
    }
  }

  isBusy(): boolean {
    return this.#fires.isBusy();
  }

  get(id: string): ScheduleView | undefined {
    const entry = this.#settings.folder.get(id);
    return entry && this.#view(entry, this.#settings.ledger.lastFired(id));
  }

  list(): ScheduleView[] {
    const lastFires = this.#settings.ledger.lastFires();
    return [...this.#settings.folder.list()].map((entry) =>
      this.#view(entry, lastFires.get(entry.record.id)),
    );
  }

  /** Null: only the operator; undefined: no such schedule. */
  ownerOf(id: string): string | null | undefined {
    const entry = this.#settings.folder.get(id);
    return entry && ownerOf(entry.record);
  }

  /** Whose the history of a schedule is, also after its file went. */
  ownerOfHistory(id: string): string | null | undefined {
    const owner = this.ownerOf(id);
    return owner === undefined ? this.#settings.ledger.ownerOf(id) : owner;
  }

  history(id: string, limit: number): FireRow[] {
    return this.#settings.ledger.history(id, limit);
  }

  /** The schedule need not exist. Throws when it is not valid. */
  preview(schedule: string, timezone: string | undefined): string[] {
    const parsed = parseSchedule(schedule, timezone === undefined ? {} : { timezone });
    return parsed.preview(previewed, this.#settings.clock.now()).map((time) => new Date(time).toISOString());
  }

  /** Fires at once and returns the id of the fire; only the leader can. */
  runNow(id: string): string {
    if (this.#settings.folder.get(id) === undefined) throw new ScheduleRefusal('schedule_unknown', id);
    if (this.#scheduler === undefined) throw new ScheduleRefusal('not_leading', id);
    return this.#scheduler.runNow(id);
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    this.#stopSweeping();
    this.#settings.outcomes.close();
    this.#deferredWrites.close();
    await this.#turn;
    await this.#end(stopLimitMs);
  }

  /** The leader must fire: failures are retried. */
  async #takeOver(): Promise<void> {
    while (this.#settings.leader.isLeader() && !this.#stopped) {
      try {
        await this.#begin();
        return;
      } catch (error) {
        this.#settings.logger.error({ err: error }, 'failed to take over schedules; retrying');
        await delay(retryMs);
      }
    }
  }

  async #begin(): Promise<void> {
    const { replica, folder, leader, ledger, clock, outcomeLimitMs } = this.#settings;
    await this.#settings.catchUp();
    await replica?.catchUp();
    // Without other switchboards the folder was just read.
    if (replica !== undefined) folder.compare();
    if (!leader.isLeader() || this.#scheduler !== undefined) return;
    await this.#fires.inherit(ledger.open(clock.now() - outcomeLimitMs));
    const scheduler = this.#createScheduler();
    const lastFires = ledger.lastFires();
    for (const entry of folder.list()) scheduler.add(jobOf(entry, lastFires.get(entry.record.id)));
    this.#scheduler = scheduler;
    scheduler.start();
  }

  #createScheduler(): Scheduler<ScheduleJob> {
    const { clock, fireCompletion } = this.#settings;
    const fires = this.#fires;
    return new Scheduler<ScheduleJob>({
      clock,
      fire: (job, fire) => fires.perform(job, fire),
      beforeFire: (job, fire) => fires.before(job, fire),
      afterFire: (job, fire, failure) => failure && fires.failed(job, fire, failure.error),
      onSkipped: (job, fire) => fires.skipped(job, fire),
      onMissed: (job, missed) => this.#missed(job, missed),
      onFinished: ({ id, record }) => fireCompletion.finished(id, record.schedule),
      onError: (error, job, fire) => this.#report(error, job, fire),
    });
  }

  async #end(limitMs: number): Promise<void> {
    const scheduler = this.#scheduler;
    this.#scheduler = undefined;
    await scheduler?.stop(limitMs);
  }

  async #note(row: FireRow): Promise<void> {
    const { ledger, fireCompletion, folder, replica } = this.#settings;
    const isNewest = await ledger.put(row, this.ownerOf(row.scheduleId));
    const isRecurring = folder.get(row.scheduleId)?.type === 'cron';
    if (isNewest && isRecurring) fireCompletion.fired(row.scheduleId, row.scheduledAt);
    await replica?.share({ row });
  }

  async #noteEnd(row: FireRow): Promise<void> {
    try {
      await this.#noteHere(row);
    } catch (error) {
      this.#deferredWrites.keep(row, error);
    }
  }

  /** The leader shares it with the others. */
  async #noteHere(row: FireRow): Promise<void> {
    if (this.#settings.leader.isLeader()) await this.#note(row);
    else await this.#settings.ledger.put(row, this.ownerOf(row.scheduleId));
  }

  async #missed(job: ScheduleJob, missed: { scheduledAt: number; lateMs: number }): Promise<void> {
    const { bus, clock, logger } = this.#settings;
    const { scheduledAt, lateMs } = missed;
    const fireId = `${job.id}@${new Date(scheduledAt).toISOString()}`;
    const now = clock.now();
    const detail = `it was ${Math.round(lateMs / 3_600_000)} hours late; after 24 it is left out`;
    const row = { fireId, scheduleId: job.id, scheduledAt, firedAt: now, manual: false, missed: true };
    await this.#note({ ...row, status: 'missed', endedAt: now, detail });
    if (job.type === 'cron') return;
    logger.warn({ schedule: job.id, scheduledAt }, 'one-shot schedule missed by more than 24 hours');
    const payload = {
      id: job.id,
      topic: job.record.topic,
      scheduledAt: new Date(scheduledAt).toISOString(),
      lateMs,
    };
    await announce(bus, logger, { topic: 'schedule.missed', payload, ...aboutSchedule(job.record.owner) });
  }

  #report(error: unknown, job: ScheduleJob, fire: Fire | undefined): void {
    const { bus, logger } = this.#settings;
    if (error instanceof BusError && error.code === 'lease_lost') {
      logger.info({ schedule: job.id }, 'schedule left to the new leader');
      return;
    }
    logger.error({ err: error, schedule: job.id, fireId: fire?.fireId }, 'schedule failed');
    const words = `${job.id}: ${errorMessage(error)}`;
    const payload = { source: 'scheduler', plugin: 'scheduler', error: words };
    void reportError(bus, logger, payload, aboutSchedule(job.record.owner));
  }

  #view(entry: Entry, lastFired: number | undefined): ScheduleView {
    return viewOf(entry, lastFired, this.#settings.clock.now(), previewed);
  }
}

interface LateNoteSettings {
  clock: Clock;
  logger: Logger;
  note: (row: FireRow) => Promise<unknown>;
}

/** Ends of fires that could not be recorded yet (full disk, bus away); retried until they are. */
function createDeferredWrites({ logger, clock, note }: LateNoteSettings) {
  const waiting = new Map<string, FireRow>();
  let timer: Timer | undefined;
  let waitMs = firstWaitMs;
  let closed = false;

  /** What does not fit is read from the journal after a restart. */
  function keep(row: FireRow, error: unknown): void {
    const isKept = !closed && waiting.size < mostWaiting;
    const retry = isKept ? 'retrying' : 'the next start looks it up';
    logger.error({ err: error, fireId: row.fireId, retry }, 'failed to record the end of a scheduled run');
    if (!isKept) return;
    waiting.set(row.fireId, row);
    arm();
  }

  function close(): void {
    closed = true;
    timer?.cancel();
  }

  function arm(): void {
    timer ??= clock.setTimer(waitMs, () => void tryAgain());
  }

  async function tryAgain(): Promise<void> {
    const outcomes = await Promise.allSettled([...waiting.values()].map((row) => writeRow(row)));
    timer = undefined;
    const failed = outcomes.some(({ status }) => status === 'rejected');
    waitMs = failed ? Math.min(2 * waitMs, longestWaitMs) : firstWaitMs;
    if (waiting.size > 0 && !closed) arm();
  }

  async function writeRow(row: FireRow): Promise<void> {
    await note(row);
    if (waiting.get(row.fireId) === row) waiting.delete(row.fireId);
  }

  return { keep, close };
}

type DeferredWrites = ReturnType<typeof createDeferredWrites>;

type RefusalCode = keyof typeof words;

export class ScheduleRefusal extends Error {
  readonly code: RefusalCode;

  constructor(code: RefusalCode, about: string) {
    super(words[code](about));
    this.name = 'ScheduleRefusal';
    this.code = code;
  }
}
