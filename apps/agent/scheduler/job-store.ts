import { join } from 'node:path';
import { type Database, openDatabase, safeFileName } from '@trunkline/storage';

export interface StoredJob {
  id: string;
  prompt: string;
  schedule: string;
  timezone: string;
  created_at: number;
  last_fired: number | null;
  /** 1 while it is. */
  paused: number;
  /** For whom it runs, as JSON; null for the operator. */
  principal: string | null;
}

const schema = `CREATE TABLE jobs (
  id TEXT PRIMARY KEY,
  prompt TEXT NOT NULL,
  schedule TEXT NOT NULL,
  timezone TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  last_fired INTEGER
) STRICT`;
const pausing = 'ALTER TABLE jobs ADD COLUMN paused INTEGER NOT NULL DEFAULT 0';
const owners = 'ALTER TABLE jobs ADD COLUMN principal TEXT';

/** The jobs of one agent, in a database of its own. */
export class JobStore {
  readonly #database: Database;

  constructor(directory: string, agentName: string) {
    const path = join(directory, safeFileName(agentName), 'jobs.db');
    this.#database = openDatabase(path, { migrations: [schema, pausing, owners], durability: 'full' });
  }

  all(): StoredJob[] {
    return this.#database.prepare<StoredJob>('SELECT * FROM jobs ORDER BY created_at, id').all();
  }

  put({ id, prompt, schedule, timezone, created_at, last_fired, paused, principal }: StoredJob): void {
    this.#database
      .prepare(
        `INSERT OR REPLACE INTO jobs (id, prompt, schedule, timezone, created_at, last_fired, paused, principal)
         VALUES (?, ?, ?, ?, ?, ?, ?, ?)`,
      )
      .run(id, prompt, schedule, timezone, created_at, last_fired, paused, principal);
  }

  fired(id: string, scheduledAt: number): void {
    this.#database.prepare('UPDATE jobs SET last_fired = ? WHERE id = ?').run(scheduledAt, id);
  }

  pause(id: string, paused: boolean): void {
    this.#database.prepare('UPDATE jobs SET paused = ? WHERE id = ?').run(paused ? 1 : 0, id);
  }

  remove(id: string): void {
    this.#database.prepare('DELETE FROM jobs WHERE id = ?').run(id);
  }

  close(): void {
    this.#database.close();
  }
}
