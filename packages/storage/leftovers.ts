import { randomBytes } from 'node:crypto';
import { readdir, rm } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { systemCode } from './errors.ts';

/** What killed writers left in a directory, by the file it was meant for. */
interface Listing {
  at: number;
  leftovers: Map<string, string[]>;
}

/** A directory may hold a hundred thousand files: it is not listed at every write. */
const listEveryMs = 60_000;
const keptListings = 1000;
const listings = new Map<string, Listing>();

export function temporaryName(path: string): string {
  return join(dirname(path), `.${basename(path)}.${process.pid}-${randomBytes(4).toString('hex')}.tmp`);
}

/** Removes temporary files of this path whose writer is gone; what was left within the last minute may stay for another. */
export async function removeLeftovers(path: string): Promise<void> {
  const directory = dirname(path);
  const { leftovers } = await listingOf(directory);
  const names = leftovers.get(basename(path)) ?? [];
  leftovers.delete(basename(path));
  for (const name of names) await rm(join(directory, name), { force: true });
}

async function listingOf(directory: string): Promise<Listing> {
  const known = listings.get(directory);
  if (known !== undefined && performance.now() - known.at < listEveryMs) return known;
  const at = performance.now();
  const found = (await readdir(directory)).flatMap((name) => leftoverIn(name) ?? []);
  const byFile = Map.groupBy(found, ({ file }) => file);
  const leftovers = new Map([...byFile].map(([file, all]) => [file, all.map(({ name }) => name)]));
  if (listings.size >= keptListings) listings.clear();
  listings.set(directory, { at, leftovers });
  return { at, leftovers };
}

/** A path has one writer per process, so an own name is of a former process with the same number. */
function leftoverIn(name: string): { file: string; name: string } | undefined {
  const [, file, writer] = /^\.(.+)\.(\d+)-[0-9a-f]{8}\.tmp$/.exec(name) ?? [];
  if (file === undefined || isOtherLiveProcess(Number(writer))) return undefined;
  return { file, name };
}

function isOtherLiveProcess(id: number): boolean {
  if (id === process.pid) return false;
  try {
    process.kill(id, 0);
    return true;
  } catch (error) {
    return systemCode(error) !== 'ESRCH';
  }
}
