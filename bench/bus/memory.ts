// Run as a child with --expose-gc and the name of a contestant: prints the bytes that one subscription takes.
import { execFileSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import type { BenchResult } from '../result.ts';
import { compared } from './measure.ts';
import { contestants, createWorkload, type Handler, withEmbeddedBus } from './peers.ts';

const script = fileURLToPath(import.meta.url);

/** Each in a process of its own, so that nobody pays for another's garbage. */
export function measureMemory(): BenchResult[] {
  const index = Object.fromEntries(Object.keys(contestants).map((name) => [name, bytesOf(name)]));
  const { mqemitter = 0, eventemitter2 = 0 } = index;
  const about = { unit: 'bytes', better: 'lower', goal: 'below 1 x' } as const;
  return [
    compared({ ...about, name: 'memory for one of 10,001 patterns in the index' }, index),
    compared(
      { ...about, name: 'memory for one of 10,001 subscriptions of the whole bus' },
      { ours: bytesOf('bus'), mqemitter, eventemitter2 },
    ),
  ];
}

function bytesOf(name: string): number {
  return Number(execFileSync(process.execPath, ['--expose-gc', script, name], { encoding: 'utf8' }));
}

if (process.argv[1] === script) console.log(await bytesPerSubscription(process.argv[2] ?? ''));

/** Patterns and handlers are there before, as whoever subscribes has them anyway. */
async function bytesPerSubscription(name: string): Promise<number> {
  const { patterns } = createWorkload();
  const handlers = patterns.map((_, index) => () => void index);
  if (name === 'bus')
    return withEmbeddedBus((bus) =>
      growth(patterns, handlers, (pattern, handler) => bus.subscribe(pattern, handler)),
    );
  const contestant = contestants[name]?.();
  return growth(patterns, handlers, async (pattern, handler) => contestant?.add(pattern, handler));
}

async function growth(
  patterns: readonly string[],
  handlers: readonly Handler[],
  add: (pattern: string, handler: Handler) => Promise<unknown>,
): Promise<number> {
  await add('warm.up', () => undefined);
  const before = usedHeap();
  for (const [index, pattern] of patterns.entries()) await add(pattern, handlers[index] ?? (() => undefined));
  return Math.round((usedHeap() - before) / patterns.length);
}

function usedHeap(): number {
  if (gc === undefined) throw new Error('Run this with --expose-gc');
  for (let round = 0; round < 4; round += 1) void gc();
  return process.memoryUsage().heapUsed;
}
