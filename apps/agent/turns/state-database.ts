import { join } from 'node:path';
import { type Database, openDatabase } from '@trunkline/storage';

const migrations = [
  `CREATE TABLE checkpoint (
     task_id TEXT PRIMARY KEY,
     checkpoint TEXT NOT NULL,
     session_version INTEGER NOT NULL,
     skill TEXT,
     saved_at INTEGER NOT NULL
   ) STRICT, WITHOUT ROWID;
   CREATE TABLE session (
     session_id TEXT PRIMARY KEY,
     messages TEXT NOT NULL,
     version INTEGER NOT NULL,
     updated_at INTEGER NOT NULL
   ) STRICT, WITHOUT ROWID;
   CREATE INDEX session_by_time ON session (updated_at);`,
];

/** What the turns of one instance keep: conversations, and questions that wait. */
export function openState(directory: string): Database {
  return openDatabase(join(directory, 'turns.db'), { migrations });
}
