import { AsyncLocalStorage } from 'node:async_hooks';
import { formatDuration } from '@trunkline/std';
import type { ModelError, ModelErrorCode } from './model-error.ts';

const listeners = new AsyncLocalStorage<WaitListener>();

const shortestToldMs = 1000;

/** Where time and chance come from; tests put their own here. */
export interface Timing {
  now(): number;
  /** Runs the action once after the time, unless it is called off. */
  setTimer(milliseconds: number, action: () => void): { cancel(): void };
  /** A number from 0 up to 1. */
  random(): number;
}

export interface Logger {
  warn(facts: object, message: string): void;
}

export interface RetryPolicy {
  maxRetries: number;
  timing: Timing;
  logger: Logger | undefined;
  /** How long a model that is being loaded is waited for. */
  loadingMs(candidate: object): number;
  /** Turns what an attempt threw into a catalogued error; an abort of the caller shows as `aborted`. */
  explain(error: unknown, signal: AbortSignal | undefined): ModelError;
}

/** How often a model that is being loaded is asked again, unless its endpoint says when. */
const loadingPauseMs = 3000;
/** Some endpoints ask to be called again in 0 s for as long as they load. */
const shortestLoadingPauseMs = 1000;
const firstWaitMs = 500;
const longestBackoffMs = 8_000;
// Most endpoints count rates by the minute. A longer wait fails at once.
const longestWaitMs = 60_000;

export const systemTiming: Timing = {
  now: Date.now,
  setTimer(milliseconds, action) {
    const timer = setTimeout(action, milliseconds);
    return { cancel: () => clearTimeout(timer) };
  },
  random: Math.random,
};

/** Tries each candidate in order, each with retries, until one succeeds; throws the last failure. */
export async function tryInTurn<Candidate extends { modelId: string }, Result>(
  candidates: readonly [Candidate, ...Candidate[]],
  policy: RetryPolicy,
  signal: AbortSignal | undefined,
  attempt: (candidate: Candidate) => Promise<Result>,
): Promise<Result> {
  const [candidate, ...rest] = candidates;
  try {
    return await withRetries(candidate, policy, signal, attempt);
  } catch (error) {
    const failure = policy.explain(error, signal);
    if (!isNonEmpty(rest) || !mayHelpElsewhere(failure)) throw failure;
    const facts = { model: candidate.modelId, next: rest[0].modelId, code: failure.code };
    policy.logger?.warn(facts, 'model failed, falling back to the next');
    return await tryInTurn(rest, policy, signal, attempt);
  }
}

async function withRetries<Candidate extends { modelId: string }, Result>(
  candidate: Candidate,
  policy: RetryPolicy,
  signal: AbortSignal | undefined,
  attempt: (candidate: Candidate) => Promise<Result>,
): Promise<Result> {
  let retry = 0;
  let loading: { until: number } | undefined;
  for (;;) {
    try {
      return await attempt(candidate);
    } catch (error) {
      const failure = policy.explain(error, signal);
      if (failure.code === 'loading') {
        loading ??= startLoadingWait(candidate, policy);
        const pauseMs = Math.max(failure.retryAfterMs ?? loadingPauseMs, shortestLoadingPauseMs);
        if (policy.timing.now() + pauseMs > loading.until) throw failure;
        await sleep(pauseMs, policy.timing, signal);
        continue;
      }
      if (retry >= policy.maxRetries || !isQuickFailure(failure)) throw failure;
      const waitMs = waitBefore(retry, failure, policy.timing);
      policy.logger?.warn(
        { model: candidate.modelId, code: failure.code, waitMs },
        'model call failed, retrying',
      );
      tellOfWait(failure.code, waitMs);
      await sleep(waitMs, policy.timing, signal);
      retry += 1;
    }
  }
}

/** A model that is being loaded is waited for as long as its profile says; the person is told once. */
function startLoadingWait(candidate: { modelId: string }, { timing, logger, ...policy }: RetryPolicy) {
  const loadingMs = policy.loadingMs(candidate);
  logger?.warn({ model: candidate.modelId, loadingMs }, 'model is being loaded, waiting for it');
  listeners.getStore()?.({
    code: 'loading',
    waitMs: loadingMs,
    message: `The model is being loaded; waiting for it, up to ${formatDuration(loadingMs)}`,
  });
  return { until: timing.now() + loadingMs };
}

async function sleep(milliseconds: number, timing: Timing, signal: AbortSignal | undefined): Promise<void> {
  signal?.throwIfAborted();
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  const wake = () => reject(signal?.reason);
  const timer = timing.setTimer(milliseconds, resolve);
  signal?.addEventListener('abort', wake);
  try {
    await promise;
  } finally {
    timer.cancel();
    signal?.removeEventListener('abort', wake);
  }
}

/** A timeout has used up its time already, and retrying before the requested time fails again. */
function isQuickFailure({ retryable, code, retryAfterMs = 0 }: ModelError): boolean {
  return retryable && code !== 'timeout' && retryAfterMs <= longestWaitMs;
}

/** Other models stand behind the same address, key and account. */
function mayHelpElsewhere(failure: ModelError): boolean {
  if (failure.status === 403) return true;
  return !['aborted', 'refused-key', 'no-credit', 'unreachable', 'misconfigured'].includes(failure.code);
}

/** What the endpoint asked for, else doubling waits of which up to half is left to chance. */
function waitBefore(retry: number, failure: ModelError, timing: Timing): number {
  if (failure.retryAfterMs !== undefined) return failure.retryAfterMs;
  const backoff = Math.min(firstWaitMs * 2 ** retry, longestBackoffMs);
  return Math.round(backoff * (1 - timing.random() / 2));
}

function isNonEmpty<Item>(items: Item[]): items is [Item, ...Item[]] {
  return items.length > 0;
}

/** A call of a model that failed and is tried again after a while, or a note about the call for the person who waits. */
export interface ModelWait {
  /** 0 for a note. */
  waitMs: number;
  /** Why the call failed; `slow` for a note about work that takes long, which is no use when it is over. */
  code: ModelErrorCode | 'note' | 'slow';
  /** For the person who waits. */
  message: string;
}

type WaitListener = (wait: ModelWait) => void;

/** Runs work that calls models; the listener hears of each wait that a person would notice. */
export function listenForWaits<Result>(listener: WaitListener, work: () => Result): Result {
  return listeners.run(listener, work);
}

/** Tells whoever listens something about the call that they should know: that tools are not offered, say. */
export function tellNote(message: string): void {
  listeners.getStore()?.({ code: 'note', waitMs: 0, message });
}

function tellOfWait(code: ModelErrorCode, waitMs: number): void {
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
