import { scheduleNicknames } from '@trunkline/std';
import { CronPattern as Fields } from 'croner';
import { type CronField, ScheduleError } from './errors.ts';

/** A five-field expression over wall times, whatever the zone. */
export interface CronPattern extends Calendar {
  /**
   * True when neither minute nor hour holds a `*`. Such a job means certain times of the day, so it runs once for each of them
   * even on the days when the clock changes; one with a `*` means a rhythm and follows the clock as it goes.
   */
  fixed: boolean;
}

const patterns = new Map<string, CronPattern>();
const keptPatterns = 10_000;

/** The pattern of an expression or nickname, parsed once for all who use it. */
export function cronPattern(text: string): CronPattern {
  const known = patterns.get(text);
  if (known !== undefined) return known;
  const pattern = parsePattern(text);
  if (patterns.size >= keptPatterns) patterns.clear();
  patterns.set(text, pattern);
  return pattern;
}

function parsePattern(text: string): CronPattern {
  const expression = text.startsWith('@') ? expandNickname(text) : text;
  const fields = expression.split(/\s+/);
  if (fields.length !== fieldNames.length) throw wrongCount(text, fields.length);
  const parsed = parseFields(fields) ?? refuseField(text, fields);
  const pattern = { ...calendarOf(parsed), fixed: !/[*?]/.test(`${fields[0]} ${fields[1]}`) };
  if (pattern.next(Date.UTC(2000, 0)) === undefined) throw neverComes(text);
  return pattern;
}

function parseFields(fields: string[]): Fields | undefined {
  try {
    return new Fields(fields.join(' '), undefined, { mode: '5-part' });
  } catch (error) {
    if (error instanceof TypeError || error instanceof RangeError) return undefined;
    throw error;
  }
}

const fieldNames: CronField[] = ['minute', 'hour', 'day of month', 'month', 'day of week'];

const fieldRanges: Record<CronField, string> = {
  minute: '0-59',
  hour: '0-23',
  'day of month': '1-31 or L',
  month: '1-12 or JAN-DEC',
  'day of week': '0-7 or SUN-SAT',
};

/** Finds the first field that is wrong by trying each with all others open. */
function refuseField(text: string, fields: string[]): never {
  const place = fields.findIndex((field, index) => {
    return parseFields(fieldNames.map((_, other) => (other === index ? field : '*'))) === undefined;
  });
  const field = fieldNames[place];
  if (field === undefined) throw new ScheduleError('schedule_invalid', `"${text}" is no cron expression.`);
  const words = `The ${field} field "${fields[place]}" of "${text}" is not valid: use ${fieldRanges[field]}, with lists (1,2), ranges (1-5) and steps (*/5).`;
  throw new ScheduleError('schedule_invalid', words, { field });
}

function expandNickname(text: string): string {
  const expression = scheduleNicknames[text.toLowerCase()];
  if (expression !== undefined) return expression;
  const words = `"${text}" is no schedule: the names are ${Object.keys(scheduleNicknames).join(', ')}.`;
  throw new ScheduleError('schedule_invalid', words);
}

function wrongCount(text: string, count: number): ScheduleError {
  const seconds = count === 6 ? ' Seconds are not supported: leave out the first field.' : '';
  const words = `"${text}" has ${count} ${count === 1 ? 'field' : 'fields'}: a cron expression has five (minute, hour, day of month, month, day of week), a single time looks like 2026-12-24T18:00.${seconds}`;
  return new ScheduleError('schedule_invalid', words);
}

function neverComes(text: string): ScheduleError {
  return new ScheduleError('schedule_invalid', `"${text}" never comes: no month has such a day.`, {
    field: 'day of month',
  });
}

/** Finds the wall times that match the fields of a cron expression. */
interface Calendar {
  /** The first match after a wall time. */
  next(wall: number): number | undefined;
  /** The last match before a wall time. */
  previous(wall: number): number | undefined;
}

/** Keeps of the parsed fields what a search needs: about a kilobyte, where croner's own job has eighty. */
function calendarOf(fields: Fields): Calendar {
  const hours = Uint8Array.from(placesSet(fields.hour));
  const minutes = Uint8Array.from(placesSet(fields.minute));
  const days = daysOf(fields);
  return {
    next(wall) {
      const minute = Math.floor(wall / minuteMs) + 1;
      const [today, time] = [Math.floor(minute / minutesADay), modulo(minute, minutesADay)];
      const later = firstTime(hours, minutes, time);
      if (later !== undefined && isAmong(days, today)) return (today * minutesADay + later) * minuteMs;
      const day = nextDay(days, today + 1);
      return day === undefined
        ? undefined
        : (day * minutesADay + (firstTime(hours, minutes, 0) ?? 0)) * minuteMs;
    },
    previous(wall) {
      const minute = Math.ceil(wall / minuteMs) - 1;
      const [today, time] = [Math.floor(minute / minutesADay), modulo(minute, minutesADay)];
      const earlier = lastTime(hours, minutes, time);
      if (earlier !== undefined && isAmong(days, today)) return (today * minutesADay + earlier) * minuteMs;
      const day = previousDay(days, today - 1);
      const last = lastTime(hours, minutes, minutesADay - 1) ?? 0;
      return day === undefined ? undefined : (day * minutesADay + last) * minuteMs;
    },
  };
}

const minuteMs = 60_000;
const minutesADay = 1440;
const dayMs = minuteMs * minutesADay;
/** The 29th of February on a given weekday comes back within forty years. */
const longestSearch = 50 * 12;

