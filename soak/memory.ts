import { readFileSync, rmSync } from 'node:fs';
import { waitFor } from '@trunkline/testing';

/** Memory of the process, in megabytes: all it has, and what is left of its heap after a collection. */
export interface Sample {
  rss: number;
  heap: number;
}

export interface Growth {
  first: Sample;
  last: Sample;
  isFlat: boolean;
}

/** A fifth more, and what caches of a young process take, are no leak. */
const allowedGrowth = 1.2;
const allowedHeapMegabytes = 30;
const allowedRssMegabytes = 150;

/** Asks the process, which tells it into the file. */
export async function sampleMemory(pid: number, file: string): Promise<Sample> {
  rmSync(file, { force: true });
  process.kill(pid, 'SIGUSR2');
  const told = await waitFor(() => JSON.parse(readFileSync(file, 'utf8')), { timeoutMs: 20_000 });
  return { rss: megabytes(told.rss), heap: megabytes(told.heapUsed) };
}

export function growthOf(first: Sample, last: Sample): Growth {
  const isHeapFlat = last.heap <= first.heap * allowedGrowth + allowedHeapMegabytes;
  const isRssFlat = last.rss <= first.rss * allowedGrowth + allowedRssMegabytes;
  return { first, last, isFlat: isHeapFlat && isRssFlat };
}

function megabytes(bytes: number): number {
  return Math.round(bytes / 1_048_576);
}
