import { statfs } from 'node:fs/promises';
import type { Diagnosis } from '@trunkline/service';
import { dataDirectory } from '@trunkline/storage';

const LOW_BYTES = 1024 ** 3;
/** With less, the first start has no room for its databases. */
const NEEDED_BYTES = 16 * 1024 ** 2;

/** Proves that the data directory can be written, and looks at the room left on its disk. */
export async function checkDirectories(home: string): Promise<Diagnosis[]> {
  const subject = 'data directory';
  try {
    const { path } = await dataDirectory(undefined, home);
    return [{ subject, state: 'ok', words: `${path} can be written.` }, await roomAt(path)];
  } catch (error) {
    const advice = 'Set TRUNKLINE_HOME to a directory that this user may write.';
    return [{ subject, state: 'failed', words: (error as Error).message, advice }];
  }
}

async function roomAt(path: string): Promise<Diagnosis> {
  const { bavail, bsize } = await statfs(path);
  const free = bavail * bsize;
  const words = `${roomWords(free)} free at ${path}.`;
  if (free > LOW_BYTES) return { subject: 'disk', state: 'ok', words };
  return {
    subject: 'disk',
    state: free < NEEDED_BYTES ? 'failed' : 'warning',
    words,
    advice: 'Free some space, or set TRUNKLINE_HOME to a larger disk.',
  };
}

function roomWords(bytes: number): string {
  const gigabytes = bytes / 1024 ** 3;
  return gigabytes >= 1 ? `${gigabytes.toFixed(1)} GiB` : `${(gigabytes * 1024).toFixed(1)} MiB`;
}