function placesSet(flags: number[]): number[] {
  return flags.flatMap((flag, place) => (flag ? [place] : []));
}

function modulo(value: number, divisor: number): number {
  return value - Math.floor(value / divisor) * divisor;
}

/** The first time of the day, in minutes, that is not before the given one. */
function firstTime(hours: Uint8Array, minutes: Uint8Array, time: number): number | undefined {
  for (const hour of hours) {
    const minute = minutes.find((candidate) => hour * 60 + candidate >= time);
    if (minute !== undefined) return hour * 60 + minute;
  }
  return undefined;
}

/** The last time of the day, in minutes, that is not after the given one. */
function lastTime(hours: Uint8Array, minutes: Uint8Array, time: number): number | undefined {
  for (const hour of hours.toReversed()) {
    const minute = minutes.findLast((candidate) => hour * 60 + candidate <= time);
    if (minute !== undefined) return hour * 60 + minute;
  }
  return undefined;
}

/** A month, counted from January 1970, as far as the day rules care. */
interface Month {
  firstDay: number;
  length: number;
}

/** The matching days of a month as bits, the first of the month lowest. */
type DaysOfMonth = (month: number) => number;

function isAmong(days: DaysOfMonth, day: number): boolean {
  const month = monthOfDay(day);
  return (days(month) & (1 << (day - monthAt(month).firstDay))) !== 0;
}

function nextDay(days: DaysOfMonth, from: number): number | undefined {
  const start = monthOfDay(from);
  for (let month = start; month < start + longestSearch; month += 1) {
    const { firstDay } = monthAt(month);
    // Days before `from` do not count; a shift by more than 31 would wrap around.
    const passed = Math.max(0, from - firstDay);
    const bits = (days(month) >>> passed) << passed;
    if (bits !== 0) return firstDay + 31 - Math.clz32(bits & -bits);
  }
  return undefined;
}

function previousDay(days: DaysOfMonth, from: number): number | undefined {
  const start = monthOfDay(from);
  for (let month = start; month > start - longestSearch; month -= 1) {
    const { firstDay } = monthAt(month);
    const beyond = Math.max(0, firstDay + 31 - from);
    const bits = (days(month) << beyond) >>> beyond;
    if (bits !== 0) return firstDay + 31 - Math.clz32(bits);
  }
  return undefined;
}

function monthOfDay(day: number): number {
  const date = new Date(day * dayMs);
  return (date.getUTCFullYear() - 1970) * 12 + date.getUTCMonth();
}

function monthAt(month: number): Month {
  const firstDay = Date.UTC(1970, month) / dayMs;
  return { firstDay, length: Date.UTC(1970, month + 1) / dayMs - firstDay };
}

/**
 * The days that the three date fields allow. When both the day of the month and the weekday are restricted,
 * either will do, unless a `+` before the weekday asks for both.
 */
function daysOf(fields: Fields): DaysOfMonth {
  const { month: months, day, lastDayOfMonth, lastWeekday, starDOM, starDOW, useAndLogic } = fields;
  const dates = bitsOf(placesSet(day));
  const nearest = placesSet(fields.nearestWeekdays).map((place) => place + 1);
  const weekdays = Uint8Array.from(fields.dayOfWeek);
  const monthBits = bitsOf(placesSet(months));
  return (number) => {
    if ((monthBits & (1 << modulo(number, 12))) === 0) return 0;
    const month = monthAt(number);
    let bits = dates;
    for (const date of nearest) bits |= nearestWorkday(month, date);
    if (lastWeekday) bits |= lastWorkday(month);
    if (lastDayOfMonth) bits |= 1 << (month.length - 1);
    if (!starDOW) {
      const weekdayBits = matchingWeekdays(month, weekdays);
      bits = useAndLogic || starDOM ? bits & weekdayBits : bits | weekdayBits;
    }
    return bits & (2 ** month.length - 1);
  };
}

function bitsOf(places: number[]): number {
  return places.reduce((bits, place) => bits | (1 << place), 0);
}

/** Each weekday has bits for its first to fifth showing in the month, and one for its last. */
function matchingWeekdays(month: Month, weekdays: Uint8Array): number {
  let bits = 0;
  for (let date = 1; date <= month.length; date += 1) {
    const isLast = date + 7 > month.length;
    const showing = (1 << Math.floor((date - 1) / 7)) | (isLast ? lastShowing : 0);
    if (((weekdays[weekdayOf(month, date)] ?? 0) & showing) !== 0) bits |= 1 << (date - 1);
  }
  return bits;
}

const lastShowing = 32;
const sunday = 0;
const saturday = 6;

function weekdayOf(month: Month, date: number): number {
  // The first of January 1970 was a Thursday.
  return modulo(month.firstDay + date + 3, 7);
}

/** The working day nearest to a date, within its month. */
function nearestWorkday(month: Month, date: number): number {
  if (date > month.length) return 0;
  const weekday = weekdayOf(month, date);
  if (weekday === saturday) return date === 1 ? bitsOf([date + 1]) : bitsOf([date - 2]);
  if (weekday === sunday) return date === month.length ? bitsOf([date - 3]) : bitsOf([date]);
  return bitsOf([date - 1]);
}

function lastWorkday(month: Month): number {
  const weekday = weekdayOf(month, month.length);
  const back = weekday === saturday ? 1 : weekday === sunday ? 2 : 0;
  return bitsOf([month.length - back - 1]);
}
