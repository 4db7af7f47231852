import { join } from 'node:path';
import { type Database, openDatabase, ttlTableMigration } from '@trunkline/storage';

const preferences = `
  CREATE TABLE preferences (
    user_id TEXT PRIMARY KEY,
    skill TEXT,
    skill_by_admin INTEGER NOT NULL DEFAULT 0,
    verbosity TEXT
  ) STRICT, WITHOUT ROWID`;

const waiting = `
  CREATE TABLE deliveries (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    user_id TEXT NOT NULL,
    sender TEXT NOT NULL,
    text TEXT NOT NULL,
    policy TEXT NOT NULL,
    created_at INTEGER NOT NULL
  ) STRICT;
  CREATE INDEX deliveries_by_user ON deliveries (user_id, id)`;

const errands = `
  CREATE TABLE errands (
    id TEXT PRIMARY KEY,
    user_id TEXT NOT NULL,
    query TEXT NOT NULL,
    attempts INTEGER NOT NULL
  ) STRICT, WITHOUT ROWID`;

const memories = `
  CREATE TABLE memories (
    user_id TEXT NOT NULL,
    skill TEXT NOT NULL,
    messages TEXT NOT NULL,
    updated_at INTEGER NOT NULL,
    PRIMARY KEY (user_id, skill)
  ) STRICT, WITHOUT ROWID`;

/** On whose behalf the research is done, as JSON. */
const errandPrincipals = 'ALTER TABLE errands ADD COLUMN principal TEXT';

/** The research service does the work now; `task_id` is its A2A task. */
const researchJobs = `
  ALTER TABLE errands RENAME TO research_jobs;
  ALTER TABLE research_jobs ADD COLUMN task_id TEXT`;

/** Every answer looks for the oldest memories, and must not read all of them for that. */
const memoriesByAge = 'CREATE INDEX memories_by_age ON memories (updated_at)';

/** The one file in which the service keeps what must survive a restart. */
export function openVoiceDatabase(directory: string): Database {
  const migrations = [
    preferences,
    waiting,
    errands,
    ttlTableMigration('conversations'),
    ttlTableMigration('callback_tokens'),
    memories,
    ttlTableMigration('open_questions'),
    memoriesByAge,
    errandPrincipals,
    researchJobs,
  ];
  return openDatabase(join(directory, 'voice.db'), { migrations });
}
