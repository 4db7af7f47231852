import { expect, it } from 'vitest';
import { answerError, asApiError, unreachedError } from '../api/api.ts';
import { retryDelay } from './useResource.ts';

it('asks again ever later where the service did not answer', () => {
  const away = unreachedError(new TypeError('fetch failed'));
  expect([1, 2, 3, 4, 5, 50].map((failures) => retryDelay(away, failures, 0))).toEqual([
    3000, 6000, 12_000, 24_000, 30_000, 30_000,
  ]);
  expect(retryDelay(away, 1, 1)).toBe(3600);
  for (const status of [502, 503, 504]) expect(retryDelay(answerError(status, {}), 1, 0)).toBe(3000);
});

it('does not ask again what a mistake made fail', () => {
  for (const status of [400, 401, 403, 404, 409, 413, 422, 429, 500])
    expect(retryDelay(answerError(status, {}), 1, 0)).toBeUndefined();
  // Of the page itself: it has no status either.
  expect(retryDelay(asApiError(new TypeError('x is not a function')), 1, 0)).toBeUndefined();
});
