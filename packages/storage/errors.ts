import { CodedError, errorMessage, systemCode } from '@trunkline/std';

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

/** What can go wrong with the store, as names a caller can test for. */
export type StorageErrorCode =
  | 'database_busy'
  | 'database_closed'
  | 'database_damaged'
  | 'database_migration'
  | 'database_newer'
  | 'database_open'
  | 'database_transaction'
  | 'directory_in_use'
  | 'directory_unwritable'
  | 'disk_full'
  | 'file_changed'
  | 'file_damaged'
  | 'file_unreadable'
  | 'file_unwritable'
  | 'name_refused';

/** A failure of the store: the code is for programs, the message names the path and what to do. */
export class StorageError extends CodedError<StorageErrorCode> {
  override readonly name = 'StorageError';
}

const reasons: Record<string, string> = {
  EACCES: 'this user has no permission',
  EDQUOT: 'the disk quota is used up',
  EISDIR: 'there is a directory in its place',
  ENOENT: 'it does not exist',
  ENOSPC: 'the disk is full',
  ENOTDIR: 'a part of the path is not a directory',
  EPERM: 'this user has no permission',
  EROFS: 'the file system is read-only',
};

/** Says in words why the system refused. */
export function reasonOf(error: unknown): string {
  return reasons[systemCode(error) ?? ''] ?? errorMessage(error);
}

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

/** What is at a path; undefined when nothing is there. */
export async function ifExists<Value>(found: Promise<Value>): Promise<Value | undefined> {
  try {
    return await found;
  } catch (error) {
    if (systemCode(error) === 'ENOENT') return undefined;
    throw error;
  }
}

/** SQLite's primary result code: the low byte of the extended one. */
function primaryCode(error: unknown): number {
  const extended = error instanceof Error && 'errcode' in error ? Number(error.errcode) : 0;
  return extended & 0xff;
}

/** Table names stand in SQL text unquoted, so only plain ones are taken. */
export function checkTableName(table: string): string {
  if (/^[a-z][a-z0-9_]{0,62}$/.test(table)) return table;
  throw new StorageError(
    'name_refused',
    `"${table}" is no table name: use lower-case letters, digits and underscores.`,
  );
}
