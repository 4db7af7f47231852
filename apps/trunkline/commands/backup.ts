import type { Stats } from 'node:fs';
import { copyFile, lstat, mkdir, readdir, readlink, realpath, rm, stat, symlink } from 'node:fs/promises';
import { dirname, join, relative, resolve, sep } from 'node:path';
import { defineOptions, helpText, homeOptions, secretStoreOf } from '@trunkline/config';
import { copyDatabase, ifExists, StorageError } from '@trunkline/storage';
import { CommandError, defineCommand } from './command.ts';

/** Files of running processes, which a copy does not need. */
const temporary = /(\.db-(wal|shm|journal)|^in-use\.lock)$/;

/** A copy that holds the secrets and their key would keep nothing secret. */
const secretsKey = /^secrets-key(\.new)?$/;

/** Folders that programs in the sandbox may change: a link there may be planted and is not followed. */
const changedByPrograms = /^(agent\/workspace|[^/]+\/sandbox)(\/|$)/;

const backupOptions = defineOptions('backup', 'Backup: copies all data into a new folder', homeOptions);

const usage = 'trunkline backup FOLDER';

/** Copies what is below TRUNKLINE_HOME, also while the services run. */
export const main = defineCommand({
  usage,
  options: backupOptions,
  takesWords: true,
  async run({ trunklineHome: home, secretsKeyFile }, env, [target, ...more]) {
    if (target === undefined || target.startsWith('-') || more.length > 0) {
      console.error(helpText(usage, backupOptions));
      return 2;
    }
    const { databases, files, damaged, skipped } = await copyHome(home, target, secretsKeyFile);
    console.log(`${databases} databases and ${files} other files of ${home} are now in ${target}.`);
    const store = secretStoreOf({ ...env, TRUNKLINE_HOME: home });
    if (store.exists()) {
      const words = `The secrets are in the copy, encrypted; their key is not. Keep a copy of it (${store.keyPlace}) in another place.`;
      console.log(words);
    }
    for (const path of damaged)
      console.error(`${path} is no whole database: it was copied as it is. Keep an older copy of it.`);
    for (const path of skipped)
      console.error(`${path} is neither a file nor a folder nor a link: it was left out.`);
    return damaged.length === 0 ? 0 : 1;
  },
});

interface Copied {
  databases: number;
  files: number;
  /** Databases that SQLite cannot read, copied as they are. */
  damaged: string[];
  /** Pipes, sockets and devices. */
  skipped: string[];
}

/** Copies all data of the services into a folder that is new or empty; they may go on working. */
async function copyHome(home: string, target: string, keyFile: string | undefined): Promise<Copied> {
  try {
    await check(home, target);
    const keys = keyFile === undefined ? [] : [keyFile, `${keyFile}.new`];
    return await copyAll(home, target, await Promise.all(keys.map(statIfThere)));
  } catch (error) {
    if (!isExplicable(error)) throw error;
    const words = `The copy failed: ${error.message}. What is in ${target} is not whole: mend that, and copy into a new folder.`;
    throw new CommandError(words, { cause: error });
  }
}

async function copyAll(home: string, target: string, keys: Keys): Promise<Copied> {
  const copied: Copied = { databases: 0, files: 0, damaged: [], skipped: [] };
  for await (const found of listFolder(home, { home, keys }, [])) {
    const to = join(target, relative(home, found.path));
    await mkdir(found.kind === 'folder' ? to : dirname(to), { recursive: true, mode: 0o700 });
    await copyOne(found, to, copied).catch((error: unknown) => ignoreGone(found.path, error));
  }
  return copied;
}

async function copyOne({ path, kind }: Found, to: string, copied: Copied): Promise<void> {
  if (kind === 'folder') return;
  if (kind === 'other') return void copied.skipped.push(path);
  if (kind === 'link') return await symlink(await readlink(path), to);
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

/** A file that a service removed or renamed since it was listed is left out. */
async function ignoreGone(path: string, error: unknown): Promise<void> {
  if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return;
  if ((await statIfThere(path)) !== undefined) throw error;
}

async function check(home: string, target: string): Promise<void> {
  if (!(await isFolder(home)))
    throw new CommandError(`There is no data at ${home}. Set TRUNKLINE_HOME to where it is.`);
  if (`${resolve(target)}${sep}`.startsWith(`${resolve(home)}${sep}`))
    throw new CommandError(`${target} lies inside ${home}. Name a folder outside of it.`);
  if ((await isFolder(target)) && (await readdir(target)).length > 0)
    throw new CommandError(`${target} is not empty. Name a new folder, so that no older copy is mixed in.`);
}

async function isFolder(path: string): Promise<boolean> {
  return (await statIfThere(path))?.isDirectory() ?? false;
}

/** Failures of the disk and of SQLite say what is wrong with which file. */
function isExplicable(error: unknown): error is Error {
  return error instanceof StorageError || (error instanceof Error && 'syscall' in error);
}

/** The files with the key of the secrets, as far as they are there. */
type Keys = readonly (Stats | undefined)[];

interface Found {
  path: string;
  kind: 'folder' | 'database' | 'file' | 'link' | 'other';
}

/** What is at a path; undefined for nothing, and for a link that leads nowhere. */
function statIfThere(path: string): Promise<Stats | undefined> {
  return ifExists(stat(path));
}

/** All that is below a folder; a folder comes before what is in it. The operator's links are followed. */
async function* listFolder(
  folder: string,
  { home, keys }: { home: string; keys: Keys },
  above: readonly string[],
): AsyncGenerator<Found> {
  const real = await ifExists(realpath(folder));
  // A link to a folder that it stands in would have no end.
  if (real === undefined || above.includes(real)) return;
  yield { path: folder, kind: 'folder' };
  const look = changedByPrograms.test(relative(home, folder)) ? lstat : stat;
  for (const name of (await ifExists(readdir(folder))) ?? []) {
    const path = join(folder, name);
    const found = await ifExists(look(path));
    // Model files are gigabytes that can be had again.
    if (folder === home && name === 'models') continue;
    if (found?.isDirectory()) yield* listFolder(path, { home, keys }, [...above, real]);
    else if ((folder === home && secretsKey.test(name)) || isOneOf(keys, found)) continue;
    else if (found !== undefined && !temporary.test(name)) yield { path, kind: kindOf(name, found) };
  }
}

/** Whatever path or link leads to the file. */
function isOneOf(files: Keys, found: Stats | undefined): boolean {
  return found !== undefined && files.some((file) => file?.ino === found.ino && file.dev === found.dev);
}

function kindOf(name: string, found: Stats): Found['kind'] {
  if (found.isSymbolicLink()) return 'link';
  if (!found.isFile()) return 'other';
  return name.endsWith('.db') ? 'database' : 'file';
}
