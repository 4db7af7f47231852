import { randomBytes } from 'node:crypto';
import { mkdir, rm, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { backup, DatabaseSync } from 'node:sqlite';
import { pathToFileURL } from 'node:url';
import { createDirectory } from './database.ts';
import { reasonOf, rethrowSqlite, StorageError } from './errors.ts';
import { safeFileName } from './safe-path.ts';

/** A lock that nobody refers to would be collected, and with it closed. */
const held = new Set<DatabaseSync>();

/** Long enough for a predecessor that is just ending. */
const patienceMs = 1000;

/** All pages in one step: a copy in several steps restarts with every write in between. */
const pagesAtOnce = 0x7fffffff;

export interface DataDirectory {
  path: string;
  /** True when the configured directory could not be used; `reason` then says why. */
  fellBack: boolean;
  reason?: string;
}

/** Creates the configured directory, or the fallback when nothing is configured or it cannot be written. */
export async function dataDirectory(
  configured: string | undefined,
  fallback: string,
): Promise<DataDirectory> {
  const failure = configured === undefined ? undefined : await prove(configured);
  if (configured !== undefined && failure === undefined)
    return { path: resolve(configured), fellBack: false };
  const second = await prove(fallback);
  if (second !== undefined) throw refused([failure, second]);
  const path = resolve(fallback);
  return failure === undefined ? { path, fellBack: false } : { path, fellBack: true, reason: failure };
}

/** The folder of one service under the home of all data. */
export function serviceHome(home: string, service: string): string {
  return join(resolve(home), safeFileName(service));
}

/** Creates the directory and writes a file in it; returns the reason when that fails. */
async function prove(path: string): Promise<string | undefined> {
  const probe = join(path, `.probe-${randomBytes(6).toString('hex')}`);
  try {
    await mkdir(path, { recursive: true });
    await writeFile(probe, '', { flag: 'wx' });
    await rm(probe);
    return undefined;
  } catch (error) {
    return `${resolve(path)} is not writable: ${reasonOf(error)}`;
  }
}

function refused(failures: (string | undefined)[]): StorageError {
  const tried = failures.filter((failure) => failure !== undefined).join('; ');
  return new StorageError(
    'directory_unwritable',
    `No directory for data: ${tried}. Name one that this user may write.`,
  );
}

/** Copies a database into a new file, whole and at one moment, while others may write to it. */
export async function copyDatabase(from: string, to: string): Promise<void> {
  try {
    const source = new DatabaseSync(existing(from));
    try {
      await backup(source, to, { rate: pagesAtOnce });
    } finally {
      source.close();
    }
  } catch (error) {
    rethrowSqlite(from, error);
  }
}

/** A plain path would make a new database where there is none any more. */
function existing(path: string): URL {
  const place = pathToFileURL(path);
  place.searchParams.set('mode', 'rw');
  return place;
}

/**
 * Takes a directory for this process alone, until it is released or the process ends, however it ends. What a store
 * finds unfinished at its start is then really left behind, and not in the hands of another process.
 */
export function holdDirectory(path: string): { release(): void } {
  createDirectory(path);
  const place = join(path, 'in-use.lock');
  try {
    // SQLite's locks work alike on every system; nothing is written into the file.
    const lock = new DatabaseSync(place, { timeout: patienceMs });
    return hold(lock, path);
  } catch (error) {
    return rethrowSqlite(place, error);
  }
}

function hold(lock: DatabaseSync, path: string): { release(): void } {
  try {
    lock.exec('BEGIN EXCLUSIVE');
    held.add(lock);
    return { release: () => void (held.delete(lock) && lock.close()) };
  } catch (error) {
    lock.close();
    if (!isBusy(error)) throw error;
    const words = `Another process uses the data in ${path}: stop it, or set TRUNKLINE_HOME to another folder.`;
    throw new StorageError('directory_in_use', words, { cause: error });
  }
}

function isBusy(error: unknown): boolean {
  return error instanceof Error && 'errcode' in error && error.errcode === 5;
}
