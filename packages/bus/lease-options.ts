import { BusError } from './errors.ts';
import { checkName } from './names.ts';
import type { LeaseOptions } from './port.ts';

const shortestTtlMs = 1000;

export function checkLease(name: string, { ttlMs }: LeaseOptions): void {
  checkName('lease', name);
  checkTimeToLive(ttlMs);
}

export function checkTimeToLive(ttlMs: number): void {
  if (Number.isSafeInteger(ttlMs) && ttlMs >= shortestTtlMs) return;
  throw new BusError(
    'options_refused',
    `ttlMs is ${ttlMs}: give at least ${shortestTtlMs} whole milliseconds.`,
  );
}
