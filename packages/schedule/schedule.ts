import { type CronPattern, cronPattern } from './cron-pattern.ts';
import { ScheduleError } from './errors.ts';
import { systemTimezone, type Zone, zoneOf } from './zone.ts';

const form =
  /^(\d{4})-(\d\d)-(\d\d)(?:[T ](\d\d):(\d\d)(?::(\d\d)(?:[.,](\d{1,9}))?)?(Z|[+-]\d\d(?::?\d\d)?)?)?$/i;

/** When something is to happen. All times are milliseconds since 1970. */
export interface Schedule {
  readonly type: 'cron' | 'once';
  /** As it was given, with single blanks. */
  readonly text: string;
  readonly timezone: string;
  /** The first time after that one; undefined when there is none. */
  next(after: number): number | undefined;
  /** The last time before that one; undefined when there is none. */
  previous(before: number): number | undefined;
  /** The next times after that one, as many as there are up to `count`. */
  preview(count: number, after: number): number[];
}

export interface ParseOptions {
  /** IANA zone of a cron expression, and of an ISO time that has no offset; the zone of this machine when left out. */
  timezone?: string;
}

/** Reads a five-field cron expression (or a name such as `@daily`) or an ISO-8601 date and time; throws a ScheduleError when it is neither. */
export function parseSchedule(text: string, options: ParseOptions = {}): Schedule {
  const timezone = options.timezone ?? systemTimezone();
  const plain = text.trim().replace(/\s+/g, ' ');
  if (looksLikeIsoTime(plain)) return onceSchedule(plain, timezone);
  const key = `${timezone} ${plain}`;
  const known = cronSchedules.get(key);
  if (known !== undefined) return known;
  const schedule = cronSchedule(plain, timezone);
  if (cronSchedules.size >= keptSchedules) cronSchedules.clear();
  cronSchedules.set(key, schedule);
  return schedule;
}

/** Jobs with the same expression and zone share one schedule, and with it the last answers. */
const cronSchedules = new Map<string, Schedule>();
const keptSchedules = 10_000;

function cronSchedule(text: string, timezone: string): Schedule {
  const found = occurrences(cronPattern(text), zoneOf(timezone));
  return { type: 'cron', text, timezone, ...found, preview: (count, after) => preview(found, count, after) };
}

function onceSchedule(text: string, timezone: string): Schedule {
  const at = parseIsoTime(text, zoneOf(timezone));
  return {
    type: 'once',
    text,
    timezone,
    next: (after) => (at > after ? at : undefined),
    previous: (before) => (at < before ? at : undefined),
    preview: (count, after) => (at > after ? [at].slice(0, count) : []),
  };
}

function preview(found: Occurrences, count: number, after: number): number[] {
  const times: number[] = [];
  for (let time = found.next(after); time !== undefined && times.length < count; time = found.next(time)) {
    times.push(time);
  }
  return times;
}

function looksLikeIsoTime(text: string): boolean {
  return /^\d{4}-\d/.test(text);
}

/** The instant of an ISO-8601 date and time; without an offset it is a wall time of the zone. */
function parseIsoTime(text: string, zone: Zone): number {
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

/** The instants of a pattern in a zone: where wall times meet the clock's changes. */
interface Occurrences {
  next(after: number): number | undefined;
  previous(before: number): number | undefined;
}

function occurrences(pattern: CronPattern, zone: Zone): Occurrences {
  const found = pattern.fixed ? fixedOccurrences(pattern, zone) : rhythmOccurrences(pattern, zone);
  return remembering(found);
}

/** Each wall time runs once: at its first showing, or right after the jump when the clock leaps over it. */
function fixedOccurrences(pattern: CronPattern, zone: Zone): Occurrences {
  return {
    next: (after) =>
      search(pattern.next, zone.wallAt(after), (wall) =>
        onlyIf(fixedInstant(zone, wall), (at) => at > after),
      ),
    previous(before) {
      const start = zone.repeatAround(before)?.end ?? zone.wallAt(before);
      return search(pattern.previous, start, (wall) => onlyIf(fixedInstant(zone, wall), (at) => at < before));
    },
  };
}

/** Runs whenever the clock shows a match: not in the hour that is left out, twice in the hour that is repeated. */
function rhythmOccurrences(pattern: CronPattern, zone: Zone): Occurrences {
  return {
    next(after) {
      const ahead = search(pattern.next, zone.wallAt(after), (wall) =>
        zone.instantsOf(wall).find((at) => at > after),
      );
      return earlier(ahead, secondShowing(pattern, zone, after));
    },
    previous(before) {
      const behind = search(pattern.previous, zone.wallAt(before), (wall) =>
        zone.instantsOf(wall).findLast((at) => at < before),
      );
      return later(behind, firstShowing(pattern, zone, before));
    },
  };
}

/** In a repeated hour's first showing, the search ahead does not see that its wall times come once more. */
function secondShowing(pattern: CronPattern, zone: Zone, after: number): number | undefined {
  const repeat = zone.repeatAround(after);
  if (repeat === undefined || after >= repeat.putBackAt) return undefined;
  const wall = pattern.next(repeat.start - 1);
  return wall === undefined || wall >= repeat.end ? undefined : repeat.putBackAt + wall - repeat.start;
}

/** In a repeated hour's second showing, the search behind does not see the later wall times of the first. */
function firstShowing(pattern: CronPattern, zone: Zone, before: number): number | undefined {
  const repeat = zone.repeatAround(before);
  if (repeat === undefined || before < repeat.putBackAt) return undefined;
  const wall = pattern.previous(repeat.end);
  return wall === undefined || wall < repeat.start ? undefined : repeat.putBackAt + wall - repeat.end;
}

/** A time that the clock leaps over runs when the leap is done, unless that is on another day. */
function fixedInstant(zone: Zone, wall: number): number | undefined {
  const [first] = zone.instantsOf(wall);
  if (first !== undefined) return first;
  const leapt = zone.endOfGap(wall);
  return dayOf(zone.wallAt(leapt)) === dayOf(wall) ? leapt : undefined;
}

/** Goes from match to match until one has an instant that will do. */
function search(
  step: (wall: number) => number | undefined,
  start: number,
  instantOf: (wall: number) => number | undefined,
): number | undefined {
  for (let wall = step(start); wall !== undefined; wall = step(wall)) {
    const instant = instantOf(wall);
    if (instant !== undefined) return instant;
  }
  return undefined;
}

function onlyIf(instant: number | undefined, condition: (instant: number) => boolean): number | undefined {
  return instant !== undefined && condition(instant) ? instant : undefined;
}

function earlier(one: number | undefined, other: number | undefined): number | undefined {
  return one === undefined || other === undefined ? (one ?? other) : Math.min(one, other);
}

function later(one: number | undefined, other: number | undefined): number | undefined {
  return one === undefined || other === undefined ? (one ?? other) : Math.max(one, other);
}

function dayOf(wall: number): number {
  return Math.floor(wall / 86_400_000);
}

/** Caches the last answer, which holds for every time between the one asked for and itself: many jobs with one schedule cost one search. */
function remembering(found: Occurrences): Occurrences {
  let ahead = { after: 0, next: 0 };
  let behind = { previous: 0, before: 0 };
  return {
    next(after) {
      if (ahead.after <= after && after < ahead.next) return ahead.next;
      const next = found.next(after);
      if (next !== undefined) ahead = { after, next };
      return next;
    },
    previous(before) {
      if (behind.previous < before && before <= behind.before) return behind.previous;
      const previous = found.previous(before);
      if (previous !== undefined) behind = { previous, before };
      return previous;
    },
  };
}
