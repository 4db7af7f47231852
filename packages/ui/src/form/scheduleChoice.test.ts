import { expect, it } from 'vitest';
import { readChoice, type ScheduleChoice, writeChoice } from './scheduleChoice.ts';

it.each<[string, ScheduleChoice]>([
  ['* * * * *', { kind: 'minutes', every: 1 }],
  ['*/15 * * * *', { kind: 'minutes', every: 15 }],
  ['7 * * * *', { kind: 'hourly', minute: 7 }],
  ['0 9 * * *', { kind: 'daily', time: '09:00' }],
  ['5 18 * * 1-5', { kind: 'weekdays', time: '18:05' }],
  ['30 7 * * 0,3', { kind: 'weekly', days: [0, 3], time: '07:30' }],
  ['0 0 1 * *', { kind: 'monthly', date: '1', time: '00:00' }],
  ['0 9 L * *', { kind: 'monthly', date: 'L', time: '09:00' }],
  ['2027-01-31T09:00', { kind: 'once', at: '2027-01-31T09:00' }],
])('reads %s and writes the same', (text, choice) => {
  expect(readChoice(text)).toEqual(choice);
  expect(writeChoice(choice)).toBe(text);
});

it.each([
  ...['@daily', '0 9 1 1 *', '0 9 1 * 1', '00 9 * * *', '0 9,18 * * *', '0 9 * * 3,0', '99 9 * * *'],
  ...['2027-01-31T09:00Z', 'whenever', '', '*/x * * * *', '0 9 32 * *', '*/7 * * * *'],
])('leaves %j as it is written', (text) => {
  expect(readChoice(text)).toEqual({ kind: 'cron', text });
});

it('writes nothing while something is missing', () => {
  expect(writeChoice({ kind: 'weekly', days: [], time: '09:00' })).toBe('');
  expect(writeChoice({ kind: 'daily', time: '' })).toBe('');
  expect(writeChoice({ kind: 'once', at: '' })).toBe('');
});
