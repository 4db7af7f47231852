import { createHash } from 'node:crypto';
import type { Logger } from '@trunkline/config';
import { makePrivate } from '../control/change-store.ts';
import type { SharedTexts } from '../control/control-plane.ts';
import { Store } from '../core/store.ts';
import { digestOf, readRecord } from '../scheduler/record.ts';
import type { KindName } from '../workspace/kinds.ts';

const migrations = [
  `CREATE TABLE files (entry TEXT PRIMARY KEY, digest TEXT NOT NULL) STRICT, WITHOUT ROWID;
   CREATE TABLE workspace (only INTEGER PRIMARY KEY CHECK (only = 1), directory TEXT NOT NULL) STRICT;`,
  `DROP TABLE files;
   DELETE FROM workspace;
   CREATE TABLE files (entry TEXT PRIMARY KEY, digest TEXT NOT NULL, text TEXT NOT NULL, at INTEGER NOT NULL)
     STRICT, WITHOUT ROWID;
   CREATE TABLE former (
     id INTEGER PRIMARY KEY, entry TEXT NOT NULL, digest TEXT NOT NULL, until INTEGER NOT NULL,
     UNIQUE (entry, digest)) STRICT;`,
];

/** The oldest former digests are deleted first. */
const mostFormer = 20_000;
/** Clocks of file systems lag behind, some by this much. */
const clockLagMs = 2000;

/** `file`: one that no command writes. */
export type SharedKind = KindName | 'file';

export interface FileEntry {
  kind: SharedKind;
  name: string;
}

/**
 * The files as the other switchboards have them, for all that is known here, and digests of what they had before. They
 * outlast a stop, so that a file that is edited meanwhile is told from an older one, and tell others what an edit replaced.
 */
export class SharedFiles extends Store implements SharedTexts {
  readonly #logger: Pick<Logger, 'warn'>;

  /** Stores whole texts, credentials included, to bring them back: only the owner can read the file. */
  constructor(path: string, logger: Pick<Logger, 'warn'>) {
    makePrivate(path);
    super(path, migrations);
    this.#logger = logger;
  }

  /** Whether the digests are those of this workspace. */
  isOf(directory: string): boolean {
    return this.one<{ directory: string }>('SELECT directory FROM workspace')?.directory === directory;
  }

  /** Takes the files of a workspace as those that the others have. */
  begin(directory: string, files: readonly (FileEntry & { text: string })[]): void {
    this.database.transaction(() => {
      this.write('DELETE FROM files');
      this.write('DELETE FROM former');
      for (const { kind, name, text } of files) this.#note(kind, name, text);
      this.write('INSERT OR REPLACE INTO workspace (only, directory) VALUES (1, ?)', [directory]);
    });
  }

  /** A failure, as on a full disk, is only logged: the others have the text, and get it again at the next start. */
  note(kind: SharedKind, name: string, text: string | null): void {
    try {
      this.database.transaction(() => this.#note(kind, name, text));
    } catch (error) {
      this.#logger.warn({ err: error, kind, name }, 'failed to record a shared file');
    }
  }

  #note(kind: SharedKind, name: string, text: string | null): void {
    const entry = `${kind}/${name}`;
    const [before, digest] = [
      this.digest(kind, name),
      text === null ? null : fileDigest({ kind, name }, text),
    ];
    if (text === null) this.write('DELETE FROM files WHERE entry = ?', [entry]);
    else
      this.write(
        `INSERT INTO files (entry, digest, text, at) VALUES (?1, ?2, ?3, ?4) ON CONFLICT DO UPDATE
           SET text = ?3, at = CASE digest WHEN ?2 THEN at ELSE ?4 END, digest = ?2`,
        [entry, digest, text, this.now()],
      );
    if (before === digest) return;
    this.write('DELETE FROM former WHERE entry = ? AND digest = ?', [entry, digest]);
    if (before === null) return;
    this.write('INSERT OR REPLACE INTO former (entry, digest, until) VALUES (?, ?, ?)', [
      entry,
      before,
      this.now(),
    ]);
    this.write('DELETE FROM former WHERE id <= (SELECT id FROM former ORDER BY id DESC LIMIT 1 OFFSET ?)', [
      mostFormer,
    ]);
  }

  digest(kind: SharedKind, name: string): string | null {
    return this.#row(kind, name)?.digest ?? null;
  }

  /** Null if the others have none. */
  text(kind: SharedKind, name: string): string | null {
    return this.#row(kind, name)?.text ?? null;
  }

  /** Whether a file that differs is one that the others had before, or was written before they got theirs. */
  isOlder({ kind, name }: FileEntry, text: string, writtenAt: number): boolean {
    const entry = `${kind}/${name}`;
    const former = this.all<{ digest: string; until: number }>(
      'SELECT digest, until FROM former WHERE entry = ? ORDER BY until',
      [entry],
    );
    const digest = fileDigest({ kind, name }, text);
    if (former.some((one) => one.digest === digest)) return true;
    const since = this.#row(kind, name)?.at ?? former.at(-1)?.until;
    return since !== undefined && writtenAt < since - clockLagMs;
  }

  #row(kind: SharedKind, name: string): { digest: string; text: string; at: number } | undefined {
    return this.one('SELECT digest, text, at FROM files WHERE entry = ?', [`${kind}/${name}`]);
  }

  entries(): FileEntry[] {
    return this.all<{ entry: string }>('SELECT entry FROM files ORDER BY entry').map(({ entry }) => {
      const slash = entry.indexOf('/');
      return { kind: entry.slice(0, slash) as SharedKind, name: entry.slice(slash + 1) };
    });
  }
}

/** Of a schedule that of its record without `lastFired`, which its switchboard writes. */
export function fileDigest({ kind, name }: FileEntry, text: string): string {
  if (kind === 'cron') {
    try {
      return digestOf(readRecord(text, `${name}.yaml`, name));
    } catch {
      // It is not valid: its text tells it from others.
    }
  }
  return createHash('sha256').update(text).digest('hex');
}
