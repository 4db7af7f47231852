import {
  Entry,
  type Fire,
  fireId,
  type Job,
  type JobState,
  type SchedulerHooks,
  slotToWaitFor,
} from './entry.ts';
import { ScheduleError } from './errors.ts';
import { type FireOutcome, Runner } from './runner.ts';
import { parseSchedule } from './schedule.ts';
import { type Clock, systemClock, Wakeup } from './wakeup.ts';
import { systemTimezone, zoneOf } from './zone.ts';

export interface SchedulerOptions<J extends Job> extends SchedulerHooks<J> {
  /** What a job does. A rejection is reported; a one-shot is then tried again, a cron job waits for its next time. */
  fire: (job: J, fire: Fire) => unknown;
  clock?: Clock;
  /** Zone of jobs that name none; that of this machine when left out. */
  timezone?: string;
  /** How many fires of one job may wait (`queue`) or run at once (`allow`); further ones are skipped. */
  overlapLimit?: number;
}

const day = 86_400_000;
const firstRetry = 60_000;
const longestRetry = 3_600_000;

/**
 * Fires jobs at their times, all of them on one timer.
 * A time that passed while the process was down or the machine slept is made up for once, unless it is more than a day ago.
 */
export class Scheduler<J extends Job = Job> {
  readonly #clock: Clock;
  #timezone: string | undefined;
  readonly #entries = new Map<string, Entry<J>>();
  readonly #runner: Runner<J>;
  readonly #wakeup: Wakeup<Entry<J>>;
  readonly #abort = new AbortController();
  #order = 0;
  #state: 'new' | 'started' | 'stopped' = 'new';

