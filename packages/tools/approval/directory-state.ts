import { createHash } from 'node:crypto';
import { lstat, readdir } from 'node:fs/promises';
import { join } from 'node:path';

const MAX_ENTRIES = 50_000;
/** Services write these all the time. One that a command names is among its scripts. */
const RECORDS = /\.(?:db|sqlite3?)(?:-wal|-shm|-journal)?$|\.(?:log|jsonl)$/;

/**
 * A digest of every file below a directory by name, size and time of change: which scripts a command runs cannot always
 * be read from its words (wildcards, variables, scripts that call scripts). Beyond 50,000 entries it covers those that
 * come first, and how many there are. Databases and logs are left out.
 */
export async function directoryState(directory: string): Promise<string> {
  const hash = createHash('sha256');
  const waiting = [''];
  let count = 0;
  for (let folder = waiting.shift(); folder !== undefined; folder = waiting.shift()) {
    const entries = await entriesOf(join(directory, folder));
    for (const entry of entries.sort((a, b) => (a.name < b.name ? -1 : 1))) {
      if (entry.isFile() && RECORDS.test(entry.name)) continue;
      const path = join(folder, entry.name);
      count += 1;
      if (count > MAX_ENTRIES) continue;
      if (entry.isDirectory()) waiting.push(path);
      else hash.update(`${path}\0${await factsOf(join(directory, path))}\0`);
    }
  }
  return hash.update(String(count)).digest('hex');
}

async function entriesOf(folder: string) {
  try {
    return await readdir(folder, { withFileTypes: true });
  } catch (error) {
    if (isGone(error)) return [];
    throw error;
  }
}

/** The time of the last change of an inode cannot be set by a program, unlike that of its content. */
async function factsOf(path: string): Promise<string> {
  try {
    const { size, ctimeNs, ino, mode } = await lstat(path, { bigint: true });
    return `${size} ${ctimeNs} ${ino} ${mode}`;
  } catch (error) {
    if (isGone(error)) return 'gone';
    throw error;
  }
}

function isGone(error: unknown): boolean {
  return /^(?:ENOENT|ENOTDIR|EACCES|EPERM)$/.test((error as NodeJS.ErrnoException).code ?? '');
}
