import type { Stats } from 'node:fs';
import { readdir, realpath, stat } from 'node:fs/promises';
import { join } from 'node:path';

export interface Found {
  path: string;
  kind: 'folder' | 'database' | 'file';
}

/** Files of the moment, which a copy does not need. */
const passing = /(\.db-(wal|shm|journal)|^in-use\.lock)$/;

/** All that is below a folder, links followed; a folder comes before what is in it. */
export async function listHome(home: string): Promise<Found[]> {
  const found: Found[] = [];
  for await (const each of listFolder(home, [])) found.push(each);
  return found;
}

/** What is at a path; undefined for nothing, and for a link that leads nowhere. */
export function statIfThere(path: string): Promise<Stats | undefined> {
  return ifThere(stat(path));
}

async function* listFolder(folder: string, above: readonly string[]): AsyncGenerator<Found> {
  const real = await ifThere(realpath(folder));
  // A link to a folder that it stands in would have no end.
  if (real === undefined || above.includes(real)) return;
  yield { path: folder, kind: 'folder' };
  for (const name of (await ifThere(readdir(folder))) ?? []) {
    const path = join(folder, name);
    const found = await statIfThere(path);
    if (found?.isDirectory()) yield* listFolder(path, [...above, real]);
    else if (found?.isFile() && !passing.test(name))
      yield { path, kind: name.endsWith('.db') ? 'database' : 'file' };
  }
}

/** The services go on working: what they have removed meanwhile is not there. */
async function ifThere<Value>(asked: Promise<Value>): Promise<Value | undefined> {
  try {
    return await asked;
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return undefined;
    throw error;
  }
}
