import { errorMessage } from '@trunkline/std';
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
export class StorageError extends Error {
  readonly code: StorageErrorCode;

  constructor(code: StorageErrorCode, message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = 'StorageError';
    this.code = code;
  }
}

/** The system's code of a failure (`ENOENT` and the like), if it has one. */
export function systemCode(error: unknown): string | undefined {
  return error instanceof Error && 'code' in error ? String(error.code) : undefined;
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
