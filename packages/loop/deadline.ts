/** A signal that fires with its parent or when the time is up. */
export interface Deadline {
  signal: AbortSignal;
  expired(): boolean;
  /** Fires the signal now. */
  abort(): void;
  /** Lets go of the timer and the parent; the signal stays as it is. */
  end(): void;
}

const longestTimer = 2 ** 31 - 1;
/** Every turn ends with its signal: one reason for all spares each of them a stack trace. */
const over = new DOMException('The turn is over.', 'AbortError');

export function startDeadline(parent: AbortSignal | undefined, limitMs: number): Deadline {
  const controller = new AbortController();
  let expired = false;
  const abort = () => controller.abort(over);
  const expire = () => {
    expired = true;
    abort();
  };
  const timer = setTimeout(expire, Math.min(limitMs, longestTimer));
  if (parent?.aborted) abort();
  parent?.addEventListener('abort', abort, { once: true });
  return {
    signal: controller.signal,
    expired: () => expired,
    abort,
    end() {
      clearTimeout(timer);
      parent?.removeEventListener('abort', abort);
    },
  };
}

/** Never resolves; rejects when the signal fires. */
export function whenAborted(signal: AbortSignal): Promise<never> {
  const { promise, reject } = Promise.withResolvers<never>();
  if (signal.aborted) reject(signal.reason);
  else signal.addEventListener('abort', () => reject(signal.reason), { once: true });
  return promise;
}
