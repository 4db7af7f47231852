import { anonymous, decodePrincipal, encodePrincipal, type Principal } from '@trunkline/identity';
import { type Database, openDatabase } from '@trunkline/storage';
import type { CeremonyRun, CeremonyRunStatus } from '../api-types.ts';

/** What one of the agents answered. */
export interface Answer {
  requestId: string;
  error: string | null;
  content: string;
}

const migrations = [
  `CREATE TABLE runs (
     runId TEXT PRIMARY KEY, ceremonyId TEXT NOT NULL, trigger TEXT NOT NULL, scheduledAt INTEGER, startedAt INTEGER NOT NULL,
     endedAt INTEGER, status TEXT NOT NULL, detail TEXT) STRICT;
   CREATE INDEX runs_by_ceremony ON runs (ceremonyId, startedAt);
   CREATE TABLE answers (
     runId TEXT NOT NULL REFERENCES runs (runId) ON DELETE CASCADE, requestId TEXT NOT NULL, error TEXT, content TEXT NOT NULL,
     PRIMARY KEY (runId, requestId)) STRICT, WITHOUT ROWID;
   CREATE TABLE sightings (ceremonyId TEXT PRIMARY KEY, schedule TEXT NOT NULL, since INTEGER NOT NULL) STRICT;`,
  // Who started it; rows from before this column have nobody.
  `ALTER TABLE runs ADD COLUMN principal TEXT;`,
];

const columns = 'runId, ceremonyId, trigger, scheduledAt, startedAt, endedAt, status, detail';
const keptMs = 30 * 86_400_000;
const longestContent = 4000;

/** The runs of all ceremonies; deleted after thirty days. */
export class RunStore {
  readonly #database: Database;

  constructor(path: string) {
    this.#database = openDatabase(path, { migrations });
  }

  /** Notes the beginning of a run; says whether it was new. */
  begin(run: Omit<CeremonyRun, 'endedAt' | 'status' | 'detail'>, principal: Principal): boolean {
    const { runId, ceremonyId, trigger, scheduledAt, startedAt } = run;
    const { changes } = this.#database
      .prepare(`INSERT INTO runs VALUES (?, ?, ?, ?, ?, NULL, 'running', NULL, ?) ON CONFLICT DO NOTHING`)
      .run(runId, ceremonyId, trigger, scheduledAt, startedAt, encodePrincipal(principal));
    return changes === 1;
  }

  /** On whose behalf a run was started. */
  principalOf(runId: string): Principal {
    const row = this.#database
      .prepare<{ principal: string | null }>('SELECT principal FROM runs WHERE runId = ?')
      .get(runId);
    return decodePrincipal(row?.principal ?? '') ?? anonymous;
  }

  answer(runId: string, { requestId, error, content }: Answer): void {
    this.#database
      .prepare(
        'INSERT INTO answers SELECT ?1, ?2, ?3, ?4 WHERE EXISTS (SELECT 1 FROM runs WHERE runId = ?1) ON CONFLICT DO NOTHING',
      )
      .run(runId, requestId, error, content.slice(0, longestContent));
  }

  answers(runId: string): Answer[] {
    return this.#database
      .prepare<Answer>('SELECT requestId, error, content FROM answers WHERE runId = ?')
      .all(runId);
  }

  /** Records the end; the first one stays. */
  end(runId: string, status: CeremonyRunStatus, detail: string | null, endedAt: number): void {
    this.#database
      .prepare(`UPDATE runs SET status = ?, detail = ?, endedAt = ? WHERE runId = ? AND status = 'running'`)
      .run(status, detail, endedAt, runId);
  }

  get(runId: string): CeremonyRun | undefined {
    return this.#database.prepare<CeremonyRun>(`SELECT ${columns} FROM runs WHERE runId = ?`).get(runId);
  }

  running(): CeremonyRun[] {
    return this.#database
      .prepare<CeremonyRun>(`SELECT ${columns} FROM runs WHERE status = 'running' ORDER BY startedAt`)
      .all();
  }

  /** The newest first. */
  list(ceremonyId: string, limit: number): CeremonyRun[] {
    return this.#database
      .prepare<CeremonyRun>(
        `SELECT ${columns} FROM runs WHERE ceremonyId = ? ORDER BY startedAt DESC, rowid DESC LIMIT ?`,
      )
      .all(ceremonyId, limit);
  }

  lastScheduled(ceremonyId: string): number | undefined {
    const row = this.#database
      .prepare<{ last: number | null }>('SELECT max(scheduledAt) AS last FROM runs WHERE ceremonyId = ?')
      .get(ceremonyId);
    return row?.last ?? undefined;
  }

  /** Since when a ceremony has this schedule: times before it were none of its own. */
  since(ceremonyId: string, schedule: string, now: number): number {
    this.#database
      .prepare(
        `INSERT INTO sightings VALUES (?1, ?2, ?3)
         ON CONFLICT DO UPDATE SET schedule = ?2, since = ?3 WHERE schedule <> ?2`,
      )
      .run(ceremonyId, schedule, now);
    const row = this.#database
      .prepare<{ since: number }>('SELECT since FROM sightings WHERE ceremonyId = ?')
      .get(ceremonyId);
    return row?.since ?? now;
  }

  sweep(now: number): void {
    this.#database.prepare('DELETE FROM runs WHERE startedAt < ?').run(now - keptMs);
  }

  close(): void {
    this.#database.close();
  }
}
