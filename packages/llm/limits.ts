import { AsyncLocalStorage } from 'node:async_hooks';
import { formatDuration } from '@trunkline/std';
import { type TranslationOptions, toModelError } from './error-translation.ts';
import { ModelError } from './model-error.ts';
import type { Timing } from './retry.ts';

export interface LimitOptions {
  timing: Timing;
  translation: TranslationOptions;
}

/** Called for every chunk of bytes that an endpoint sends; `keep-alive` for one that holds none of the answer. */
export type OnActivity = (kind?: 'keep-alive') => void;

const activities = new AsyncLocalStorage<OnActivity>();

/**
 * Gives the listener of the attempt that is being made. A client asks for it when a call starts, and calls it for every
 * chunk it receives, so that an endpoint which works or waits is told from one that is stuck.
 */
export function activityListener(): OnActivity {
  return activities.getStore() ?? (() => undefined);
}

/** A wait for the endpoint: words for its failure, the setting that changes the limit, and what extends it. */
interface Wait {
  what: string;
  milliseconds: number;
  setting: string;
  extendedBy: 'nothing' | 'data' | 'every byte';
}

/** The time limits of one attempt, joined with the caller's own signal. */
export interface RunningLimits {
  signal: AbortSignal;
  /** Starts work whose client reports its activity to these limits. */
  run<Result>(work: () => Result): Result;
  /** Limits the wait for something; the limit before ends. */
  await(wait: Wait): void;
  /** Nothing is waited for: the timer stops. */
  rest(): void;
  /** Stops the timer and drops the connection. */
  abandon(): void;
  /** The catalogued error for what the attempt threw: the caller's abort first, then a limit that struck. */
  explain(error: unknown): ModelError;
}

/** However an endpoint extends its limits, nothing is waited for once all the time of the answer, `answerMs`, is up. */
export function startLimits(
  caller: AbortSignal | undefined,
  { timing, translation }: LimitOptions,
  answerMs = Number.POSITIVE_INFINITY,
): RunningLimits {
  const own = new AbortController();
  const endsAt = timing.now() + answerMs;
  const whole = { what: 'no end of the answer', milliseconds: answerMs, setting: 'LLM_ANSWER_TIMEOUT_S' };
  let current: Wait | undefined;
  let timer: { cancel(): void } | undefined;
  const rest = () => {
    timer?.cancel();
    timer = undefined;
    current = undefined;
  };
  const start = (wait: Wait) => {
    rest();
    current = wait;
    const leftMs = endsAt - timing.now();
    const { what, milliseconds, setting } = leftMs < wait.milliseconds ? whole : wait;
    const detail = `${what} within ${formatDuration(milliseconds)}; ${setting} sets the limit`;
    const strike = () => own.abort(new ModelError('timeout', { detail }));
    if (leftMs > 0) timer = timing.setTimer(Math.min(leftMs, wait.milliseconds), strike);
    else strike();
  };
  const onActivity: OnActivity = (kind) => {
    if (current === undefined || current.extendedBy === 'nothing') return;
    if (kind === undefined || current.extendedBy === 'every byte') start(current);
  };
  return {
    signal: caller ? AbortSignal.any([caller, own.signal]) : own.signal,
    run: (work) => activities.run(onActivity, work),
    await: start,
    rest,
    abandon() {
      rest();
      own.abort(new ModelError('aborted'));
    },
    explain: (error) => explain(error, caller, own.signal, translation),
  };
}

export function explain(
  error: unknown,
  caller: AbortSignal | undefined,
  limit: AbortSignal | undefined,
  translation: TranslationOptions,
): ModelError {
  if (caller?.aborted) return new ModelError('aborted');
  if (limit?.reason instanceof ModelError) return limit.reason;
  return toModelError(error, translation);
}
