import { errorMessage } from '@trunkline/std';
import { StorageError, type StorageErrorCode, systemCode } from './errors.ts';

/** Throws what SQLite reported: trouble with the file in words that name it, everything else as it came. */
export function rethrowSqlite(path: string, error: unknown): never {
  if (error instanceof StorageError) throw error;
  if (systemCode(error) === 'ERR_INVALID_STATE' && errorMessage(error).includes('not open')) {
    throw new StorageError('database_closed', `The database ${path} is closed.`, { cause: error });
  }
  const known = fileTrouble[primaryCode(error)];
  if (known === undefined) throw error;
  throw new StorageError(known.code, `The database ${path} ${known.words} (${errorMessage(error)})`, {
    cause: error,
  });
}

/** SQLite's primary result code: the low byte of the extended one. */
function primaryCode(error: unknown): number {
  const extended = error instanceof Error && 'errcode' in error ? Number(error.errcode) : 0;
  return extended & 0xff;
}

const fileTrouble: Record<number, { code: StorageErrorCode; words: string } | undefined> = {
  5: {
    code: 'database_busy',
    words: 'stayed locked by another writer: stop the other process or try again.',
  },
  8: {
    code: 'file_unwritable',
    words: 'cannot be written: give this user write permission on the file and its directory.',
  },
  10: { code: 'file_unwritable', words: 'could not be read or written: check its disk.' },
  11: {
    code: 'database_damaged',
    words: 'is damaged: restore it from a copy or move it away to start afresh.',
  },
  13: { code: 'disk_full', words: 'cannot grow, its disk is full: free some space.' },
  14: {
    code: 'database_open',
    words: 'cannot be opened: check that its directory exists and this user may write there.',
  },
  26: { code: 'database_damaged', words: 'is not a SQLite file: move it away or name another path.' },
};
