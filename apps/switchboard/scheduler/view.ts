import type { CronRecord } from '../workspace/schema/cron.ts';
import { type Entry, lastFiredOf, scheduleOf } from './record.ts';

/** A schedule as lists show it: its record with the defaults filled in, and its times. */
export interface ScheduleView extends Omit<CronRecord, 'type' | 'timezone' | 'lastFired'> {
  type: 'cron' | 'once';
  timezone: string;
  state: 'active' | 'paused';
  lastFired: string | null;
  /** When it comes next; null while it is paused. */
  nextFire: string | null;
  /** The next times, were it not paused. */
  next: string[];
}

export function viewOf(
  entry: Entry,
  lastFired: number | undefined,
  now: number,
  count: number,
): ScheduleView {
  const { record } = entry;
  const schedule = scheduleOf(record);
  const next = schedule.preview(count, now).map(iso);
  const fired = lastFiredOf(entry, lastFired);
  return {
    ...record,
    type: schedule.type,
    timezone: schedule.timezone,
    state: record.enabled ? 'active' : 'paused',
    lastFired: fired === undefined ? null : iso(fired),
    nextFire: record.enabled ? (next[0] ?? null) : null,
    next,
  };
}

function iso(time: number): string {
  return new Date(time).toISOString();
}
