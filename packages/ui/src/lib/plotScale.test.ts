import { expect, it } from 'vitest';
import { niceScale, runsOf } from '../components/Plot.tsx';

it.each([
  [0, 1, [0, 1]],
  [Number.NaN, 1, [0, 1]],
  [1, 1, [0, 0.25, 0.5, 0.75, 1]],
  [7, 8, [0, 2, 4, 6, 8]],
  [970, 1000, [0, 250, 500, 750, 1000]],
  [0.003, 0.003, [0, 0.001, 0.002, 0.003]],
])('an axis up to %d ends at %d', (largest, top, ticks) => {
  const scale = niceScale(largest);
  expect(scale.top).toBeCloseTo(top, 10);
  expect(scale.ticks).toEqual(ticks);
});

it('breaks a line where there is no value', () => {
  expect(runsOf([null, 1, 2, null, 3])).toEqual([
    [
      { index: 1, value: 1 },
      { index: 2, value: 2 },
    ],
    [{ index: 4, value: 3 }],
  ]);
  expect(runsOf([])).toEqual([]);
});
