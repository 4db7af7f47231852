import { type Bus, BusError } from '@trunkline/bus';
import type { Logger } from '@trunkline/config';
import { type Clock, type Fire, Scheduler } from '@trunkline/schedule';
import { errorMessage } from '@trunkline/std';
import type { FireRow } from '../api-types.ts';
import { announce } from '../workspace/problems.ts';
import type { CronFolder } from './cron-folder.ts';
import type { Fires } from './fires.ts';
import type { Ledger } from './ledger.ts';
import { type Entry, jobOf, type ScheduleJob } from './record.ts';

export interface LeaderTermSettings {
  bus: Bus;
  clock: Clock;
  folder: CronFolder;
  ledger: Ledger;
  fires: Fires;
  logger: Logger;
  note: (row: FireRow) => Promise<void>;
  /** A one-shot is over: its file goes. */
  finished: (job: ScheduleJob) => void;
}

/** The time during which this switchboard fires: from the moment it leads until another does. */
export class LeaderTerm {
  readonly #settings: LeaderTermSettings;
  readonly #scheduler: Scheduler<ScheduleJob>;

  constructor(settings: LeaderTermSettings) {
    this.#settings = settings;
    const { fires, clock, finished } = settings;
    this.#scheduler = new Scheduler<ScheduleJob>({
      clock,
      fire: (job, fire) => fires.perform(job, fire),
      beforeFire: (job, fire) => fires.before(job, fire),
      afterFire: (job, fire, failure) => failure && fires.failed(job, fire, failure.error),
      onSkipped: (job, fire) => fires.skipped(job, fire),
      onMissed: (job, missed) => this.#missed(job, missed),
      onFinished: finished,
      onError: (error, job, fire) => this.#report(error, job, fire),
    });
  }

  start(): void {
    const { folder, ledger } = this.#settings;
    const lastFires = ledger.lastFires();
    for (const entry of folder.list()) this.#scheduler.add(jobOf(entry, lastFires.get(entry.record.id)));
    this.#scheduler.start();
  }

  /** Takes a record as it stands now; undefined removes it. */
  change(id: string, entry: Entry | undefined): void {
    if (entry === undefined) this.#scheduler.remove(id);
    else this.#scheduler.replace(jobOf(entry, this.#settings.ledger.lastFired(id)));
  }

  /** Fires at once, beside the times of the schedule; gives the id of the fire. */
  runNow(id: string): string {
    return this.#scheduler.runNow(id);
  }

  /** Fires nothing more; what is on its way is waited for up to the limit. */
  async stop(limitMs: number): Promise<void> {
    await this.#scheduler.stop(limitMs);
  }

  async #missed(job: ScheduleJob, missed: { scheduledAt: number; lateMs: number }): Promise<void> {
    const { bus, clock, note, logger } = this.#settings;
    const { scheduledAt, lateMs } = missed;
    const fireId = `${job.id}@${new Date(scheduledAt).toISOString()}`;
    const now = clock.now();
    const detail = `it was ${Math.round(lateMs / 3_600_000)} hours late; after 24 it is left out`;
    const row = { fireId, scheduleId: job.id, scheduledAt, firedAt: now, manual: false, missed: true };
    await note({ ...row, status: 'missed', endedAt: now, detail });
    if (job.type === 'cron') return;
    logger.warn({ schedule: job.id, scheduledAt }, 'one-shot schedule missed by more than 24 hours');
    const payload = {
      id: job.id,
      topic: job.record.topic,
      scheduledAt: new Date(scheduledAt).toISOString(),
      lateMs,
    };
    await announce(bus, logger, { topic: 'schedule.missed', payload });
  }

  #report(error: unknown, job: ScheduleJob, fire: Fire | undefined): void {
    const { bus, logger } = this.#settings;
    if (error instanceof BusError && error.code === 'lease_lost') {
      logger.info({ schedule: job.id }, 'schedule left to the new leader');
      return;
    }
    logger.error({ err: error, schedule: job.id, fireId: fire?.fireId }, 'schedule failed');
    const words = errorMessage(error);
    const payload = { source: 'scheduler', plugin: 'scheduler', error: `${job.id}: ${words}` };
    void announce(bus, logger, { topic: 'system.error', payload });
  }
}
