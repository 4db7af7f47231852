import type { ApiError } from '../api/api.ts';

const FIRST_MS = 3000;
const LONGEST_MS = 30_000;
/** Pages that failed together do not ask again together. */
const SPREAD = 0.2;

/**
 * After how long to ask again what failed so many times in a row, each time later. Undefined where nothing will have changed:
 * for a service that starts again or a network that changes nobody should have to reload the page, but a mistake stays one.
 */
export function retryDelay(
  { status, code }: Pick<ApiError, 'status' | 'code'>,
  failures: number,
  chance = Math.random(),
): number | undefined {
  const mayPass =
    (status === 0 && code !== 'UNEXPECTED') || status === 502 || status === 503 || status === 504;
  if (!mayPass) return undefined;
  const delay = Math.min(LONGEST_MS, FIRST_MS * 2 ** Math.max(0, Math.min(failures - 1, 10)));
  return Math.round(delay * (1 + SPREAD * chance));
}
