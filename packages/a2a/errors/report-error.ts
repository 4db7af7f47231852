import type { Logger } from '../protocol/logger.ts';
import { type A2aError, toA2aError } from './a2a-error.ts';

/** Callers learn nothing of an unforeseen failure; the log does. */
export function reportError(error: unknown, logger: Logger): A2aError {
  const reported = toA2aError(error);
  if (reported.reason === 'INTERNAL_ERROR') logger.error({ err: error }, 'an A2A request failed');
  return reported;
}
