import { matchesTopic } from '@trunkline/bus';
import { type Job, parseSchedule, type Schedule } from '@trunkline/schedule';
import type { CronRecord } from '../workspace/schema/cron.ts';

/** A record with what the scheduler knows of it besides its file. */
export interface Entry {
  record: CronRecord;
  type: Schedule['type'];
  /** Times of a cron schedule up to this one are not missed: it did not hold yet. */
  since: number;
}

export interface ScheduleJob extends Job {
  record: CronRecord;
  type: Schedule['type'];
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

/** What the timer needs. */
export function jobOf(entry: Entry, noted: number | undefined): ScheduleJob {
  const { record, type, since } = entry;
  const { id, schedule, timezone, enabled, overlap, jitterMs } = record;
  const known = lastFiredOf(entry, noted);
  return {
    id,
    record,
    type,
    schedule,
    overlap,
    jitterMs,
    paused: !enabled,
    createdAt: since,
    ...(timezone !== undefined && { timezone }),
    ...(known !== undefined && { lastFired: known }),
  };
}

/** The newer of what the file says and what the ledger noted. */
export function lastFiredOf({ record }: Entry, noted: number | undefined): number | undefined {
  const written = record.lastFired === undefined ? undefined : Date.parse(record.lastFired);
  return written === undefined || noted === undefined ? (written ?? noted) : Math.max(written, noted);
}
