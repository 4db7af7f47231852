import { stat } from 'node:fs/promises';
import { setTimeout as delay } from 'node:timers/promises';
import { isMissing, readText } from './load.ts';

// A file that is gone or empty is most likely about to be written anew, so it is given more time.
const PATIENCE = 5;

/** Reads a file once it has stopped changing for `settleMs`; undefined when it stays missing. */
export async function readSettled(
  path: string,
  settleMs: number,
  signal: AbortSignal,
): Promise<string | undefined> {
  let seen = await markOf(path);
  for (let quiet = 0; ; quiet++) {
    if (quiet >= (seen.content ? 1 : PATIENCE)) {
      const text = await readText(path);
      if ((await markOf(path)).mark === seen.mark) return text;
    }
    await delay(settleMs, undefined, { signal });
    const now = await markOf(path);
    if (now.mark !== seen.mark) quiet = -1;
    seen = now;
  }
}

// Differs whenever the file was written, replaced or removed.
async function markOf(path: string): Promise<{ mark: string; content: boolean }> {
  try {
    const { dev, ino, size, mtimeNs, ctimeNs } = await stat(path, { bigint: true });
    return { mark: [dev, ino, size, mtimeNs, ctimeNs].join(':'), content: size > 0n };
  } catch (error) {
    if (isMissing(error)) return { mark: 'missing', content: false };
    throw error;
  }
}
