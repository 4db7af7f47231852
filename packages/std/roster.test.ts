import { expect, it } from 'vitest';
import { Roster } from './roster.ts';

it('holds each member until it is removed, also where one was added twice', () => {
  const roster = new Roster<string>();
  const [removeA, removeB, removeC, removeSecondA] = ['a', 'b', 'c', 'a'].map((name) => roster.add(name));
  expect(roster.all()).toEqual(['a', 'b', 'c', 'a']);
  removeB?.();
  removeB?.();
  expect(roster.all().toSorted()).toEqual(['a', 'a', 'c']);
  removeA?.();
  removeC?.();
  expect(roster.all()).toEqual(['a']);
  removeSecondA?.();
  removeC?.();
  expect(roster.all()).toEqual([]);
  roster.add('d');
  removeA?.();
  expect(roster.all()).toEqual(['d']);
});
