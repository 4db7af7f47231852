import { ScheduleError } from './errors.ts';
import type { Zone } from './zone.ts';

const form =
  /^(\d{4})-(\d\d)-(\d\d)(?:[T ](\d\d):(\d\d)(?::(\d\d)(?:[.,](\d{1,9}))?)?(Z|[+-]\d\d(?::?\d\d)?)?)?$/i;

export function looksLikeIsoTime(text: string): boolean {
  return /^\d{4}-\d/.test(text);
}

/** The instant of an ISO-8601 date and time; without an offset it is a wall time of the zone. */
export function parseIsoTime(text: string, zone: Zone): number {
  const match = form.exec(text);
  if (match === null)
    throw refuse(text, 'write it as 2026-12-24T18:00, with Z or an offset such as +01:00 if needed');
  const [, year, month, date, hour, minute, second = '0', fraction = '', offset] = match;
  if (hour === undefined) throw refuse(text, `it has no time of day: write ${text}T09:00`);
  const day = Date.UTC(Number(year), Number(month) - 1, Number(date));
  if (new Date(day).toISOString().slice(0, 10) !== text.slice(0, 10))
    throw refuse(text, 'there is no such day');
  if (Number(hour) > 23 || Number(minute) > 59 || Number(second) > 59)
    throw refuse(text, 'there is no such time of day');
  const seconds = (Number(hour) * 60 + Number(minute)) * 60 + Number(second);
  const wall = day + seconds * 1000 + Number(fraction.padEnd(3, '0').slice(0, 3));
  return offset === undefined ? instantInZone(wall, zone) : wall - parseOffset(text, offset);
}

/** As with cron: the first of two showings, and right after the leap when there is none. */
function instantInZone(wall: number, zone: Zone): number {
  return zone.instantsOf(wall)[0] ?? zone.endOfGap(wall);
}

function parseOffset(text: string, offset: string): number {
  if (offset.toUpperCase() === 'Z') return 0;
  const [hours, minutes] = [Number(offset.slice(1, 3)), Number(offset.slice(3).replace(':', ''))];
  if (hours > 23 || minutes > 59) throw refuse(text, `there is no offset ${offset}`);
  return (offset.startsWith('-') ? -1 : 1) * (hours * 60 + minutes) * 60_000;
}

function refuse(text: string, problem: string): ScheduleError {
  return new ScheduleError('schedule_invalid', `"${text}" is no date and time: ${problem}.`);
}
