export { readJsonFile, type WriteOptions, writeFileAtomic } from './atomic-file.ts';
export {
  copyDatabase,
  type DataDirectory,
  dataDirectory,
  holdDirectory,
  serviceHome,
} from './data-directory.ts';
export {
  type Bindings,
  type Database,
  type DatabaseOptions,
  type Migration,
  openDatabase,
  type RunResult,
  SharedDatabase,
  type Statement,
} from './database.ts';
export { ifExists, StorageError, type StorageErrorCode } from './errors.ts';
export { EventLog, eventLogMigration, type LoggedEvent, type ReadOptions } from './event-log.ts';
export { dailyQuota, ownersOf, Quota, type SentBytes, storedBytes } from './quota.ts';
export { resolveInside, safeFileName } from './safe-path.ts';
export { TtlTable, ttlTableMigration } from './ttl-table.ts';
