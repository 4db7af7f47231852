import { setTimeout as delay } from 'node:timers/promises';

const checkEveryMs = 5;

/** Waits until nothing is at work any more; false when that took too long. */
export async function drained(idle: () => boolean, timeoutMs: number): Promise<boolean> {
  const deadline = performance.now() + timeoutMs;
  while (!idle()) {
    if (performance.now() > deadline) return false;
    await delay(checkEveryMs);
  }
  return true;
}
