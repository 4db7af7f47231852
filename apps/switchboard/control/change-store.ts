import { chmodSync, closeSync, existsSync, mkdirSync, openSync } from 'node:fs';
import { dirname } from 'node:path';
import type { Change } from '../api-types.ts';
import { Store } from '../core/store.ts';
import { privateMode } from '../workspace/restrict.ts';

interface Wanted {
  file?: string | undefined;
  kind?: string | undefined;
  name?: string | undefined;
  before?: number | undefined;
}

const migrations = [
  `CREATE TABLE changes (
     id INTEGER PRIMARY KEY, at INTEGER NOT NULL, by TEXT NOT NULL, messageId TEXT NOT NULL UNIQUE, topic TEXT NOT NULL,
     file TEXT NOT NULL, before TEXT, after TEXT) STRICT;`,
  `ALTER TABLE changes ADD COLUMN reason TEXT;
   ALTER TABLE changes ADD COLUMN kind TEXT NOT NULL DEFAULT '';
   ALTER TABLE changes ADD COLUMN name TEXT NOT NULL DEFAULT '';
   ALTER TABLE changes ADD COLUMN undoes INTEGER;
   CREATE INDEX changes_by_file ON changes (file, id);`,
];

/** The oldest changes are deleted first. */
const mostChanges = 20_000;

/** Who changed what in the workspace, and when. */
export class ChangeStore extends Store {
  /** Stores whole texts, credentials included, so that changes can be undone: only the owner can read the file. */
  constructor(path: string) {
    makePrivate(path);
    super(path, migrations);
  }

  /** A redelivered command is one change. */
  add(change: Omit<Change, 'id'>): Change {
    const { at, by, reason, messageId, topic, kind, name, file, before, after, undoes } = change;
    this.write(
      `INSERT INTO changes (at, by, reason, messageId, topic, kind, name, file, before, after, undoes)
         VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING`,
      [at, by, reason, messageId, topic, kind, name, file, before, after, undoes],
    );
    const added = this.one<Change>('SELECT * FROM changes WHERE messageId = ?', [messageId]) as Change;
    this.write('DELETE FROM changes WHERE id <= ?', [added.id - mostChanges]);
    return added;
  }

  /** Deletes the entry of a change that failed. */
  drop(id: number): void {
    this.write('DELETE FROM changes WHERE id = ?', [id]);
  }

  /** What the scheduler records in a file joins its last change, so that this can still be undone. */
  amend(file: string, before: string | null, after: string | null): void {
    this.write(
      `UPDATE changes SET after = ?3 WHERE id = (SELECT max(id) FROM changes WHERE file = ?1) AND after IS ?2`,
      [file, before, after],
    );
  }

  get(id: number): Change | undefined {
    return this.one<Change>('SELECT * FROM changes WHERE id = ?', [id]);
  }

  /** The newest first; `before` pages back. */
  list(limit: number, { file, kind, name, before }: Wanted = {}): Change[] {
    return this.all<Change>(
      `SELECT * FROM changes WHERE (?2 IS NULL OR file = ?2) AND (?3 IS NULL OR kind = ?3)
         AND (?4 IS NULL OR name = ?4) AND (?5 IS NULL OR id < ?5) ORDER BY id DESC LIMIT ?1`,
      [limit, file ?? null, kind ?? null, name ?? null, before ?? null],
    );
  }
}

/** SQLite gives the files beside a database the mode that the database has. */
function makePrivate(path: string): void {
  mkdirSync(dirname(path), { recursive: true });
  closeSync(openSync(path, 'a', privateMode));
  for (const file of [path, `${path}-wal`, `${path}-shm`]) if (existsSync(file)) chmodSync(file, privateMode);
}
