import { errorMessage } from '@trunkline/std';
import { readJsonFile, writeFileAtomic } from '@trunkline/storage';
import type { BusLogger } from '../port.ts';

/** When the streams and buckets were created whose losses are known so far. */
export interface StreamRecords {
  createdAt(name: string): string | undefined;
  /** Never rejects. */
  set(name: string, created: string): Promise<void>;
}

/** Stored in a file, so that what vanishes while no bus runs is noticed at the next start; without one nothing is stored. */
export async function openStreamRecords(path: string | undefined, logger: BusLogger): Promise<StreamRecords> {
  if (path === undefined) return { createdAt: () => undefined, set: async () => undefined };
  const known = new Map(await readRecords(path, logger));
  return {
    createdAt: (name) => known.get(name),
    async set(name, created) {
      if (known.get(name) === created) return;
      known.set(name, created);
      try {
        await writeFileAtomic(path, `${JSON.stringify(Object.fromEntries(known), null, 2)}\n`);
      } catch (error) {
        logger.warn({ file: path, err: error }, 'failed to record when streams were created');
      }
    },
  };
}

async function readRecords(path: string, logger: BusLogger): Promise<[string, string][]> {
  try {
    const stored = (await readJsonFile(path)) ?? {};
    return Object.entries(stored).filter(([, created]) => typeof created === 'string');
  } catch (error) {
    const words = `What vanished from NATS before this start cannot be told: ${errorMessage(error)}`;
    logger.error({ file: path }, words);
    return [];
  }
}
