import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Bus, createEmbeddedBus, type EmbeddedBusOptions } from '@trunkline/bus';

/** Runs the work on an embedded bus whose journal goes away afterwards. */
export async function withEmbeddedBus<Result>(
  work: (bus: Bus) => Promise<Result>,
  options: Partial<EmbeddedBusOptions> = {},
): Promise<Result> {
  const directory = mkdtempSync(join(tmpdir(), 'trunkline-bench-'));
  const bus = await createEmbeddedBus({ ...options, directory });
  try {
    return await work(bus);
  } finally {
    await bus.stop();
    rmSync(directory, { recursive: true, force: true });
  }
}
