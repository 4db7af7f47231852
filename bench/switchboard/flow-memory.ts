// Run as a child with --expose-gc and the name of a contestant: prints the kilobytes that 10,000 finished flows take in memory.
import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { FlowStore } from '../../apps/switchboard/flows/flow-store.ts';
import { compared } from '../bus/measure.ts';
import type { BenchResult } from '../result.ts';

const flows = 10_000;
const script = fileURLToPath(import.meta.url);

/** Each in a process of its own, so that nobody pays for another's garbage. */
export function measureFlowMemory(): BenchResult {
  const about = { name: 'memory for 10,000 flows with their traces', unit: 'kB', better: 'lower' } as const;
  return compared(
    { ...about, goal: 'below 0.1 x' },
    { ours: kilobytesOf('store'), 'a Map of the same records': kilobytesOf('map') },
  );
}

function kilobytesOf(name: string): number {
  return Number(execFileSync(process.execPath, ['--expose-gc', script, name], { encoding: 'utf8' }));
}

if (process.argv[1] === script) console.log(process.argv[2] === 'map' ? inMap() : inStore());

function inStore(): number {
  const directory = mkdtempSync(join(tmpdir(), 'trunkline-bench-'));
  const store = new FlowStore(join(directory, 'flows.db'));
  fill(store, 0, 100);
  const before = usedHeap();
  fill(store, 100, flows);
  const grown = usedHeap() - before;
  store.close();
  rmSync(directory, { recursive: true, force: true });
  return Math.max(1, Math.round(grown / 1024));
}

function fill(store: FlowStore, from: number, count: number): void {
  for (let index = from; index < from + count; index += 1) {
    const [messageId, correlationId] = [`message-${index}`, `correlation-${index}`];
    const asked = { skill: 'work', request: `do part ${index}`, owner: 'anonymous' };
    const { id } = store.open({ messageId, correlationId, ...asked });
    store.trace(id, 'request', { skill: 'work', messageId });
    store.start(id, 'in-process', 'worker');
    store.trace(id, 'start', { agent: 'worker', executor: 'in-process' });
    store.trace(id, 'end', { taskState: 'completed' });
    store.finish(id, undefined);
  }
}

function inMap(): number {
  const before = usedHeap();
  const kept = new Map(
    Array.from({ length: flows }, (_, index) => [`skill-correlation-${index}`, recordOf(index)]),
  );
  const grown = usedHeap() - before;
  return kept.size === flows ? Math.round(grown / 1024) : 0;
}

function recordOf(index: number) {
  const at = Date.now();
  return {
    id: `skill-correlation-${index}`,
    type: 'skill',
    status: 'complete',
    stage: 'done',
    createdAt: at,
    startedAt: at,
    completedAt: at,
    durationMs: 1,
    skill: 'work',
    executorType: 'in-process',
    targetAgent: 'worker',
    errorPreview: null,
    updatedAt: at,
    trace: [
      { at, event: 'request', details: { skill: 'work', messageId: `message-${index}` } },
      { at, event: 'start', details: { agent: 'worker', executor: 'in-process' } },
      { at, event: 'end', details: { taskState: 'completed' } },
    ],
  };
}

function usedHeap(): number {
  if (gc === undefined) throw new Error('Run this with --expose-gc');
  for (let round = 0; round < 4; round += 1) void gc();
  const { heapUsed, external } = process.memoryUsage();
  return heapUsed + external;
}
