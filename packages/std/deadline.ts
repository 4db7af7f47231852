/** Named like the reason of `AbortSignal.timeout`, so that checks by name hold for both. */
export class TimeoutError extends Error {
  override readonly name = 'TimeoutError';
  readonly code = 'timeout';
}

export interface DeadlineOptions {
  timeoutMs: number;
  /** Limit of the whole work, however often it is extended. */
  totalMs?: number;
  /** The caller's signal. */
  signal?: AbortSignal | undefined;
  /** Where timers come from; tests pass a clock that they move by hand. */
  clock?: { setTimer(delayMs: number, run: () => void): { cancel(): void } };
}

const maxTimerMs = 2 ** 31 - 1;
/** One reason for all: creating an error for each finished call costs a stack trace. */
const finished = new DOMException('The work is over.', 'AbortError');

/**
 * A signal that fires when the caller's signal does, with its reason, or with a TimeoutError when the time is up.
 * Unlike `AbortSignal.any([signal, AbortSignal.timeout(ms)])` it tells which of the two it was, it can be extended, and
 * `clear` frees the timer as soon as the work is done.
 */
export class Deadline {
  readonly signal: AbortSignal;
  readonly #controller = new AbortController();
  readonly #options: DeadlineOptions;
  readonly #cancelByCaller = () => this.abort(this.#options.signal?.reason);
  #timer: { cancel(): void };
  /** When the last announced wait is over, on the clock of `performance`. */
  #waitEndsAt = 0;
  #isExpired = false;
  #isTotalExpired = false;
  /** When all the time is up, on the clock of `performance`. */
  readonly #endsAt: number;

  constructor(options: DeadlineOptions) {
    this.#options = options;
    this.signal = this.#controller.signal;
    this.#endsAt =
      options.totalMs === undefined ? Number.POSITIVE_INFINITY : performance.now() + options.totalMs;
    this.#timer = this.#startTimer();
    if (options.signal?.aborted) this.#cancelByCaller();
    else options.signal?.addEventListener('abort', this.#cancelByCaller, { once: true });
  }

  /** The time was up before the caller aborted. */
  get isExpired(): boolean {
    return this.#isExpired;
  }

  /** It was `totalMs` that was up. */
  get isTotalExpired(): boolean {
    return this.#isTotalExpired;
  }

  get isAbortedByCaller(): boolean {
    return this.#options.signal?.aborted === true;
  }

  /**
   * Starts the time limit again from now, as when a stream makes progress. With `moreMs` it starts after a wait of that
   * length, which later progress does not take back.
   */
  extend(moreMs = 0): void {
    if (this.signal.aborted) return;
    const now = performance.now();
    if (moreMs > 0) this.#waitEndsAt = Math.max(this.#waitEndsAt, now + moreMs);
    this.#timer.cancel();
    this.#timer = this.#startTimer(Math.max(0, this.#waitEndsAt - now));
  }

  /** Fires the signal now. */
  abort(reason: unknown = finished): void {
    this.#controller.abort(reason);
    this.clear();
  }

  /** Frees the timer and the caller's signal; the state of `signal` stays as it is. */
  clear(): void {
    this.#timer.cancel();
    this.#options.signal?.removeEventListener('abort', this.#cancelByCaller);
  }

  #startTimer(moreMs = 0): { cancel(): void } {
    const { timeoutMs, totalMs = timeoutMs, clock = systemTimers } = this.#options;
    const left = this.#endsAt - performance.now();
    const isLast = left <= timeoutMs + moreMs;
    return clock.setTimer(isLast ? Math.max(0, left) : timeoutMs + moreMs, () => {
      this.#isExpired = true;
      this.#isTotalExpired = isLast;
      this.abort(new TimeoutError(`not finished within ${formatDuration(isLast ? totalMs : timeoutMs)}`));
    });
  }
}

/**
 * Runs work with a signal that fires at the deadline. Rejects at the deadline or when the caller aborts even if the work
 * ignores its signal.
 */
export async function withTimeout<Result>(
  options: DeadlineOptions,
  work: (signal: AbortSignal) => Promise<Result>,
): Promise<Result> {
  const deadline = new Deadline(options);
  try {
    deadline.signal.throwIfAborted();
    return await untilAborted(work(deadline.signal), deadline.signal);
  } finally {
    deadline.clear();
  }
}

/** Rejects with the signal's reason as soon as it fires; work that cannot be aborted goes on unobserved. */
export function untilAborted<Result>(work: Promise<Result>, signal: AbortSignal): Promise<Result> {
  return new Promise((resolve, reject) => {
    const abort = () => reject(signal.reason);
    signal.addEventListener('abort', abort, { once: true });
    if (signal.aborted) abort();
    const end = () => signal.removeEventListener('abort', abort);
    work.then(
      (result) => {
        end();
        resolve(result);
      },
      (error: unknown) => {
        end();
        reject(error);
      },
    );
  });
}

/** Rejects with the signal's reason when it fires; never resolves. */
export function whenAborted(signal: AbortSignal): Promise<never> {
  const { promise, reject } = Promise.withResolvers<never>();
  if (signal.aborted) reject(signal.reason);
  else signal.addEventListener('abort', () => reject(signal.reason), { once: true });
  return promise;
}

const systemTimers: NonNullable<DeadlineOptions['clock']> = {
  setTimer(delayMs, run) {
    const timer = setTimeout(run, Math.min(delayMs, maxTimerMs));
    return { cancel: () => clearTimeout(timer) };
  },
};

/** A time span for people: "250 ms", "1.5 s", "90 s", "5 minutes", "3 hours". Rounds up, so that a wait is never too short. */
export function formatDuration(milliseconds: number): string {
  if (milliseconds < 1000) return `${Math.ceil(milliseconds)} ms`;
  const seconds = Math.ceil(milliseconds / 100) / 10;
  if (seconds <= 120) return `${seconds < 10 ? seconds : Math.ceil(seconds)} s`;
  return seconds <= 7200 ? `${Math.ceil(seconds / 60)} minutes` : `${Math.ceil(seconds / 3600)} hours`;
}
