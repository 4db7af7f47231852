export { readJsonFile, writeFileAtomic } from './atomic-file.ts';
export { copyDatabase, dataDirectory, holdDirectory, serviceHome } from './data-directory.ts';
export {
  type Bindings,
  type Database,
  type Migration,
  openDatabase,
  type RunResult,
  SharedDatabase,
} from './database.ts';
export { ifExists, StorageError } from './errors.ts';
export { EventLog, eventLogMigration, type LoggedEvent } from './event-log.ts';
export { dailyQuota, ownersOf, Quota, type SentBytes, storedBytes } from './quota.ts';
export { resolveInside, safeFileName } from './safe-path.ts';
export { TtlTable, ttlTableMigration } from './ttl-table.ts';
