import { copyFile, mkdir, readdir, rm } from 'node:fs/promises';
import { dirname, join, relative, resolve, sep } from 'node:path';
import { copyDatabase, StorageError } from '@trunkline/storage';
import { type Found, listHome, statIfThere } from './list-home.ts';

export class BackupError extends Error {}

export interface Copied {
  databases: number;
  files: number;
  /** Databases that SQLite cannot read, copied as they are. */
  damaged: string[];
}

/** Copies all data of the services into a folder that is new or empty; they may go on working. */
export async function copyHome(home: string, target: string): Promise<Copied> {
  try {
    await check(home, target);
    return await copyAll(home, target);
  } catch (error) {
    if (!isExplicable(error)) throw error;
    const words = `The copy failed: ${error.message}. What is in ${target} is not whole: mend that, and copy into a new folder.`;
    throw new BackupError(words, { cause: error });
  }
}

async function copyAll(home: string, target: string): Promise<Copied> {
  const copied: Copied = { databases: 0, files: 0, damaged: [] };
  for (const found of await listHome(home)) {
    const to = join(target, relative(home, found.path));
    await mkdir(found.kind === 'folder' ? to : dirname(to), { recursive: true, mode: 0o700 });
    await copyOne(found, to, copied).catch((error: unknown) => ignoreGone(found.path, error));
  }
  return copied;
}

async function copyOne({ path, kind }: Found, to: string, copied: Copied): Promise<void> {
  if (kind === 'folder') return;
  if (kind === 'database' && (await copiedByDatabase(path, to))) {
    copied.databases += 1;
    return;
  }
  await copyFile(path, to);
  if (kind === 'database') copied.damaged.push(path);
  else copied.files += 1;
}

/** False for a file that is no whole database. */
async function copiedByDatabase(path: string, to: string): Promise<boolean> {
  try {
    await copyDatabase(path, to);
    return true;
  } catch (error) {
    if (!(error instanceof StorageError && error.code === 'database_damaged')) throw error;
    await rm(to, { force: true });
    return false;
  }
}

/** What the services have removed or renamed since it was listed belongs to the past. */
async function ignoreGone(path: string, error: unknown): Promise<void> {
  if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return;
  if ((await statIfThere(path)) !== undefined) throw error;
}

async function check(home: string, target: string): Promise<void> {
  if (!(await isFolder(home)))
    throw new BackupError(`There is no data at ${home}. Set TRUNKLINE_HOME to where it is.`);
  if (`${resolve(target)}${sep}`.startsWith(`${resolve(home)}${sep}`))
    throw new BackupError(`${target} lies inside ${home}. Name a folder outside of it.`);
  if ((await isFolder(target)) && (await readdir(target)).length > 0)
    throw new BackupError(`${target} is not empty. Name a new folder, so that no older copy is mixed in.`);
}

async function isFolder(path: string): Promise<boolean> {
  return (await statIfThere(path))?.isDirectory() ?? false;
}

/** Failures of the disk and of SQLite say what is wrong with which file. */
function isExplicable(error: unknown): error is Error {
  return error instanceof StorageError || (error instanceof Error && 'syscall' in error);
}
