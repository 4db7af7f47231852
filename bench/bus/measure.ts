import type { BenchResult } from '../result.ts';

const perCheck = 500;

/**
 * Calls in a second of processor time, its garbage collection included: what else the machine does then counts for nobody.
 * Goes on in the list where it stopped the last time.
 */
export function rate(
  topics: readonly string[],
  milliseconds: number,
  call: (topic: string) => unknown,
): number {
  const before = process.cpuUsage();
  const start = performance.now();
  let calls = 0;
  while (performance.now() - start < milliseconds) {
    for (let index = 0; index < perCheck; index += 1) {
      call(topics[(position + index) % topics.length] ?? '');
    }
    position += perCheck;
    calls += perCheck;
  }
  const { user, system } = process.cpuUsage(before);
  return (calls / (user + system)) * 1_000_000;
}

let position = 0;

export function median(values: readonly number[]): number {
  return [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)] ?? 0;
}

export function percentile(values: readonly number[], share: number): number {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0;
}

/** Ours beside the others; the ratio is to the best of them. */
export function compared(
  about: Pick<BenchResult, 'name' | 'unit' | 'better' | 'goal'>,
  { ours = 0, ...peers }: Record<string, number>,
): BenchResult {
  const values = Object.values(peers);
  const best = about.better === 'higher' ? Math.max(...values) : Math.min(...values);
  return { ...about, ours, peers, ratio: values.length === 0 ? 0 : ours / best };
}
