import { describe, expect, it } from 'vitest';
import { parseSchedule } from './schedule.ts';

const iso = (time: number | undefined) => (time === undefined ? undefined : new Date(time).toISOString());
const at = (text: string) => Date.parse(text);

/** The next fires after an instant, as UTC minutes. */
function fires(text: string, timezone: string, after: string, count: number): string[] {
  return parseSchedule(text, { timezone })
    .preview(count, at(after))
    .map((time) => new Date(time).toISOString().slice(0, 16));
}

/** The same fires found by walking backwards. */
function firesBackwards(text: string, timezone: string, before: string, count: number): string[] {
  const schedule = parseSchedule(text, { timezone });
  const found: string[] = [];
  for (
    let time = schedule.previous(at(before));
    time !== undefined && found.length < count;
    time = schedule.previous(time)
  ) {
    found.unshift(new Date(time).toISOString().slice(0, 16));
  }
  return found;
}

describe('a cron expression', () => {
  it('is told from an ISO time', () => {
    expect(parseSchedule('0 9 * * 1-5', { timezone: 'UTC' }).type).toBe('cron');
    expect(parseSchedule('@daily', { timezone: 'UTC' }).type).toBe('cron');
    expect(parseSchedule('2026-12-24T18:00', { timezone: 'UTC' }).type).toBe('once');
  });

  it('keeps its text with single blanks, and its zone', () => {
    const schedule = parseSchedule('  0   9 * *  MON-FRI ', { timezone: 'Europe/Berlin' });
    expect(schedule).toMatchObject({ text: '0 9 * * MON-FRI', timezone: 'Europe/Berlin' });
  });

  it('gives times strictly after and strictly before', () => {
    const schedule = parseSchedule('0 9 * * *', { timezone: 'UTC' });
    expect(iso(schedule.next(at('2026-01-01T08:59:59.999Z')))).toBe('2026-01-01T09:00:00.000Z');
    expect(iso(schedule.next(at('2026-01-01T09:00:00Z')))).toBe('2026-01-02T09:00:00.000Z');
    expect(iso(schedule.previous(at('2026-01-01T09:00:00.001Z')))).toBe('2026-01-01T09:00:00.000Z');
    expect(iso(schedule.previous(at('2026-01-01T09:00:00Z')))).toBe('2025-12-31T09:00:00.000Z');
  });

  it('uses the zone of this machine when none is given', () => {
    const zone = new Intl.DateTimeFormat().resolvedOptions().timeZone;
    expect(parseSchedule('0 9 * * *').timezone).toBe(zone);
  });

  it.each([
    ['@hourly', ['2026-01-15T13:00', '2026-01-15T14:00']],
    ['@daily', ['2026-01-16T00:00', '2026-01-17T00:00']],
    ['@midnight', ['2026-01-16T00:00', '2026-01-17T00:00']],
    ['@weekly', ['2026-01-18T00:00', '2026-01-25T00:00']],
    ['@monthly', ['2026-02-01T00:00', '2026-03-01T00:00']],
    ['@yearly', ['2027-01-01T00:00', '2028-01-01T00:00']],
    ['@Annually', ['2027-01-01T00:00', '2028-01-01T00:00']],
  ])('may be the name %s', (name, expected) => {
    expect(fires(name, 'UTC', '2026-01-15T12:30:00Z', 2)).toEqual(expected);
  });

  it.each([
    ['0 0 31 * *', ['2026-01-31T00:00', '2026-03-31T00:00', '2026-05-31T00:00']],
    ['0 0 L * *', ['2026-01-31T00:00', '2026-02-28T00:00', '2026-03-31T00:00']],
    ['0 0 29 2 *', ['2028-02-29T00:00', '2032-02-29T00:00', '2036-02-29T00:00']],
    ['59 23 31 12 *', ['2026-12-31T23:59', '2027-12-31T23:59', '2028-12-31T23:59']],
    ['0 12 * * 5#2', ['2026-02-13T12:00', '2026-03-13T12:00', '2026-04-10T12:00']],
    ['0 12 1 * 1', ['2026-01-19T12:00', '2026-01-26T12:00', '2026-02-01T12:00']],
  ])('knows the ends of months and leap years: %s', (text, expected) => {
    expect(fires(text, 'UTC', '2026-01-15T12:30:00Z', 3)).toEqual(expected);
  });

  it('goes from February to the first of March when a 31st is asked for too', () => {
    expect(fires('0 0 1,31 * *', 'UTC', '2030-02-24T12:00:00Z', 2)).toEqual([
      '2030-03-01T00:00',
      '2030-03-31T00:00',
    ]);
    expect(fires('0 0 1,31 * 0', 'UTC', '2030-02-24T12:00:00Z', 2)).toEqual([
      '2030-03-01T00:00',
      '2030-03-03T00:00',
    ]);
  });

  it('takes the end of February by the clock of the zone', () => {
    expect(fires('30 23 29 2 *', 'America/Los_Angeles', '2028-02-28T12:00:00Z', 1)).toEqual([
      '2028-03-01T07:30',
    ]);
  });

  it.each([
    ['60 * * * *', 'minute'],
    ['a * * * *', 'minute'],
    ['* 24 * * *', 'hour'],
    ['0 5-1 * * *', 'hour'],
    ['* * 0 * *', 'day of month'],
    ['* * 32 * *', 'day of month'],
    ['* * * 13 *', 'month'],
    ['* * * FOO *', 'month'],
    ['* * * * 8', 'day of week'],
    ['*/0 * * * *', 'minute'],
    ['0 0 30 2 *', 'day of month'],
    ['0 0 31 4,6,9,11 *', 'day of month'],
    ['0 0 L * +0#3', 'day of month'],
    ['0 0 LW * +0', 'day of month'],
  ])('names the wrong field of %s', (text, field) => {
    expect(() => parseSchedule(text)).toThrow(
      expect.objectContaining({
        code: 'schedule_invalid',
        field,
        message: expect.stringContaining(`"${text}"`),
      }),
    );
  });

  it.each([
    ['* * * * * *', /has 6 fields.*Seconds are not supported/],
    ['* * * *', /has 4 fields/],
    ['* * * * * * 2026', /has 7 fields/],
    ['tomorrow', /has 1 field:/],
    ['', /has 1 field:/],
    ['@reboot', /names are @yearly/],
  ])('refuses %j with words', (text, words) => {
    expect(() => parseSchedule(text)).toThrow(words);
  });
});

