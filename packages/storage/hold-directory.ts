import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { createDirectory } from './database.ts';
import { StorageError } from './errors.ts';
import { rethrowSqlite } from './sqlite-errors.ts';

/** A lock that nobody refers to would be collected, and with it closed. */
const held = new Set<DatabaseSync>();

/** Long enough for a predecessor that is just ending. */
const patienceMs = 1000;

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
