import { setTimeout as delay } from 'node:timers/promises';

export interface WaitOptions {
  timeoutMs?: number;
  intervalMs?: number;
}

/** Asks again and again until the condition yields something truthy, and returns that. A throwing condition counts as not yet. */
export async function waitFor<Value>(
  condition: () => Value | Promise<Value>,
  { timeoutMs = 10_000, intervalMs = 10 }: WaitOptions = {},
): Promise<NonNullable<Value>> {
  const deadline = performance.now() + timeoutMs;
  for (;;) {
    const attempt = await attemptOf(condition);
    if (attempt.value) return attempt.value;
    if (performance.now() > deadline) throw timeoutError(condition, timeoutMs, attempt.error);
    await delay(intervalMs);
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
