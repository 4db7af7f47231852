/** What a name such as `@daily` stands for. */
export const scheduleNicknames: Readonly<Record<string, string>> = {
  '@yearly': '0 0 1 1 *',
  '@annually': '0 0 1 1 *',
  '@monthly': '0 0 1 * *',
  '@weekly': '0 0 * * 0',
  '@daily': '0 0 * * *',
  '@midnight': '0 0 * * *',
  '@hourly': '0 * * * *',
};

const weekdays = ['Sunday', 'Monday', 'Tuesday', 'Wednesday', 'Thursday', 'Friday', 'Saturday'];
const lastWeekday = 7;
const mostTimes = 4;

/**
 * The cron expressions that people really write, in words: "Every day at 08:00", "Monday to Friday at 09:00", "Every 15 minutes".
 * Undefined for any other: a wrong sentence about a schedule is worse than five fields.
 */
export function describeSchedule(schedule: string): string | undefined {
  const fields = (scheduleNicknames[schedule.trim().toLowerCase()] ?? schedule).trim().split(/\s+/);
  const [minute = '', hour = '', date = '', month = '', weekday = ''] = fields;
  if (fields.length !== 5 || month !== '*') return undefined;
  const days = daysOf(date, weekday);
  if (days === undefined) return undefined;
  const times = timesOf(minute, hour);
  if (times !== undefined) return `${days} at ${joined(times)}`;
  const rhythm = rhythmOf(minute, hour);
  if (rhythm === undefined) return undefined;
  return days === 'Every day' ? rhythm : `${days}: ${rhythm.toLowerCase()}`;
}

/** Which days, where one field alone restricts them: with two, either will do, which no short sentence says. */
function daysOf(date: string, weekday: string): string | undefined {
  if (date === '*') return weekday === '*' ? 'Every day' : weekdaysOf(weekday);
  if (weekday !== '*') return undefined;
  if (date === 'L') return 'On the last day of every month';
  const dates = numbers(date, 1, 31);
  return dates && `On the ${joined(dates.map(ordinal))} of every month`;
}

function weekdaysOf(field: string): string | undefined {
  const range = /^([0-7])-([0-7])$/.exec(field);
  if (range !== null) {
    const [from, to] = [Number(range[1]), Number(range[2])];
    if (to - from < 2) return undefined;
    return to - from >= 6 ? 'Every day' : `${weekdays[from % lastWeekday]} to ${weekdays[to % lastWeekday]}`;
  }
  const listed = numbers(field, 0, lastWeekday)?.map((day) => weekdays[day % lastWeekday] ?? '');
  return listed && `Every ${joined(listed)}`;
}

/** Set times of the day, as a clock shows them. */
function timesOf(minute: string, hour: string): string[] | undefined {
  const [at, ...more] = numbers(minute, 0, 59) ?? [];
  const hours = numbers(hour, 0, 23);
  if (at === undefined || more.length > 0 || hours === undefined || hours.length > mostTimes)
    return undefined;
  return hours.map((each) => `${twoDigits(each)}:${twoDigits(at)}`);
}

/** Steps that come out even: the others begin anew with each hour or day, and so have no one length. */
function rhythmOf(minute: string, hour: string): string | undefined {
  if (hour === '*') {
    if (minute === '*') return 'Every minute';
    const step = stepOf(minute, 60);
    if (step !== undefined) return step === 1 ? 'Every minute' : `Every ${step} minutes`;
    const [at, ...more] = numbers(minute, 0, 59) ?? [];
    if (at === undefined || more.length > 0) return undefined;
    return at === 0 ? 'Every hour' : `Every hour at ${at} past`;
  }
  const step = minute === '0' ? stepOf(hour, 24) : undefined;
  return step === undefined ? undefined : step === 1 ? 'Every hour' : `Every ${step} hours`;
}

function stepOf(field: string, whole: number): number | undefined {
  const step = Number(/^\*\/(\d{1,2})$/.exec(field)?.[1]);
  return step > 0 && step < whole && whole % step === 0 ? step : undefined;
}

/** A number or a list of them, in the order of the clock or calendar. */
function numbers(field: string, least: number, most: number): number[] | undefined {
  if (!/^\d{1,2}(,\d{1,2})*$/.test(field)) return undefined;
  const listed = [...new Set(field.split(',').map(Number))].sort((one, other) => one - other);
  return listed.every((each) => each >= least && each <= most) ? listed : undefined;
}

function ordinal(date: number): string {
  const ending = date > 10 && date < 14 ? 'th' : (['th', 'st', 'nd', 'rd'][date % 10] ?? 'th');
  return `${date}${ending}`;
}

function joined(words: readonly string[]): string {
  return words.length < 2 ? words.join('') : `${words.slice(0, -1).join(', ')} and ${words.at(-1)}`;
}

function twoDigits(value: number): string {
  return String(value).padStart(2, '0');
}
