import { copyFile, mkdir, readdir, stat } from 'node:fs/promises';
import { dirname, join, relative, resolve, sep } from 'node:path';
import { copyDatabase } from '@trunkline/storage';

export class BackupError extends Error {}

export interface Copied {
  databases: number;
  files: number;
}

/** Beside a database stand files of the moment, which its copy does not need. */
const passing = /\.db-(wal|shm|journal)$/;

/** Copies all data of the services into a folder that is new or empty; they may go on working. */
export async function copyHome(home: string, target: string): Promise<Copied> {
  await check(home, target);
  const copied: Copied = { databases: 0, files: 0 };
  for (const path of await filesBelow(home)) {
    const to = join(target, relative(home, path));
    await mkdir(dirname(to), { recursive: true, mode: 0o700 });
    if (path.endsWith('.db')) {
      await copyDatabase(path, to);
      copied.databases += 1;
    } else if (await copyIfThere(path, to)) {
      copied.files += 1;
    }
  }
  return copied;
}

/** A file that the services have removed or renamed since it was listed belongs to the past. */
async function copyIfThere(from: string, to: string): Promise<boolean> {
  try {
    await copyFile(from, to);
    return true;
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return false;
    throw error;
  }
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
  const found = await stat(path).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return undefined;
    throw error;
  });
  return found?.isDirectory() ?? false;
}

async function filesBelow(directory: string): Promise<string[]> {
  const entries = await readdir(directory, { recursive: true, withFileTypes: true });
  return entries
    .filter((entry) => entry.isFile() && !passing.test(entry.name))
    .map((entry) => join(entry.parentPath, entry.name));
}
