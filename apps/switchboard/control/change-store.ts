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
  // Who asked for it; empty: the operator, or not known.
  "ALTER TABLE changes ADD COLUMN owner TEXT NOT NULL DEFAULT ''",
];

const columns = 'id, at, by, messageId, topic, file, before, after, reason, kind, name, undoes';

interface ChangeStoreOptions {
  /** Other switchboards have the same changes. */
  isShared?: boolean;
  now?: () => number;
  limits?: ChangeLimits;
}

interface ChangeLimits {
  changes: number;
  /** Of the texts: each change has those of the whole file, before and after. */
  bytes: number;
}

type NewChange = Omit<Change, 'id'> & {
  /** Of a change of another switchboard. */
  id?: number | undefined;
  /** Who asked for it, as `ownerKey` names them; the operator when left out. */
  owner?: string | undefined;
};

/** Beyond them whoever has most loses their oldest: nobody pushes out what others changed. */
const usualLimits: ChangeLimits = { changes: 20_000, bytes: 256 * 2 ** 20 };
/** So much of the changes of whoever has most goes at once, as all are counted for it. */
const removedShare = 1 / 50;
const textBytes = 'coalesce(octet_length(before), 0) + coalesce(octet_length(after), 0)';

/** Who changed what in the workspace, and when. */
export class ChangeStore extends Store {
  readonly #isShared: boolean;
  readonly #limits: ChangeLimits;
  readonly #held: ChangeLimits;

  /** Stores whole texts, credentials included, so that changes can be undone: only the owner can read the file. */
  constructor(path: string, { isShared = false, now, limits = usualLimits }: ChangeStoreOptions = {}) {
    makePrivate(path);
    super(path, migrations, now);
    this.#isShared = isShared;
    this.#limits = limits;
    this.#held = this.#count().reduce(sumOf, { changes: 0, bytes: 0 });
  }

  /** A redelivered command is one change. With an id it is a change of another switchboard. */
  add({ id, ...change }: NewChange): Change {
    // Should two switchboards have given one id, the second gets the next one here.
    const added = this.#insert(id ?? this.#nextId(), change) ?? (this.#insert(null, change) as Change);
    this.#held.changes += 1;
    this.#held.bytes += Buffer.byteLength(`${change.before ?? ''}${change.after ?? ''}`);
    if (this.#isFull(this.#held)) this.#makeRoom(added.id);
    return added;
  }

  #insert(id: number | null, change: Omit<NewChange, 'id'>): Change | undefined {
    const { at, by, reason, messageId, topic, kind, name, file, before, after, undoes, owner } = change;
    this.write(
      `INSERT INTO changes (id, at, by, reason, messageId, topic, kind, name, file, before, after, undoes, owner)
         VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING`,
      [id, at, by, reason, messageId, topic, kind, name, file, before, after, undoes, owner ?? ''],
    );
    return this.one<Change>(`SELECT ${columns} FROM changes WHERE messageId = ?`, [messageId]);
  }

  #count(): (ChangeLimits & { owner: string })[] {
    return this.all(
      `SELECT owner, count(*) AS changes, total(${textBytes}) AS bytes FROM changes GROUP BY owner`,
    );
  }

  #isFull({ changes, bytes }: ChangeLimits): boolean {
    return changes > this.#limits.changes || bytes > this.#limits.bytes;
  }

  /** The newest change stays, however long its texts are. */
  #makeRoom(newest: number): void {
    const { changes: mostChanges, bytes: mostBytes } = this.#limits;
    const shareOf = ({ changes, bytes }: ChangeLimits) => Math.max(changes / mostChanges, bytes / mostBytes);
    for (let removed = 1; removed > 0; ) {
      const counts = this.#count();
      Object.assign(this.#held, counts.reduce(sumOf, { changes: 0, bytes: 0 }));
      const most = counts.toSorted((one, other) => shareOf(other) - shareOf(one))[0];
      if (!this.#isFull(this.#held) || most === undefined) return;
      removed = this.write(
        'DELETE FROM changes WHERE id IN (SELECT id FROM changes WHERE owner = ? AND id <> ? ORDER BY id LIMIT ?)',
        [most.owner, newest, Math.ceil(most.changes * removedShare)],
      ).changes;
    }
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
    return this.one<Change>(`SELECT ${columns} FROM changes WHERE id = ?`, [id]);
  }

  /** The newest first; `before` pages back. */
  list(limit: number, { file, kind, name, before }: Wanted = {}): Change[] {
    return this.all<Change>(
      `SELECT ${columns} FROM changes WHERE (?2 IS NULL OR file = ?2) AND (?3 IS NULL OR kind = ?3)
         AND (?4 IS NULL OR name = ?4) AND (?5 IS NULL OR id < ?5) ORDER BY id DESC LIMIT ?1`,
      [limit, file ?? null, kind ?? null, name ?? null, before ?? null],
    );
  }
}

function sumOf(sum: ChangeLimits, { changes, bytes }: ChangeLimits): ChangeLimits {
  return { changes: sum.changes + changes, bytes: sum.bytes + bytes };
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
