import { expect, it } from 'vitest';
import { ask } from './demo.suite.ts';
import { findTime } from './when.ts';

const wednesday = new Date('2026-03-04T10:00:00Z');

it.each([
  ['stretch in 5 minutes', '2026-03-04T10:05:00.000Z'],
  ['in an hour call Ann', '2026-03-04T11:00:00.000Z'],
  ['in half an hour', '2026-03-04T10:30:00.000Z'],
  ['in two days', '2026-03-06T10:00:00.000Z'],
  ['at 9', '2026-03-05T09:00:00.000Z'],
  ['at 6:15 pm', '2026-03-04T18:15:00.000Z'],
  ['at 12am', '2026-03-05T00:00:00.000Z'],
  ['at noon', '2026-03-04T12:00:00.000Z'],
  ['tonight', '2026-03-04T20:00:00.000Z'],
  ['tomorrow', '2026-03-05T09:00:00.000Z'],
  ['tomorrow at 18:30', '2026-03-05T18:30:00.000Z'],
  ['on Friday at 8', '2026-03-06T08:00:00.000Z'],
  ['next wednesday', '2026-03-11T09:00:00.000Z'],
  ['on 2026-05-01 at 10:30', '2026-05-01T10:30:00.000Z'],
  ['at 2026-05-01T10:30:00+02:00', '2026-05-01T08:30:00.000Z'],
  ['every day at 9', '0 9 * * *'],
  ['daily at 7:45pm', '45 19 * * *'],
  ['every morning', '0 9 * * *'],
  ['every evening', '0 20 * * *'],
  ['every weekday at 8:30', '30 8 * * 1-5'],
  ['every Monday at 10', '0 10 * * 1'],
  ['weekly on friday at 5pm', '0 17 * * 5'],
  ['monthly', '0 9 1 * *'],
  ['hourly', '0 * * * *'],
  ['every 15 minutes', '*/15 * * * *'],
  ['every 6 hours', '0 */6 * * *'],
  ['with cron 5 4 * * 0', '5 4 * * 0'],
])('reads "%s"', (text, when) => {
  expect(findTime(text, wednesday)?.when).toBe(when);
});

it.each(['whenever you like', 'at 99', 'every 90 minutes', 'in a while'])('finds no time in "%s"', (text) => {
  expect(findTime(text, wednesday)).toBeUndefined();
});

it.each([
  ['remind me in 5 minutes to stretch', { prompt: 'Reminder: stretch', when: '2026-03-04T10:05:00.000Z' }],
  [
    'Remind me to call mum tomorrow at 6pm',
    { prompt: 'Reminder: call mum', when: '2026-03-05T18:00:00.000Z' },
  ],
  ['every day at 9 tell me the news', { prompt: 'Tell me the news', when: '0 9 * * *' }],
  ['Every weekday at 8:30, check my inbox', { prompt: 'Check my inbox', when: '30 8 * * 1-5' }],
])('schedules "%s"', async (text, input) => {
  expect((await ask(text)).calls).toEqual([{ tool: 'schedule_task', input }]);
});

it('takes "every" in a question for no order', async () => {
  expect((await ask('What happens every day in London?')).calls).toMatchObject([{ tool: 'web_search' }]);
});

it.each([
  ['tomorrow at 9', 'Asia/Tokyo', '2026-03-05T09:00:00.000'],
  ['in 5 minutes', 'Europe/Berlin', '2026-03-04T11:05:00.000'],
  ['at 10:30', 'Europe/Berlin', '2026-03-05T10:30:00.000'],
  ['2026-03-05T09:00', 'Europe/Berlin', '2026-03-05T09:00:00.000'],
  ['2026-03-05T09:00+01:00', 'America/New_York', '2026-03-05T08:00:00.000Z'],
  ['every day at 8', 'Asia/Tokyo', '0 8 * * *'],
])('reads "%s" by the clock of %s', (text, zone, when) => {
  expect(findTime(text, wednesday, zone)?.when).toBe(when);
});
