import { matchesTopic } from '@trunkline/bus';
import { type Job, parseSchedule, type Schedule } from '@trunkline/schedule';
import type { CronRecord } from '../workspace/schema/cron.ts';

/** A record with what the scheduler knows of it besides its file. */
export interface Entry {
  record: CronRecord;
  /** Times of a cron schedule up to this one are not missed: it did not hold yet. */
  since: number;
}

export interface ScheduleJob extends Job {
  record: CronRecord;
}

/** Throws words when a record cannot work although its fields are right. */
export function checkRecord({ topic, payload }: CronRecord): void {
  if (payload.channel !== 'a2a' || matchesTopic('cron.#', topic)) return;
  // What is under `cron.` is journalled, so that a delivery goes on after a restart.
  throw new Error(
    `The topic ${topic} does not fit the channel a2a: let it begin with cron., such as cron.<agent_name>.<job>.`,
  );
}

export function scheduleOf({ schedule, timezone }: CronRecord): Schedule {
  return parseSchedule(schedule, timezone === undefined ? {} : { timezone });
}

/** What the timer needs; `lastFired` is the newer of what the file and the ledger say. */
export function jobOf({ record, since }: Entry, lastFired: number | undefined): ScheduleJob {
  const { id, schedule, timezone, enabled, overlap, jitterMs } = record;
  const known = newest(record.lastFired === undefined ? undefined : Date.parse(record.lastFired), lastFired);
  return {
    id,
    record,
    schedule,
    overlap,
    jitterMs,
    paused: !enabled,
    createdAt: since,
    ...(timezone !== undefined && { timezone }),
    ...(known !== undefined && { lastFired: known }),
  };
}

function newest(one: number | undefined, other: number | undefined): number | undefined {
  return one === undefined || other === undefined ? (one ?? other) : Math.max(one, other);
}
