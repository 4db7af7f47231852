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
  `CREATE TABLE chat (
     session_id TEXT PRIMARY KEY,
     title TEXT NOT NULL,
     state TEXT NOT NULL,
     updated_at INTEGER NOT NULL
   ) STRICT, WITHOUT ROWID;
   CREATE INDEX chat_by_time ON chat (updated_at, session_id);
   CREATE TABLE chat_turn (
     number INTEGER PRIMARY KEY,
     task_id TEXT NOT NULL UNIQUE,
     session_id TEXT NOT NULL,
     turn TEXT NOT NULL
   ) STRICT;
   CREATE INDEX chat_turn_by_session ON chat_turn (session_id, number);`,
  `ALTER TABLE chat ADD COLUMN origin TEXT NOT NULL DEFAULT 'chat';`,
  `ALTER TABLE checkpoint ADD COLUMN principal TEXT;
   ALTER TABLE checkpoint ADD COLUMN user TEXT;
   ALTER TABLE checkpoint ADD COLUMN approval TEXT;
   ALTER TABLE session ADD COLUMN scope TEXT;`,
];

/** What the turns of one instance keep: conversations, what people saw of them, and questions that wait. */
export function openState(directory: string): Database {
  return openDatabase(join(directory, 'turns.db'), { migrations });
}
