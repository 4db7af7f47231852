import { join } from 'node:path';
import { type Database, openDatabase } from '@trunkline/storage';

const migrations = [
  `CREATE TABLE model_call (
     number INTEGER PRIMARY KEY,
     at INTEGER NOT NULL,
     model TEXT NOT NULL,
     failed INTEGER NOT NULL,
     input_tokens INTEGER NOT NULL,
     output_tokens INTEGER NOT NULL,
     cost_usd REAL,
     latency_ms REAL NOT NULL
   ) STRICT;
   CREATE INDEX model_call_by_time ON model_call (at);
   CREATE INDEX model_call_by_model ON model_call (model, number);
   CREATE TABLE told (
     id INTEGER PRIMARY KEY AUTOINCREMENT,
     at TEXT NOT NULL,
     event TEXT NOT NULL,
     data TEXT NOT NULL
   ) STRICT;`,
];

/** The activity of one instance: calls of the model, and the events of its feed. */
export function openActivity(directory: string): Database {
  return openDatabase(join(directory, 'activity.db'), { migrations });
}
