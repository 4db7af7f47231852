import { Cron } from 'croner';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { parseSchedule } from './schedule.ts';

const zones = [
  'UTC',
  'Europe/Berlin',
  'America/New_York',
  'America/St_Johns',
  'America/Havana',
  'Australia/Lord_Howe',
  'Pacific/Apia',
  'Pacific/Chatham',
  'Asia/Kolkata',
  'Africa/Casablanca',
];

/** Random values of one field: a star, a step, a range, a list or a single number. */
function field(low: number, high: number): fc.Arbitrary<string> {
  const number = fc.integer({ min: low, max: high });
  return fc.oneof(
    fc.constant('*'),
    fc.integer({ min: 1, max: high }).map((step) => `*/${step}`),
    fc.tuple(number, number).map(([one, other]) => `${Math.min(one, other)}-${Math.max(one, other)}`),
    fc.uniqueArray(number, { minLength: 1, maxLength: 4 }).map((list) => list.join(',')),
    number.map(String),
  );
}

/**
 * croner looks for days that a short month does not have and lands in March: after February it leaves out the first when dates from
 * the 29th stand beside earlier ones, or when either a date or a weekday will do. What it is compared on holds neither;
 * the look at every day below holds both.
 */
const specialDates = fc.oneof(
  fc.constantFrom('L', 'LW', '1W', '15W', '31W', '1,15,L', '29', '30', '31', '29-31'),
  field(1, 28).map((text) => text.replace('*/', '1-28/')),
);
const weekday = fc.constantFrom('0', '1', '2', '3', '4', '5', '6', '7', 'MON', 'sat', '1-5', '5-7');
const showing = fc.constantFrom('', '', '#1', '#2', '#3', '#4', 'L');
const specialWeekdays = fc.tuple(weekday, showing).map((parts) => parts.join(''));
const months = fc.constantFrom('*', '1', '3,12', '*/2', 'JAN-DEC', '7-8');
const star = fc.constant('*');
/** Dates that fall on every weekday at some time, so that asking for both is not in vain. */
const bothDates = fc
  .tuple(fc.constantFrom('1', '13', '29', '30', '31', 'L', '1-7', '15,L'), weekday)
  .map(([date, day]) => `${date} * +${day}`);
const cronerDates = fc.oneof(
  fc.tuple(specialDates, months, star).map((fields) => fields.join(' ')),
  fc.tuple(star, months, specialWeekdays).map((fields) => fields.join(' ')),
  bothDates,
);
const eitherDates = fc.tuple(field(1, 28), field(1, 12), field(0, 6)).map((fields) => fields.join(' '));
const cronWith = (dates: fc.Arbitrary<string>) =>
  fc.tuple(field(0, 59), field(0, 23), dates).map((fields) => fields.join(' '));
const anyCron = cronWith(fc.oneof(cronerDates, eitherDates));
/** Those which croner treats as we do when the clock changes: one time a day, or a rhythm over all hours. */
const plainCron = fc.oneof(
  fc
    .tuple(fc.integer({ min: 0, max: 59 }), fc.integer({ min: 0, max: 23 }), cronerDates)
    .map((fields) => fields.join(' ')),
  fc.tuple(field(0, 59), fc.constantFrom('*', '*/2', '*/3'), cronerDates).map((fields) => fields.join(' ')),
);
const instant = fc.integer({ min: Date.UTC(2020, 0), max: Date.UTC(2040, 0) });
/** Instants within two days of a change of the clock somewhere, where mistakes would hide. */
const nearChange = fc
  .tuple(
    fc.constantFrom(
      '2026-03-08',
      '2026-03-29',
      '2026-04-05',
      '2026-10-04',
      '2026-10-25',
      '2026-11-01',
      '2027-03-07',
    ),
    fc.integer({ min: -172_800_000, max: 172_800_000 }),
  )
  .map(([day, distance]) => Date.parse(day) + distance);
const zone = fc.constantFrom(...zones);
const anyTime = fc.oneof(instant, nearChange);

