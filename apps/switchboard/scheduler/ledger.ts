import { type Database, openDatabase } from '@trunkline/storage';
import type { FireRow } from '../api-types.ts';

/** What is known of a file of `crons/` without reading it. */
export interface KnownFile {
  /** Its name without the ending, which is the id. */
  file: string;
  /** Changes whenever the file does. */
  mark: string;
  /** Times of a cron schedule up to this one are not missed: it did not hold yet. */
  since: number;
  record: string;
}

const migrations = [
  `CREATE TABLE fires (
     fireId TEXT PRIMARY KEY, scheduleId TEXT NOT NULL, scheduledAt INTEGER NOT NULL, firedAt INTEGER NOT NULL,
     manual INTEGER NOT NULL, missed INTEGER NOT NULL, status TEXT NOT NULL, endedAt INTEGER, detail TEXT) STRICT, WITHOUT ROWID;
   CREATE INDEX fires_by_schedule ON fires (scheduleId, scheduledAt);
   CREATE INDEX fires_open ON fires (firedAt) WHERE status = 'fired';
   CREATE INDEX fires_by_time ON fires (firedAt);
   CREATE TABLE last_fires (scheduleId TEXT PRIMARY KEY, scheduledAt INTEGER NOT NULL) STRICT, WITHOUT ROWID;
   CREATE TABLE files (
     file TEXT PRIMARY KEY, mark TEXT NOT NULL, since INTEGER NOT NULL, record TEXT NOT NULL) STRICT, WITHOUT ROWID;`,
];

const keptMs = 30 * 86_400_000;
const keptPerSchedule = 200;
const longestDetail = 500;

/** What every schedule did, and what is known of its file. */
export class Ledger {
  readonly #database: Database;
  #waiting: { row: FireRow; resolve: (isNewest: boolean) => void; reject: (error: unknown) => void }[] = [];

  constructor(path: string) {
    this.#database = openDatabase(path, { migrations });
  }

  /**
   * Notes a fire, or how it went on, together with all that come in at the same time; says whether it is the newest of its schedule.
   * An outcome once known is never taken back.
   */
  put(row: FireRow): Promise<boolean> {
    const { promise, resolve, reject } = Promise.withResolvers<boolean>();
    this.#waiting.push({ row, resolve, reject });
    if (this.#waiting.length === 1) setImmediate(() => this.flush());
    return promise;
  }

  /** Writes what waits. */
  flush(): void {
    const batch = this.#waiting;
    if (batch.length === 0) return;
    this.#waiting = [];
    try {
      const advanced = this.#database.transaction(() => batch.map(({ row }) => this.#write(row)));
      for (const [index, { resolve }] of batch.entries()) resolve(advanced[index] ?? false);
    } catch (error) {
      for (const { reject } of batch) reject(error);
    }
  }

  /** The newest first. */
  history(scheduleId: string, limit: number): FireRow[] {
    return this.#database
      .prepare<StoredRow>('SELECT * FROM fires WHERE scheduleId = ? ORDER BY scheduledAt DESC LIMIT ?')
      .all(scheduleId, limit)
      .map(readRow);
  }

  get(fireId: string): FireRow | undefined {
    const row = this.#database.prepare<StoredRow>('SELECT * FROM fires WHERE fireId = ?').get(fireId);
    return row && readRow(row);
  }

  /** Fires without an outcome that began after that time. */
  open(after: number): FireRow[] {
    return this.#database
      .prepare<StoredRow>(`SELECT * FROM fires WHERE status = 'fired' AND firedAt > ?`)
      .all(after)
      .map(readRow);
  }

  /** The newest time of a schedule that was dealt with. */
  lastFired(scheduleId: string): number | undefined {
    return this.#database
      .prepare<{ scheduledAt: number }>('SELECT scheduledAt FROM last_fires WHERE scheduleId = ?')
      .get(scheduleId)?.scheduledAt;
  }

  lastFires(): Map<string, number> {
    const rows = this.#database
      .prepare<{ scheduleId: string; scheduledAt: number }>('SELECT * FROM last_fires')
      .all();
    return new Map(rows.map(({ scheduleId, scheduledAt }) => [scheduleId, scheduledAt]));
  }

  files(): KnownFile[] {
    return this.#database.prepare<KnownFile>('SELECT * FROM files').all();
  }

  putFiles(files: readonly KnownFile[]): void {
    this.#database.transaction(() => {
      const statement = this.#database.prepare('INSERT OR REPLACE INTO files VALUES (?, ?, ?, ?)');
      for (const { file, mark, since, record } of files) statement.run(file, mark, since, record);
    });
  }

  removeFile(file: string): void {
    this.#database.prepare('DELETE FROM files WHERE file = ?').run(file);
  }

  /** Removes what is old, and what is more than a history needs; says of fires that never ended that nobody knows. */
  sweep(now: number, openForMs: number): void {
    this.#database.transaction(() => {
      this.#database.prepare('DELETE FROM fires WHERE firedAt < ?').run(now - keptMs);
      this.#database
        .prepare(
          `DELETE FROM fires WHERE fireId IN (
             SELECT fireId FROM (SELECT fireId, row_number() OVER (PARTITION BY scheduleId ORDER BY scheduledAt DESC) AS place FROM fires)
             WHERE place > ${keptPerSchedule})`,
        )
        .run();
      this.#database
        .prepare(
          `UPDATE fires SET status = 'unknown', endedAt = ?1, detail = 'no outcome was seen' WHERE status = 'fired' AND firedAt < ?2`,
        )
        .run(now, now - openForMs);
    });
  }

  close(): void {
    this.flush();
    this.#database.close();
  }

  #write(row: FireRow): boolean {
    this.#database
      .prepare(
        `INSERT INTO fires VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)
         ON CONFLICT (fireId) DO UPDATE SET status = excluded.status, endedAt = excluded.endedAt, detail = excluded.detail
         WHERE fires.status IN ('fired', 'unknown') AND excluded.status <> 'fired'`,
      )
      .run(
        row.fireId,
        row.scheduleId,
        row.scheduledAt,
        row.firedAt,
        row.manual ? 1 : 0,
        row.missed ? 1 : 0,
        row.status,
        row.endedAt,
        row.detail?.slice(0, longestDetail) ?? null,
      );
    return !row.manual && this.#advance(row.scheduleId, row.scheduledAt);
  }

  #advance(scheduleId: string, scheduledAt: number): boolean {
    const { changes } = this.#database
      .prepare(
        `INSERT INTO last_fires VALUES (?, ?)
         ON CONFLICT DO UPDATE SET scheduledAt = excluded.scheduledAt WHERE excluded.scheduledAt > scheduledAt`,
      )
      .run(scheduleId, scheduledAt);
    return changes === 1;
  }
}

type StoredRow = Omit<FireRow, 'manual' | 'missed'> & { manual: number; missed: number };

function readRow(row: StoredRow): FireRow {
  return { ...row, manual: row.manual === 1, missed: row.missed === 1 };
}
