import { type TranslationOptions, toModelError } from './error-translation.ts';
import { ModelError } from './model-error.ts';
import type { Timing } from './retry.ts';

interface TimeLimits {
  totalMs: number;
  /** For streams: how long the first token may take. */
  firstTokenMs?: number;
}

export interface LimitOptions {
  timing: Timing;
  translation: TranslationOptions;
}

/** The time limits of one attempt, joined with the caller's own signal. */
export interface RunningLimits {
  signal: AbortSignal;
  firstTokenArrived(): void;
  /** Stops the timers. */
  end(): void;
  /** Stops the timers and drops the connection. */
  abandon(): void;
  /** The catalogued error for what the attempt threw: the caller's abort first, then a limit that struck. */
  explain(error: unknown): ModelError;
}

export function startLimits(
  caller: AbortSignal | undefined,
  limits: TimeLimits,
  { timing, translation }: LimitOptions,
): RunningLimits {
  const own = new AbortController();
  const strike = (what: string, milliseconds: number) =>
    timing.setTimer(milliseconds, () =>
      own.abort(new ModelError('timeout', { detail: `${what} within ${milliseconds} ms` })),
    );
  const total = strike('no complete answer', limits.totalMs);
  const first = limits.firstTokenMs === undefined ? undefined : strike('no first token', limits.firstTokenMs);
  const end = () => {
    total.cancel();
    first?.cancel();
  };
  return {
    signal: caller ? AbortSignal.any([caller, own.signal]) : own.signal,
    firstTokenArrived: () => first?.cancel(),
    end,
    abandon() {
      end();
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
