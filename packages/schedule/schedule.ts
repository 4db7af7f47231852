import { cronPattern } from './cron-pattern.ts';
import { looksLikeIsoTime, parseIsoTime } from './iso-time.ts';
import { type Occurrences, occurrences } from './occurrences.ts';
import { systemTimezone, zoneOf } from './zone.ts';

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

/** Reads a five-field cron expression (or a name such as `@daily`) or an ISO-8601 date and time; throws words when it is neither. */
export function parseSchedule(text: string, options: ParseOptions = {}): Schedule {
  const timezone = options.timezone ?? systemTimezone();
  // As a rule it is written with single blanks.
  const asWritten = cronSchedules.get(`${timezone} ${text}`);
  if (asWritten !== undefined) return asWritten;
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
  return new OnceSchedule(text, timezone, parseIsoTime(text, zoneOf(timezone)));
}

/** A class, as there may be a great many of them: methods are shared and an instance holds three values. */
class OnceSchedule implements Schedule {
  readonly type = 'once';
  readonly text: string;
  readonly timezone: string;
  readonly #at: number;

  constructor(text: string, timezone: string, at: number) {
    this.text = text;
    this.timezone = timezone;
    this.#at = at;
  }

  next(after: number): number | undefined {
    return this.#at > after ? this.#at : undefined;
  }

  previous(before: number): number | undefined {
    return this.#at < before ? this.#at : undefined;
  }

  preview(count: number, after: number): number[] {
    return preview(this, count, after);
  }
}

function preview(found: Occurrences, count: number, after: number): number[] {
  const times: number[] = [];
  for (let time = found.next(after); time !== undefined && times.length < count; time = found.next(time)) {
    times.push(time);
  }
  return times;
}
