import { expect, it } from 'vitest';
import { formatDuration } from './index.ts';

it.each([
  [0, '0 ms'],
  [999, '999 ms'],
  [1000, '1 s'],
  [1450, '1.5 s'],
  [10_000, '10 s'],
  [10_100, '11 s'],
  [120_000, '120 s'],
  [121_000, '3 minutes'],
  [7_200_000, '120 minutes'],
  [7_201_000, '3 hours'],
])('shows %i ms as %s', (milliseconds, text) => {
  expect(formatDuration(milliseconds)).toBe(text);
});
