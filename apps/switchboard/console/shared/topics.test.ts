import { expect, it } from 'vitest';
import { fitsPattern } from './topics.ts';

it.each([
  ['#', 'a.b.c', true],
  ['a.#', 'a', true],
  ['a.#', 'a.b.c', true],
  ['a.*', 'a.b', true],
  ['a.*', 'a', false],
  ['a.*', 'a.b.c', false],
  ['a.b', 'a.b', true],
  ['a.b', 'a.c', false],
  ['*.b', 'a.b', true],
])('the pattern %s and the topic %s: %s', (pattern, topic, expected) => {
  expect(fitsPattern(pattern, topic)).toBe(expected);
});
