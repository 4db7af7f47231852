import { setTimeout as delay } from 'node:timers/promises';

export interface WaitOptions {
  timeoutMs?: number;
  /** Between attempts; by default it grows from 10 ms to 50. */
  intervalMs?: number;
}

/** Only tells a hang from a busy machine: what is asserted is the condition. */
export const HANGS_MS = 120_000;
const SHORTEST_INTERVAL_MS = 10;
/** Asking a page or a service takes processor time from what is waited for. */
const LONGEST_INTERVAL_MS = 50;

/** Asks again and again until the condition yields something truthy, and returns that. A throwing condition counts as not yet. */
export async function waitFor<Value>(
  condition: () => Value | Promise<Value>,
  { timeoutMs = HANGS_MS, intervalMs }: WaitOptions = {},
): Promise<NonNullable<Value>> {
  const started = performance.now();
  for (;;) {
    const attempt = await attemptOf(condition);
    if (attempt.value) return attempt.value;
    const waited = performance.now() - started;
    if (waited > timeoutMs) throw timeoutError(condition, timeoutMs, attempt.error);
    await delay(intervalMs ?? Math.min(LONGEST_INTERVAL_MS, Math.max(SHORTEST_INTERVAL_MS, waited / 10)));
  }
}

async function attemptOf<Value>(condition: () => Value | Promise<Value>) {
  try {
    return { value: await condition() };
  } catch (error) {
    return { error };
  }
}

function timeoutError(condition: unknown, timeoutMs: number, cause: unknown): Error {
  return new Error(`The condition did not come true within ${timeoutMs} ms: ${condition}`, { cause });
}