describe('a zone', () => {
  it.each(['Mars/Olympus', 'Europe/Berlinn', '', '+02:00', 'local'])('%j is refused', (timezone) => {
    for (const text of ['0 9 * * *', '2026-12-24T18:00', '2026-12-24T18:00Z']) {
      expect(() => parseSchedule(text, { timezone })).toThrow(
        expect.objectContaining({
          code: 'timezone_unknown',
          message: expect.stringContaining(`"${timezone}"`),
        }),
      );
    }
  });

  it('is found whatever its case', () => {
    expect(fires('0 9 * * *', 'europe/berlin', '2026-07-01T00:00:00Z', 1)).toEqual(['2026-07-01T07:00']);
  });
});

describe('the days on which the clock changes', () => {
  /** Both directions must give the same fires. */
  function expectFires(
    text: string,
    timezone: string,
    [from, to]: [string, string],
    expected: string[],
  ): void {
    expect(
      fires(text, timezone, from, expected.length + 1).filter((time) => at(`${time}Z`) < at(to)),
    ).toEqual(expected);
    const back = firesBackwards(text, timezone, to, expected.length + 1).filter(
      (time) => at(`${time}Z`) > at(from),
    );
    expect(back).toEqual(expected);
  }
  const spring: [string, string] = ['2026-03-28T12:00:00Z', '2026-03-30T12:00:00Z'];
  const autumn: [string, string] = ['2026-10-24T12:00:00Z', '2026-10-26T12:00:00Z'];

  it('in spring, a time that is left out runs once, right after the leap', () => {
    expectFires('30 2 * * *', 'Europe/Berlin', spring, ['2026-03-29T01:00', '2026-03-30T00:30']);
  });

  it('in spring, several left-out times run together once, and not again with 03:00', () => {
    expectFires('0,30 2 * * *', 'Europe/Berlin', spring, [
      '2026-03-29T01:00',
      '2026-03-30T00:00',
      '2026-03-30T00:30',
    ]);
    expectFires('0 2,3 * * *', 'Europe/Berlin', spring, [
      '2026-03-29T01:00',
      '2026-03-30T00:00',
      '2026-03-30T01:00',
    ]);
  });

  it('in autumn, a time that comes twice runs the first time only', () => {
    expectFires('30 2 * * *', 'Europe/Berlin', autumn, ['2026-10-25T00:30', '2026-10-26T01:30']);
    expectFires('0 2,14 * * *', 'Europe/Berlin', autumn, [
      '2026-10-25T00:00',
      '2026-10-25T13:00',
      '2026-10-26T01:00',
    ]);
  });

  it('a rhythm goes on evenly through both', () => {
    expectFires(
      '*/30 * * * *',
      'Europe/Berlin',
      ['2026-03-29T00:15:00Z', '2026-03-29T02:15:00Z'],
      ['2026-03-29T00:30', '2026-03-29T01:00', '2026-03-29T01:30', '2026-03-29T02:00'],
    );
    expectFires(
      '*/30 * * * *',
      'Europe/Berlin',
      ['2026-10-24T23:45:00Z', '2026-10-25T02:15:00Z'],
      ['2026-10-25T00:00', '2026-10-25T00:30', '2026-10-25T01:00', '2026-10-25T01:30', '2026-10-25T02:00'],
    );
  });

  it('a rhythm within the hour that is left out does not run that day, and runs twice in the repeated one', () => {
    expectFires('*/30 2 * * *', 'Europe/Berlin', spring, ['2026-03-30T00:00', '2026-03-30T00:30']);
    expectFires(
      '*/30 2 * * *',
      'Europe/Berlin',
      ['2026-10-24T12:00:00Z', '2026-10-25T12:00:00Z'],
      ['2026-10-25T00:00', '2026-10-25T00:30', '2026-10-25T01:00', '2026-10-25T01:30'],
    );
  });

  it('half an hour is left out on Lord Howe Island in spring and repeated in autumn', () => {
    const october: [string, string] = ['2026-10-03T00:00:00Z', '2026-10-04T16:00:00Z'];
    expectFires('15 2 * * *', 'Australia/Lord_Howe', october, ['2026-10-03T15:30', '2026-10-04T15:15']);
    const april: [string, string] = ['2026-04-04T00:00:00Z', '2026-04-05T16:00:00Z'];
    expectFires('45 1 * * *', 'Australia/Lord_Howe', april, ['2026-04-04T14:45', '2026-04-05T15:15']);
    expectFires(
      '*/15 1 * * *',
      'Australia/Lord_Howe',
      ['2026-04-04T12:00:00Z', '2026-04-04T20:00:00Z'],
      [
        '2026-04-04T14:00',
        '2026-04-04T14:15',
        '2026-04-04T14:30',
        '2026-04-04T14:45',
        '2026-04-04T15:00',
        '2026-04-04T15:15',
      ],
    );
  });

  it('midnight itself may be left out: Havana', () => {
    expectFires(
      '0 0 * * *',
      'America/Havana',
      ['2026-03-07T12:00:00Z', '2026-03-09T12:00:00Z'],
      ['2026-03-08T05:00', '2026-03-09T04:00'],
    );
  });

  it('a whole day may be left out: Samoa in 2011', () => {
    expectFires(
      '0 12 * * *',
      'Pacific/Apia',
      ['2011-12-29T00:00:00Z', '2012-01-01T00:00:00Z'],
      ['2011-12-29T22:00', '2011-12-30T22:00', '2011-12-31T22:00'],
    );
  });

  it('zones without changes and with odd offsets stay as they are', () => {
    expectFires('30 2 * * *', 'Asia/Kathmandu', spring, ['2026-03-28T20:45', '2026-03-29T20:45']);
    expectFires('30 2 * * *', 'UTC', spring, ['2026-03-29T02:30', '2026-03-30T02:30']);
  });
});

