import type { ScheduleView } from '../api-types.ts';
import { type Entry, lastFiredOf, scheduleOf } from './record.ts';

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
