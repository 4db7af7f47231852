import { anonymous, decodePrincipal, encodePrincipal, type Principal } from '@trunkline/identity';
import type { StoredFile } from '@trunkline/loop';
import type { CeremonyRun, CeremonyRunStatus } from '../api-types.ts';
import { filesOf } from '../content/references.ts';
import { Store } from '../core/store.ts';

export interface Answer {
  requestId: string;
  error: string | null;
  content: string;
  files: readonly StoredFile[];
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
  // Null in rows from before this column.
  `ALTER TABLE runs ADD COLUMN principal TEXT;`,
  // A JSON list.
  `ALTER TABLE answers ADD COLUMN files TEXT;`,
];

const columns = 'runId, ceremonyId, trigger, scheduledAt, startedAt, endedAt, status, detail';
const keptMs = 30 * 86_400_000;
const longestContent = 4000;

/** The runs of all ceremonies; deleted after thirty days. */
export class RunStore extends Store {
  constructor(path: string) {
    super(path, migrations);
  }

  begin(run: Omit<CeremonyRun, 'endedAt' | 'status' | 'detail'>, principal: Principal): void {
    const { runId, ceremonyId, trigger, scheduledAt, startedAt } = run;
    this.write(`INSERT INTO runs VALUES (?, ?, ?, ?, ?, NULL, 'running', NULL, ?) ON CONFLICT DO NOTHING`, [
      runId,
      ceremonyId,
      trigger,
      scheduledAt,
      startedAt,
      encodePrincipal(principal),
    ]);
  }

  principalOf(runId: string): Principal {
    const row = this.one<{ principal: string | null }>('SELECT principal FROM runs WHERE runId = ?', [runId]);
    return decodePrincipal(row?.principal ?? '') ?? anonymous;
  }

  answer(runId: string, { requestId, error, content, files }: Answer): void {
    this.write(
      'INSERT INTO answers SELECT ?1, ?2, ?3, ?4, ?5 WHERE EXISTS (SELECT 1 FROM runs WHERE runId = ?1) ON CONFLICT DO NOTHING',
      [runId, requestId, error, content.slice(0, longestContent), JSON.stringify(files)],
    );
  }

  answers(runId: string): Answer[] {
    const rows = this.all<Omit<Answer, 'files'> & { files: string | null }>(
      'SELECT requestId, error, content, files FROM answers WHERE runId = ?',
      [runId],
    );
    return rows.map((row) => ({ ...row, files: filesOf({ files: JSON.parse(row.files ?? '[]') }) }));
  }

  /** Only the first end is recorded. */
  end(runId: string, status: CeremonyRunStatus, detail: string | null, endedAt: number): void {
    this.write(`UPDATE runs SET status = ?, detail = ?, endedAt = ? WHERE runId = ? AND status = 'running'`, [
      status,
      detail,
      endedAt,
      runId,
    ]);
  }

  get(runId: string): CeremonyRun | undefined {
    return this.one<CeremonyRun>(`SELECT ${columns} FROM runs WHERE runId = ?`, [runId]);
  }

  running(): CeremonyRun[] {
    return this.all<CeremonyRun>(`SELECT ${columns} FROM runs WHERE status = 'running' ORDER BY startedAt`);
  }

  /** The newest first. */
  list(ceremonyId: string, limit: number): CeremonyRun[] {
    return this.all<CeremonyRun>(
      `SELECT ${columns} FROM runs WHERE ceremonyId = ? ORDER BY startedAt DESC, rowid DESC LIMIT ?`,
      [ceremonyId, limit],
    );
  }

  lastScheduled(ceremonyId: string): number | undefined {
    const row = this.one<{ last: number | null }>(
      'SELECT max(scheduledAt) AS last FROM runs WHERE ceremonyId = ?',
      [ceremonyId],
    );
    return row?.last ?? undefined;
  }

  /** Since when the ceremony has this schedule: earlier times do not count as missed. */
  since(ceremonyId: string, schedule: string, now: number): number {
    this.write(
      `INSERT INTO sightings VALUES (?1, ?2, ?3)
         ON CONFLICT DO UPDATE SET schedule = ?2, since = ?3 WHERE schedule <> ?2`,
      [ceremonyId, schedule, now],
    );
    const row = this.one<{ since: number }>('SELECT since FROM sightings WHERE ceremonyId = ?', [ceremonyId]);
    return row?.since ?? now;
  }

  sweep(now: number): void {
    this.write('DELETE FROM runs WHERE startedAt < ?', [now - keptMs]);
  }
}
