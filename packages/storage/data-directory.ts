import { randomBytes } from 'node:crypto';
import { mkdir, rm, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { reasonOf, StorageError } from './errors.ts';
import { safeFileName } from './safe-path.ts';

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

/** Creates the directory and writes a file in it; gives words when that fails. */
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