describe('an ISO time', () => {
  it.each([
    ['2026-12-24T18:00:00Z', '2026-12-24T18:00:00.000Z'],
    ['2026-12-24T18:00:00.123456Z', '2026-12-24T18:00:00.123Z'],
    ['2026-12-24T18:00:00.5z', '2026-12-24T18:00:00.500Z'],
    ['2026-12-24T18:00+01:00', '2026-12-24T17:00:00.000Z'],
    ['2026-12-24T18:00-0330', '2026-12-24T21:30:00.000Z'],
    ['2026-12-24T18:00+05', '2026-12-24T13:00:00.000Z'],
    ['2026-12-24 18:00', '2026-12-24T17:00:00.000Z'],
    ['2026-07-01T18:00:30', '2026-07-01T16:00:30.000Z'],
    ['2028-02-29T12:00', '2028-02-29T11:00:00.000Z'],
    ['2026-03-29T02:30', '2026-03-29T01:00:00.000Z'],
    ['2026-10-25T02:30', '2026-10-25T00:30:00.000Z'],
  ])('%s in Berlin is %s', (text, expected) => {
    const schedule = parseSchedule(text, { timezone: 'Europe/Berlin' });
    const time = at(expected);
    expect(iso(schedule.next(time - 1))).toBe(expected);
    expect(schedule.next(time)).toBeUndefined();
    expect(iso(schedule.previous(time + 1))).toBe(expected);
    expect(schedule.previous(time)).toBeUndefined();
    expect(schedule.preview(5, 0)).toEqual([time]);
    expect(schedule).toMatchObject({ type: 'once', text, timezone: 'Europe/Berlin' });
  });

  it('without an offset is UTC when that is the zone', () => {
    expect(iso(parseSchedule('2026-12-24T18:00', { timezone: 'UTC' }).next(0))).toBe(
      '2026-12-24T18:00:00.000Z',
    );
  });

  it.each([
    ['2026-12-24', /no time of day: write 2026-12-24T09:00/],
    ['2026-02-30T10:00', /no such day/],
    ['2027-02-29T10:00', /no such day/],
    ['2026-13-01T10:00', /no such day/],
    ['2026-12-24T24:00', /no such time of day/],
    ['2026-12-24T12:60', /no such time of day/],
    ['2026-12-24T12:00+25:00', /no offset \+25:00/],
    ['2026-12-24T12', /write it as/],
    ['2026-12-24T18:00 Europe/Berlin', /write it as/],
  ])('%s is refused with words', (text, words) => {
    expect(() => parseSchedule(text, { timezone: 'UTC' })).toThrow(words);
  });
});
