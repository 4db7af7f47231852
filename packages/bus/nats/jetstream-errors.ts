import { setTimeout as delay } from 'node:timers/promises';
import { JetStreamApiCodes, JetStreamApiError } from '@nats-io/jetstream';
import { NoRespondersError, RequestError, TimeoutError } from '@nats-io/transport-node';
import { missingPermission } from './connection.ts';

const retryAfterMs = 250;

/**
 * Tries again while the servers elect a leader, or the connection is lost. Whatever is asked must do no harm when it is
 * done twice.
 */
export async function untilElected<Answer>(ask: () => Promise<Answer>, limit: RetryLimit): Promise<Answer> {
  const until = performance.now() + limit.timeoutMs;
  for (;;) {
    try {
      return await ask();
    } catch (error) {
      if (!isTemporary(error) || limit.signal.aborted || performance.now() > until) throw error;
      await delay(retryAfterMs);
    }
  }
}

interface RetryLimit {
  timeoutMs: number;
  signal: AbortSignal;
}

/** The copy of a stream that was asked lacks messages that are stored. */
export class StaleCopyError extends Error {
  constructor(sequence: number) {
    super(`a server has not caught up with message ${sequence}`);
  }
}

/** Whether another try may succeed as soon as there is a leader, or the servers agree. */
export function isTemporary(error: unknown): boolean {
  if (error instanceof JetStreamApiError) return error.status >= 500;
  if (missingPermission(error) !== undefined) return false;
  return [StaleCopyError, TimeoutError, RequestError, NoRespondersError].some(
    (type) => error instanceof type,
  );
}

/** What the server has under a name; undefined when it knows no such stream, consumer or message. */
export async function found<Answer>(asked: Promise<Answer>): Promise<Answer | undefined> {
  try {
    return await asked;
  } catch (error) {
    if (error instanceof JetStreamApiError && unknownCodes.includes(error.code)) return undefined;
    throw error;
  }
}

const unknownCodes: readonly number[] = [
  JetStreamApiCodes.StreamNotFound,
  JetStreamApiCodes.ConsumerNotFound,
  JetStreamApiCodes.NoMessageFound,
];
