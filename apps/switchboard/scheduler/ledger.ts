import type { FireRow } from '../api-types.ts';

import { SharedWrites, Store } from '../core/store.ts';

/** What is known of a file without reading it. */
export interface KnownFile {
  /** Name without ending, which is the id. */
  file: string;
  /** Changes with the file. */
  mark: string;
  /** Earlier times do not count as missed. */
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
  // Whose a schedule was whose file is gone; empty: the operator's.
  'ALTER TABLE last_fires ADD COLUMN owner TEXT',
];

const keptMs = 30 * 86_400_000;
const keptPerSchedule = 200;
const longestDetail = 500;

/** Fires of every schedule, and what is known of its file. */
export class Ledger extends Store {
  readonly #writes = new SharedWrites(this.database);

  constructor(path: string) {
    super(path, migrations);
  }

  /** Records a fire in a batch; resolves to whether it is the newest of its schedule. A recorded outcome never changes. */
  put(row: FireRow, owner?: string | null): Promise<boolean> {
    return this.#writes.run(() => this.#write(row, owner));
  }

  /** Whose a schedule is that has fired; null: the operator's, undefined: not known. */
  ownerOf(scheduleId: string): string | null | undefined {
    const sql = 'SELECT owner FROM last_fires WHERE scheduleId = ?';
    const owner = this.one<{ owner: string | null }>(sql, [scheduleId])?.owner ?? undefined;
    return owner === '' ? null : owner;
  }

  /** The newest first. */
  history(scheduleId: string, limit: number): FireRow[] {
    return this.all<StoredRow>('SELECT * FROM fires WHERE scheduleId = ? ORDER BY scheduledAt DESC LIMIT ?', [
      scheduleId,
      limit,
    ]).map(readRow);
  }

  get(fireId: string): FireRow | undefined {
    const row = this.one<StoredRow>('SELECT * FROM fires WHERE fireId = ?', [fireId]);
    return row && readRow(row);
  }

  /** Fires without an outcome, begun after that time. */
  open(after: number): FireRow[] {
    return this.all<StoredRow>(`SELECT * FROM fires WHERE status = 'fired' AND firedAt > ?`, [after]).map(
      readRow,
    );
  }

  /** The newest time that was handled. */
  lastFired(scheduleId: string): number | undefined {
    return this.one<{ scheduledAt: number }>('SELECT scheduledAt FROM last_fires WHERE scheduleId = ?', [
      scheduleId,
    ])?.scheduledAt;
  }

  lastFires(): Map<string, number> {
    const rows = this.all<{ scheduleId: string; scheduledAt: number }>(
      'SELECT scheduleId, scheduledAt FROM last_fires',
    );
    return new Map(rows.map(({ scheduleId, scheduledAt }) => [scheduleId, scheduledAt]));
  }

  files(): KnownFile[] {
    return this.all<KnownFile>('SELECT * FROM files');
  }

  putFiles(files: readonly KnownFile[]): void {
    this.database.transaction(() => {
      const statement = this.database.prepare('INSERT OR REPLACE INTO files VALUES (?, ?, ?, ?)');
      for (const { file, mark, since, record } of files) statement.run(file, mark, since, record);
    });
  }

  removeFile(file: string): void {
    this.write('DELETE FROM files WHERE file = ?', [file]);
  }

  /** Deletes old fires and marks those that never ended as `unknown`. */
  sweep(now: number, openForMs: number): void {
    this.database.transaction(() => {
      this.write('DELETE FROM fires WHERE firedAt < ?', [now - keptMs]);
      this.write(`DELETE FROM fires WHERE fireId IN (
             SELECT fireId FROM (SELECT fireId, row_number() OVER (PARTITION BY scheduleId ORDER BY scheduledAt DESC) AS place FROM fires)
             WHERE place > ${keptPerSchedule})`);
      this.write(
        `UPDATE fires SET status = 'unknown', endedAt = ?1, detail = 'no outcome was seen' WHERE status = 'fired' AND firedAt < ?2`,
        [now, now - openForMs],
      );
    });
  }

  override close(): void {
    this.#writes.flush();
    super.close();
  }

  #write(row: FireRow, owner: string | null | undefined): boolean {
    this.write(
      `INSERT INTO fires VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)
         ON CONFLICT (fireId) DO UPDATE SET status = excluded.status, endedAt = excluded.endedAt, detail = excluded.detail
         WHERE fires.status IN ('fired', 'unknown') AND excluded.status <> 'fired'`,
      [
        row.fireId,
        row.scheduleId,
        row.scheduledAt,
        row.firedAt,
        row.manual ? 1 : 0,
        row.missed ? 1 : 0,
        row.status,
        row.endedAt,
        row.detail?.slice(0, longestDetail) ?? null,
      ],
    );
    return !row.manual && this.#advance(row, owner);
  }

  #advance({ scheduleId, scheduledAt }: FireRow, owner: string | null | undefined): boolean {
    const { changes } = this.write(
      `INSERT INTO last_fires VALUES (?, ?, ?)
         ON CONFLICT DO UPDATE SET scheduledAt = excluded.scheduledAt, owner = coalesce(excluded.owner, owner)
         WHERE excluded.scheduledAt > scheduledAt`,
      [scheduleId, scheduledAt, owner === null ? '' : (owner ?? null)],
    );
    return changes === 1;
  }
}

type StoredRow = Omit<FireRow, 'manual' | 'missed'> & { manual: number; missed: number };

function readRow(row: StoredRow): FireRow {
  return { ...row, manual: row.manual === 1, missed: row.missed === 1 };
}
