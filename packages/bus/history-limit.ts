import { BusError } from './errors.ts';
import type { HistoryQuery } from './port.ts';

const defaultLimit = 100;
const largestLimit = 1000;

export function historyLimit({ limit = defaultLimit }: HistoryQuery): number {
  if (Number.isSafeInteger(limit) && limit >= 1) return Math.min(limit, largestLimit);
  throw new BusError('options_refused', `limit is ${limit}: give a whole number from 1 to ${largestLimit}.`);
}
