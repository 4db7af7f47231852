import { expect, it } from 'vitest';
import { lazy } from './lazy.ts';

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