  constructor(options: SchedulerOptions<J>) {
    this.#clock = options.clock ?? systemClock;
    this.#timezone = options.timezone;
    if (options.timezone !== undefined) zoneOf(options.timezone);
    const comeDue = (entry: Entry<J>, now: number) => this.#comeDue(entry, now);
    this.#wakeup = new Wakeup(this.#clock, comeDue, () => this.#aimAll());
    this.#runner = new Runner({
      handler: options.fire,
      hooks: options,
      overlapLimit: options.overlapLimit ?? 100,
      onSettled: (entry, fire, outcome) => this.#settle(entry, fire, outcome),
    });
  }

  /** Begins to fire; what was missed comes first. */
  start(): void {
    if (this.#state !== 'new') return;
    this.#state = 'started';
    this.#wakeup.start();
    this.#aimAll();
  }

  /**
   * Fires nothing more and waits for what runs, up to the limit; then its signal is aborted.
   * Gives the ids of the fires that had not ended.
   */
  async stop(limitMs = 10_000): Promise<string[]> {
    this.#state = 'stopped';
    this.#wakeup.stop();
    const limit = Promise.withResolvers<void>();
    const timer = this.#clock.setTimer(limitMs, limit.resolve);
    await Promise.race([this.#runner.stop(), limit.promise]);
    timer.cancel();
    const unfinished = this.#runner.runningFires();
    if (unfinished.length > 0)
      this.#abort.abort(new ScheduleError('scheduler_stopped', 'The scheduler has stopped.'));
    return unfinished;
  }

  /** Takes a new job; throws when its schedule is wrong or its id is taken. */
  add(job: J): JobState<J> {
    if (this.#entries.has(job.id)) throw new ScheduleError('job_exists', `There is already a job ${job.id}.`);
    return this.replace(job);
  }

  /** Takes a job in place of the one with its id, if any; fires that run or wait go on. */
  replace(job: J): JobState<J> {
    const schedule = parseSchedule(job.schedule, { timezone: job.timezone ?? this.#defaultTimezone() });
    let entry = this.#entries.get(job.id);
    if (entry === undefined) {
      this.#order += 1;
      entry = new Entry(job, schedule, this.#order);
      this.#entries.set(job.id, entry);
    }
    entry.job = job;
    entry.schedule = schedule;
    this.#aim(entry);
    return entry.state();
  }

  /** Asked for with the first job that needs it: the first use of Intl takes 35 ms of a start. */
  #defaultTimezone(): string {
    this.#timezone ??= systemTimezone();
    return this.#timezone;
  }

  /** Forgets a job; a fire that runs goes on. Says whether there was one. */
  remove(id: string): boolean {
    const entry = this.#entries.get(id);
    if (entry === undefined) return false;
    this.#drop(entry);
    return true;
  }

  pause(id: string): JobState<J> {
    const entry = this.#find(id);
    entry.forgetWaiting();
    return this.replace({ ...entry.job, paused: true });
  }

  /** Cron times that passed during the pause are left out; a one-shot that passed follows the rule for missed fires. */
  resume(id: string): JobState<J> {
    const { job } = this.#find(id);
    if (!job.paused) return this.replace(job);
    return this.replace({ ...job, paused: false, resumedAt: this.#clock.now() });
  }

  /** Fires a job at once, paused or not, beside its schedule; gives the fire's id. */
  runNow(id: string): string {
    const entry = this.#find(id);
    if (this.#state === 'stopped') throw new ScheduleError('scheduler_stopped', 'The scheduler has stopped.');
    if (this.#runner.isFull(entry)) throw new ScheduleError('job_running', `The job ${id} is still running.`);
    const fire = this.#fireOf(entry, this.#clock.now(), { missed: false, manual: true });
    this.#runner.submit(entry, fire);
    return fire.fireId;
  }

  get(id: string): JobState<J> | undefined {
    return this.#entries.get(id)?.state();
  }

  /** All jobs, paused ones included, in the order in which they were added. */
  list(): JobState<J>[] {
    return [...this.#entries.values()].map((entry) => entry.state());
  }

  /** The next times of a job, were it not paused. */
  preview(id: string, count = 5): number[] {
    return this.#find(id).schedule.preview(count, this.#clock.now());
  }

  #aimAll(): void {
    for (const entry of this.#entries.values()) this.#aim(entry);
  }

  /** Sets the time that the entry waits for. */
  #aim(entry: Entry<J>): void {
    if (this.#state !== 'started') return;
    const now = this.#clock.now();
    const slot = entry.job.paused ? undefined : slotToWaitFor(entry, now);
    if (slot !== undefined) {
      entry.aim(slot, now);
      this.#wakeup.place(entry);
      return;
    }
    this.#wakeup.remove(entry);
    if (entry.schedule.type === 'once' && !entry.job.paused && entry.running === 0) this.#finish(entry);
  }

  /** Fires the newest time that has passed, and waits for the next. */
  #comeDue(entry: Entry<J>, now: number): void {
    const { slot, missed } = this.#newestPassed(entry, now);
    const next = entry.schedule.type === 'once' ? undefined : entry.schedule.next(Math.max(slot, now));
    if (next === undefined) this.#wakeup.remove(entry);
    else {
      entry.aim(next, now);
      this.#wakeup.place(entry);
    }
    entry.handedOut = slot;
    if (now - slot > day) this.#miss(entry, slot, now);
    else this.#runner.submit(entry, this.#fireOf(entry, slot, { missed, manual: false }));
  }

  #newestPassed(entry: Entry<J>, now: number): { slot: number; missed: boolean } {
    const missed = entry.missed || this.#wakeup.isLate(entry, now);
    const next = entry.schedule.next(entry.slot);
    if (next === undefined || next > now) return { slot: entry.slot, missed };
    return { slot: entry.schedule.previous(now + 1) ?? entry.slot, missed };
  }

  #fireOf(entry: Entry<J>, scheduledAt: number, kind: Pick<Fire, 'missed' | 'manual'>): Fire {
    return {
      fireId: fireId(entry.job.id, scheduledAt, kind.manual),
      scheduledAt,
      ...kind,
      attempt: kind.manual ? 1 : entry.failures + 1,
      signal: this.#abort.signal,
    };
  }

  #miss(entry: Entry<J>, scheduledAt: number, now: number): void {
    const missed = { scheduledAt, lateMs: now - scheduledAt };
    this.#runner.tell(entry.job, 'onMissed', (hook) => hook(entry.job, missed));
    if (entry.schedule.type === 'once') this.#finish(entry);
  }

  /** A one-shot ends with its success and is tried again after a failure, unless it was given another time meanwhile. */
  #settle(entry: Entry<J>, fire: Fire, outcome: FireOutcome): void {
    const current = entry.schedule.type === 'once' && entry.slot === fire.scheduledAt;
    if (!current || fire.manual || entry.removed) return;
    if (outcome === 'done') this.#finish(entry);
    else this.#retry(entry);
  }

  #retry(entry: Entry<J>): void {
    entry.handedOut = undefined;
    entry.failures += 1;
    if (entry.job.paused || this.#state !== 'started') return;
    entry.dueAt = this.#clock.now() + Math.min(firstRetry * 2 ** (entry.failures - 1), longestRetry);
    this.#wakeup.place(entry);
  }

  #finish(entry: Entry<J>): void {
    this.#drop(entry);
    this.#runner.tell(entry.job, 'onFinished', (hook) => hook(entry.job));
  }

  #drop(entry: Entry<J>): void {
    entry.removed = true;
    entry.forgetWaiting();
    this.#entries.delete(entry.job.id);
    this.#wakeup.remove(entry);
  }

  #find(id: string): Entry<J> {
    const entry = this.#entries.get(id);
    if (entry === undefined) throw new ScheduleError('job_unknown', `There is no job ${id}.`);
    return entry;
  }
}
