import { parseSchedule } from '@trunkline/schedule';

export interface Day {
  start: Date;
  end: Date;
}

/** The day of that moment by the calendar of a zone; days of a clock change are shorter or longer. */
export function dayOf(now: Date, timezone: string): Day {
  const today = dateIn(now, timezone);
  const noonTomorrow = new Date(Date.parse(`${today}T12:00:00Z`) + 86_400_000).toISOString().slice(0, 10);
  return { start: midnight(today, timezone), end: midnight(noonTomorrow, timezone) };
}

function dateIn(now: Date, timezone: string): string {
  return new Intl.DateTimeFormat('sv-SE', { timeZone: timezone, dateStyle: 'short' }).format(now);
}

function midnight(date: string, timezone: string): Date {
  return new Date(parseSchedule(`${date}T00:00:00`, { timezone }).next(0) ?? Number.NaN);
}
