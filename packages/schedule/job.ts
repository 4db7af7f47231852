import type { Schedule } from './schedule.ts';

/** What to do when a job comes due while an earlier fire of it still runs. */
export type Overlap = 'skip' | 'queue' | 'allow';

/** One scheduled job. Callers add fields of their own; the scheduler keeps what it is given and changes nothing in it. */
export interface Job {
  id: string;
  /** Five-field cron, a name such as `@daily`, or an ISO date and time. */
  schedule: string;
  /** IANA zone; the scheduler's own when left out. */
  timezone?: string;
  paused?: boolean;
  /** The newest `scheduledAt` that was dealt with, from the caller's store. */
  lastFired?: number;
  overlap: Overlap;
  /** Spreads fires over that many milliseconds after their time; keep it shorter than the period. */
  jitterMs?: number;
  /** Times of a cron job up to this one are not missed fires: there was no job yet. */
  createdAt: number;
  /** Set by `resume`: times of a cron job up to this one were left out on purpose. */
  resumedAt?: number;
}

/** One fire of a job. */
export interface Fire {
  /** `<id>@<scheduledAt>`, the same for every attempt at this time: the key against doing it twice. */
  fireId: string;
  scheduledAt: number;
  /** True when the time had passed while nobody watched: the process was down or the machine slept. */
  missed: boolean;
  /** True when `runNow` asked for it. */
  manual: boolean;
  /** 1, and more when a one-shot is tried again after a failure. */
  attempt: number;
  /** Aborted when `stop` has waited long enough. */
  signal: AbortSignal;
}

/** A job as it stands. */
export interface JobState<J extends Job> {
  job: J;
  type: Schedule['type'];
  /** When it is due next; undefined while it is paused or has nothing ahead. */
  next: number | undefined;
  lastFired: number | undefined;
  running: number;
  waiting: number;
}

/**
 * The scheduler keeps no store: these tell the caller what to write down.
 *
 * To fire at least once, record `lastFired = fire.scheduledAt` in `afterFire`: after a crash in mid-fire the next start fires it again,
 * with the same id. To fire at most once, record it in `beforeFire`. A hook that throws is reported to `onError`.
 */
export interface SchedulerHooks<J extends Job> {
  /**
   * Awaited before the handler. Giving false says that this fire is done already, by its id: it is not run.
   * Throwing says that it may not run now: it counts as failed.
   */
  beforeFire?: (job: J, fire: Fire) => unknown;
  /** Awaited after the handler, with its failure if there was one. */
  afterFire?: (job: J, fire: Fire, failure: { error: unknown } | undefined) => unknown;
  /** A fire was left out as earlier ones of the job still run. Record it as `lastFired`, or the next start takes it for missed. */
  onSkipped?: (job: J, fire: Fire) => unknown;
  /** A time that passed more than a day ago is not made up for. */
  onMissed?: (job: J, missed: { scheduledAt: number; lateMs: number }) => unknown;
  /** A one-shot is over, fired or missed, and no longer in the scheduler. */
  onFinished?: (job: J) => unknown;
  /** A handler or a hook failed. Must not throw. */
  onError: (error: unknown, job: J, fire: Fire | undefined) => void;
}

export function fireId(id: string, scheduledAt: number, manual: boolean): string {
  return `${id}@${isoTime(scheduledAt)}${manual ? '#now' : ''}`;
}

let lastTime = { time: 0, text: new Date(0).toISOString() };

/** Thousands that are due together share the text of their time. */
export function isoTime(time: number): string {
  if (time !== lastTime.time) lastTime = { time, text: new Date(time).toISOString() };
  return lastTime.text;
}
