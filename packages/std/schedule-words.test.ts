import { expect, it } from 'vitest';
import { describeSchedule } from './schedule-words.ts';

it.each([
  ['0 8 * * *', 'Every day at 08:00'],
  ['30 8,18 * * *', 'Every day at 08:30 and 18:30'],
  ['0 9 * * 1-5', 'Monday to Friday at 09:00'],
  ['0 9 * * 0-6', 'Every day at 09:00'],
  ['0 9 * * 6,0', 'Every Sunday and Saturday at 09:00'],
  ['0 9 * * 5-7', 'Friday to Sunday at 09:00'],
  ['30 8 * * 1', 'Every Monday at 08:30'],
  ['0 9 * * 1,3,5', 'Every Monday, Wednesday and Friday at 09:00'],
  ['0 0 1 * *', 'On the 1st of every month at 00:00'],
  ['0 7 2,13,23 * *', 'On the 2nd, 13th and 23rd of every month at 07:00'],
  ['0 7 L * *', 'On the last day of every month at 07:00'],
  ['* * * * *', 'Every minute'],
  ['*/15 * * * *', 'Every 15 minutes'],
  ['*/15 * * * 1-5', 'Monday to Friday: every 15 minutes'],
  ['0 * * * *', 'Every hour'],
  ['20 * * * *', 'Every hour at 20 past'],
  ['0 */6 * * *', 'Every 6 hours'],
  ['  0  8 * *  * ', 'Every day at 08:00'],
  ['@daily', 'Every day at 00:00'],
  ['@Weekly', 'Every Sunday at 00:00'],
  ['@hourly', 'Every hour'],
])('says %s in words', (schedule, words) => {
  expect(describeSchedule(schedule)).toBe(words);
});

it.each([
  // Steps that begin anew with each hour or day.
  '*/7 * * * *',
  '0 */5 * * *',
  // The day of the month or the weekday.
  '0 9 13 * 5',
  '@yearly',
  '0 9 24 12 *',
  '0 9 * * 1#2',
  '0 9 * * MON',
  '0 9 * * 5-6',
  '15,45 * * * *',
  '15,45 9 * * *',
  '5 */2 * * *',
  '0 1,2,3,4,5 * * *',
  '0 9 32 * *',
  '0 24 * * *',
  '*/0 * * * *',
  '2027-01-31T09:00',
  '0 8 * *',
  '',
])('says nothing of %j, which no short sentence says', (schedule) => {
  expect(describeSchedule(schedule)).toBeUndefined();
});
