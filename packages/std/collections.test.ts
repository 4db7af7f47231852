import { expect, it } from 'vitest';
import { lazy, Roster } from './collections.ts';
import { BoundedMap } from './index.ts';

it('forgets what was set longest ago', () => {
  const map = new BoundedMap<string, number>(2);
  map.set('a', 1).set('b', 2).set('a', 3).set('c', 4);
  expect([...map]).toEqual([
    ['a', 3],
    ['c', 4],
  ]);
});

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

it('makes a value once, when it is first asked for', () => {
  let count = 0;
  const table = lazy(() => {
    count += 1;
    return new Map([['made', count]]);
  });
  expect(count).toBe(0);
  const first = table();
  expect(first.get('made')).toBe(1);
  expect(table()).toBe(first);
  expect(count).toBe(1);
});
