import { join } from 'node:path';
import type { Logger } from '@trunkline/config';
import {
  type Database,
  dataDirectory,
  openDatabase,
  serviceHome,
  TtlTable,
  ttlTableMigration,
} from '@trunkline/storage';
import type { VoiceOptions } from '../options.ts';

const lifetimeMs = 24 * 60 * 60 * 1000;

const sweepEveryMs = 10 * 60 * 1000;

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

const errandPrincipals = 'ALTER TABLE errands ADD COLUMN principal TEXT';

/** `task_id` is the A2A task at the research service. */
const researchJobs = `
  ALTER TABLE errands RENAME TO research_jobs;
  ALTER TABLE research_jobs ADD COLUMN task_id TEXT`;

/** Every answer deletes the oldest memories, and must not read all of them for that. */
const memoriesByAge = 'CREATE INDEX memories_by_age ON memories (updated_at)';

const deliveryOrigins = 'ALTER TABLE deliveries ADD COLUMN origins TEXT';

const reminders = `
  CREATE TABLE reminders (
    id TEXT PRIMARY KEY,
    user_id TEXT NOT NULL,
    text TEXT NOT NULL,
    schedule TEXT NOT NULL,
    timezone TEXT NOT NULL,
    origins TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    last_fired INTEGER
  ) STRICT, WITHOUT ROWID`;

/** Who set it in writing; null for one that was set in a call. */
const reminderSenders = 'ALTER TABLE reminders ADD COLUMN sender TEXT';

const recordings = `
  CREATE TABLE recordings (slug TEXT PRIMARY KEY, owner TEXT NOT NULL, bytes INTEGER NOT NULL) STRICT, WITHOUT ROWID`;

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
    deliveryOrigins,
    ttlTableMigration('uploads'),
    reminders,
    reminderSenders,
    recordings,
  ];
  return openDatabase(join(directory, 'voice.db'), { migrations });
}

/** Values that expire after a day. Writes delete expired ones every ten minutes. */
export class SweptTable<Value> {
  readonly #table: TtlTable<Value>;
  readonly #now: () => number;
  #sweptAt = 0;

  constructor(database: Database, name: string, now: () => number = Date.now) {
    this.#table = new TtlTable<Value>(database, name, now);
    this.#now = now;
  }

  get(key: string): Value | undefined {
    return this.#table.get(key);
  }

  set(key: string, value: Value): void {
    this.#table.set(key, value, lifetimeMs);
    if (this.#now() - this.#sweptAt < sweepEveryMs) return;
    this.#sweptAt = this.#now();
    this.#table.sweep();
  }

  delete(key: string): void {
    this.#table.delete(key);
  }

  entries(): [key: string, value: Value][] {
    return this.#table.entries();
  }
}

export interface Directories {
  config: string;
  /** What must survive a restart. */
  store: string;
  delegates: string;
  mcp: string;
  users: string;
}

export async function findDirectories(options: VoiceOptions, logger: Logger): Promise<Directories> {
  const home = serviceHome(options.trunklineHome, 'voice');
  const directory = async (configured: string | undefined, fallback: string) => {
    const { path, fellBack, reason } = await dataDirectory(configured, fallback);
    if (fellBack) logger.warn({ reason, path }, 'failed to use the configured directory; using another');
    return path;
  };
  const config = await directory(options.configDir, join(home, 'config'));
  return {
    config,
    store: await directory(options.sessionStoreDir, home),
    delegates: options.delegatesYaml ?? join(config, 'delegates.yaml'),
    mcp: options.mcpYaml ?? join(config, 'mcp.yaml'),
    users: options.usersYaml ?? join(config, 'users.yaml'),
  };
}
