import { AsyncLocalStorage } from 'node:async_hooks';
import { formatDuration } from '@trunkline/std';
import type { ModelErrorCode } from './model-error.ts';

/** A call of a model that failed and is tried again after a while. */
export interface ModelWait {
  waitMs: number;
  /** Why the call failed. */
  code: ModelErrorCode;
  /** Words for the one who waits. */
  message: string;
}

type WaitListener = (wait: ModelWait) => void;

const listeners = new AsyncLocalStorage<WaitListener>();
const shortestToldMs = 1000;

/** Runs work that calls models; the listener is told of each wait that a person would notice. */
export function listenForWaits<Result>(listener: WaitListener, work: () => Result): Result {
  return listeners.run(listener, work);
}

export function tellOfWait(code: ModelErrorCode, waitMs: number): void {
  if (waitMs < shortestToldMs) return;
  listeners.getStore()?.({
    code,
    waitMs,
    message: `${reasonOf(code)}; trying again in ${formatDuration(waitMs)}`,
  });
}

function reasonOf(code: ModelErrorCode): string {
  return code === 'rate-limited'
    ? 'The model endpoint limits the rate of calls'
    : 'The model endpoint did not answer';
}
