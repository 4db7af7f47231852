import { expect, it } from 'vitest';
import { readVerdict } from './verdict.ts';

it.each([
  ['signs', `no${'.'.repeat(300_000)} way`, 'no'],
  ['dots', `yes${'.'.repeat(300_000)}maybe`, 'unclear'],
  ['words', `${'ok do '.repeat(20_000)}nothing`, 'unclear'],
  ['known words', `${'yes please '.repeat(10_000)}`, 'yes'],
])('an answer of very many %s is read in little time', (_, answer, verdict) => {
  expect(readVerdict(answer)).toBe(verdict);
});
