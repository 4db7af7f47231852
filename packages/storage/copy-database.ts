import { backup, DatabaseSync } from 'node:sqlite';
import { pathToFileURL } from 'node:url';
import { rethrowSqlite } from './sqlite-errors.ts';

/** All of it in one step: a copy in several begins anew whenever somebody writes meanwhile. */
const pagesAtOnce = 0x7fffffff;

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
