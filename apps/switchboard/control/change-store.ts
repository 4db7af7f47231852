import { randomInt } from 'node:crypto';
import { chmodSync, closeSync, existsSync, mkdirSync, openSync } from 'node:fs';
import { dirname } from 'node:path';
import type { Change } from '../api-types.ts';
import { Store } from '../core/store.ts';
import { kinds } from '../workspace/kinds.ts';
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

interface ChangeStoreOptions {
  /** Other switchboards have the same changes. */
  isShared?: boolean;
  now?: () => number;
}

/** The oldest changes are deleted first. */
const mostChanges = 20_000;

/** Who changed what in the workspace, and when. */
export class ChangeStore extends Store {
  readonly #isShared: boolean;

  /** Stores whole texts, credentials included, so that changes can be undone: only the owner can read the file. */
  constructor(path: string, { isShared = false, now }: ChangeStoreOptions = {}) {
    makePrivate(path);
    super(path, migrations, now);
    this.#isShared = isShared;
  }

  /** A redelivered command is one change. With an id it is a change of another switchboard. */
  add({ id, ...change }: Omit<Change, 'id'> & { id?: number | undefined }): Change {
    // Should two switchboards have given one id, the second gets the next one here.
    const added = this.#insert(id ?? this.#nextId(), change) ?? (this.#insert(null, change) as Change);
    this.write('DELETE FROM changes WHERE id <= (SELECT id FROM changes ORDER BY id DESC LIMIT 1 OFFSET ?)', [
      mostChanges,
    ]);
    return added;
  }

  #insert(id: number | null, change: Omit<Change, 'id'>): Change | undefined {
    const { at, by, reason, messageId, topic, kind, name, file, before, after, undoes } = change;
    this.write(
      `INSERT INTO changes (id, at, by, reason, messageId, topic, kind, name, file, before, after, undoes)
         VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING`,
      [id, at, by, reason, messageId, topic, kind, name, file, before, after, undoes],
    );
    return this.one<Change>('SELECT * FROM changes WHERE messageId = ?', [messageId]);
  }

  /** Switchboards that share a bus number by time, so that an id means the same change everywhere. */
  #nextId(): number | null {
    if (!this.#isShared) return null;
    const last = this.one<{ id: number | null }>('SELECT max(id) AS id FROM changes')?.id ?? 0;
    return Math.max(this.now() * 1000 + randomInt(1000), last + 1);
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

/** Not for files that no command writes, nor for changes of early versions, which have no kind. */
export function canUndo({ kind }: Pick<Change, 'kind'>): boolean {
  return kind in kinds;
}

/** Why a change that is listed cannot be undone, and what to do. */
export function undoRefusal({ id, file }: Pick<Change, 'id' | 'file'>): string {
  return `Change ${id} cannot be undone: no command writes ${file}. Put its former text back by hand; a switchboard where the change replaced it keeps it as ${file}.replaced-….`;
}

/** SQLite gives the files beside a database the mode that the database has. */
export function makePrivate(path: string): void {
  mkdirSync(dirname(path), { recursive: true });
  closeSync(openSync(path, 'a', privateMode));
  for (const file of [path, `${path}-wal`, `${path}-shm`]) if (existsSync(file)) chmodSync(file, privateMode);
}
