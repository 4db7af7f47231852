import { CronPattern as Fields } from 'croner';
import { type Calendar, calendarOf } from './calendar.ts';
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

const nicknames: Record<string, string> = {
  '@yearly': '0 0 1 1 *',
  '@annually': '0 0 1 1 *',
  '@monthly': '0 0 1 * *',
  '@weekly': '0 0 * * 0',
  '@daily': '0 0 * * *',
  '@midnight': '0 0 * * *',
  '@hourly': '0 * * * *',
};

function expandNickname(text: string): string {
  const expression = nicknames[text.toLowerCase()];
  if (expression !== undefined) return expression;
  const words = `"${text}" is no schedule: the names are ${Object.keys(nicknames).join(', ')}.`;
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