describe('any cron expression in any zone', () => {
  it('gives a next time that is later, and a preview that rises', () => {
    fc.assert(
      fc.property(anyCron, zone, anyTime, (text, timezone, after) => {
        const times = parseSchedule(text, { timezone }).preview(6, after);
        expect(
          [after, ...times].every((time, index, all) => index === 0 || time > (all[index - 1] ?? time)),
        ).toBe(true);
        expect(times).toHaveLength(6);
      }),
    );
  });

  it('finds the same times backwards as forwards', () => {
    fc.assert(
      fc.property(anyCron, zone, anyTime, (text, timezone, after) => {
        const schedule = parseSchedule(text, { timezone });
        const times = schedule.preview(5, after);
        const last = times[4] ?? after;
        const back = [last];
        for (let step = 0; step < 4; step += 1) back.unshift(schedule.previous(back[0] ?? 0) ?? 0);
        expect(back).toEqual(times);
        expect(schedule.previous(times[0] ?? 0) ?? 0).toBeLessThanOrEqual(after);
      }),
    );
  });

  it('answers the same whatever was asked before', () => {
    fc.assert(
      fc.property(
        anyCron,
        zone,
        fc.array(nearChange, { minLength: 2, maxLength: 8 }),
        (text, timezone, times) => {
          const schedule = parseSchedule(text, { timezone });
          const ask = (time: number) => [schedule.next(time), schedule.previous(time)];
          const once = times.map(ask);
          expect(times.toReversed().map(ask).toReversed()).toEqual(once);
        },
      ),
    );
  });
});

describe('a look at every day', () => {
  const some = (low: number, high: number) =>
    fc.uniqueArray(fc.integer({ min: low, max: high }), { minLength: 1, maxLength: 5 });
  const anyDays = fc.record({
    minutes: some(0, 59),
    hours: some(0, 23),
    dates: fc.option(some(1, 31)),
    months: fc.option(some(1, 12)),
    weekdays: fc.option(some(0, 6)),
  });
  type Days = typeof anyDays extends fc.Arbitrary<infer Value> ? Value : never;

  const textOf = ({ minutes, hours, dates: days, months: inMonths, weekdays }: Days) =>
    [minutes, hours, days ?? '*', inMonths ?? '*', weekdays ?? '*'].join(' ');

  function matches({ dates: days, months: inMonths, weekdays }: Days, day: Date): boolean {
    if (inMonths !== null && !inMonths.includes(day.getUTCMonth() + 1)) return false;
    const byDate = days?.includes(day.getUTCDate());
    const byWeekday = weekdays?.includes(day.getUTCDay());
    return byDate === undefined && byWeekday === undefined ? true : Boolean(byDate) || Boolean(byWeekday);
  }

  function timesByLooking(days: Days, after: number): number[] {
    const minutes = days.hours.flatMap((hour) => days.minutes.map((minute) => hour * 60 + minute));
    const found: number[] = [];
    const firstDay = after - (after % 86_400_000);
    for (let day = firstDay; found.length < 10 && day < firstDay + 1500 * 86_400_000; day += 86_400_000) {
      if (!matches(days, new Date(day))) continue;
      const times = minutes.map((minute) => day + minute * 60_000).filter((time) => time > after);
      found.push(...times.sort((one, other) => one - other));
    }
    return found.slice(0, 10);
  }

  it('finds the same times, the last days of months included', () => {
    fc.assert(
      fc.property(anyDays, instant, (days, after) => {
        const expected = timesByLooking(days, after);
        fc.pre(expected.length === 10);
        expect(parseSchedule(textOf(days), { timezone: 'UTC' }).preview(10, after)).toEqual(expected);
      }),
    );
  });
});

describe('croner', () => {
  const theirs = (text: string, timezone: string) => new Cron(text, { mode: '5-part', timezone });

  it('agrees on any expression in UTC', () => {
    fc.assert(
      fc.property(cronWith(cronerDates), instant, (text, after) => {
        const ours = parseSchedule(text, { timezone: 'UTC' });
        expect(ours.preview(3, after)).toEqual(theirs(text, 'UTC').nextRuns(3, new Date(after)).map(Number));
        // croner leaves out fractions of a second when it looks back.
        const second = Math.ceil(after / 1000) * 1000;
        expect(ours.previous(after)).toBe(
          theirs(text, 'UTC').previousRuns(1, new Date(second))[0]?.getTime(),
        );
      }),
    );
  });

  it('agrees in every zone, clock changes included, on single times and on rhythms', () => {
    fc.assert(
      fc.property(plainCron, zone, anyTime, (text, timezone, after) => {
        const ours = parseSchedule(text, { timezone }).preview(3, after);
        expect(ours).toEqual(theirs(text, timezone).nextRuns(3, new Date(after)).map(Number));
      }),
      { numRuns: 200 },
    );
  });
});
