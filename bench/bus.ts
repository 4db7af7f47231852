// The bus beside eventemitter2, mqemitter and qlobber: matching, delivery, memory; its journal and latency alone.
import { fileURLToPath } from 'node:url';
import { measureDelivery } from './bus/delivery.ts';
import { measureDurable } from './bus/durable.ts';
import { measureMatching } from './bus/matching.ts';
import { measureMemory } from './bus/memory.ts';
import type { BenchResult } from './result.ts';

export async function run(): Promise<BenchResult[]> {
  return [
    ...measureMatching(),
    ...(await measureDelivery()),
    ...measureMemory(),
    ...(await measureDurable()),
  ];
}

if (process.argv[1] === fileURLToPath(import.meta.url)) console.table(await run());
