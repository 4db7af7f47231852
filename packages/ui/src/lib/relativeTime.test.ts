import { expect, it } from 'vitest';
import { relativeTime, wordsLastMs } from '../components/RelativeTime.tsx';

const NOW = new Date(2026, 0, 15, 12, 0, 0).getTime();
const MINUTE = 60_000;

it.each([
  [0, 'just now'],
  [-4_000, 'just now'],
  [5_000, 'in a moment'],
  [-40_000, '40 seconds ago'],
  [-5 * MINUTE, '5 minutes ago'],
  [3 * 60 * MINUTE, 'in 3 hours'],
  [-26 * 60 * MINUTE, 'yesterday'],
  [-38 * 60 * MINUTE, '2 days ago'],
  [45 * 60 * MINUTE, 'in 2 days'],
  [35 * 60 * MINUTE, 'tomorrow'],
  [-15 * 24 * 60 * MINUTE, '2 weeks ago'],
  [-400 * 24 * 60 * MINUTE, 'last year'],
])('says %i ms from now as "%s"', (distance, words) => {
  expect(relativeTime(NOW + distance, NOW)).toBe(words);
});

it('asks to be told anew sooner the closer the time is', () => {
  const lasts = [1_000, 10 * MINUTE, 5 * 60 * MINUTE].map((distance) => wordsLastMs(NOW - distance, NOW));
  expect(lasts).toEqual(lasts.toSorted((a, b) => a - b));
});
