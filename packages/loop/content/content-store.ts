import { createHash, createHmac, randomBytes, timingSafeEqual } from 'node:crypto';
import { existsSync, readdirSync, rmSync } from 'node:fs';
import { open, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { plainName } from '@trunkline/std';
import {
  type Database,
  ifExists,
  openDatabase,
  ownersOf,
  storedBytes,
  writeFileAtomic,
} from '@trunkline/storage';
import type { NewFile, StoredFile } from './content.ts';

export interface ContentStoreOptions {
  directory: string;
  /** Of one file. */
  maxFileBytes: number;
  /** Of all files together. */
  maxTotalBytes: number;
  /** Words for whoever would store too much on a quota; undefined where it fits. */
  room(quota: string, bytes: number): string | undefined;
  /** Signs links. */
  secret: string;
  /** Milliseconds; for tests. */
  now?: () => number;
}

/** A file with what only the service knows of it. */
export interface FileRecord extends StoredFile {
  owner: string;
  /** The conversation that it belongs to and goes with; undefined until a message names it. */
  sessionId: string | undefined;
}

interface Row {
  id: string;
  hash: string;
  name: string;
  media_type: string;
  size: number;
  owner: string;
  session_id: string | null;
  text: string | null;
  is_whole: number | null;
}

/** Why a file was not stored; the message is for whoever sent it. */
export class ContentError extends Error {
  readonly code: 'too_large' | 'full' | 'empty';

  constructor(code: ContentError['code'], message: string) {
    super(message);
    this.code = code;
  }
}

const hourMs = 60 * 60 * 1000;
/** How long a file stays that no stored conversation has. */
const looseMs = 24 * hourMs;

/** Files on disk by the hash of their content, so that the same bytes are there once, whoever sent them. */
export class ContentStore {
  readonly #options: Required<ContentStoreOptions>;
  readonly #database: Database;

  constructor(options: ContentStoreOptions) {
    this.#options = { now: Date.now, ...options };
    this.#database = openDatabase(join(options.directory, 'content.db'), { migrations });
  }

  get maxFileBytes(): number {
    return this.#options.maxFileBytes;
  }

  /** Stores a file of an owner, on a quota that others may share; the same file again in the same conversation gives the one that is there. */
  async put(file: NewFile, owner: string, sessionId?: string, quota = owner): Promise<StoredFile> {
    const { bytes, mediaType } = file;
    const name = plainName(file.name);
    this.#requireSize(name, bytes.byteLength);
    const hash = createHash('sha256').update(bytes).digest('hex');
    const known = this.#database
      .prepare<Row>('SELECT * FROM file WHERE hash = ? AND owner = ? AND name = ? AND session_id IS ?')
      .get(hash, owner, name, sessionId ?? null);
    if (known !== undefined) {
      // What no conversation has lives for a day from when it was last sent.
      this.#database
        .prepare('UPDATE file SET created_at = ? WHERE id = ?')
        .run(this.#options.now(), known.id);
      // A crash, or a restore without the files, may have left the row alone.
      await this.#write(hash, bytes);
      return recordOf(known);
    }
    const row = { hash, name, media_type: mediaType, size: bytes.byteLength, owner };
    // Nothing waits between the checks and the insert, so two uploads cannot both take the last room.
    const stored = this.#insert({ ...row, session_id: sessionId ?? null, text: null, is_whole: null }, quota);
    try {
      await this.#write(hash, bytes);
    } catch (error) {
      this.#remove('id = ?', stored.id);
      throw error;
    }
    return stored;
  }

  async #write(hash: string, bytes: Uint8Array): Promise<void> {
    if (!existsSync(this.#path(hash))) await writeFileAtomic(this.#path(hash), bytes, { mode: 0o600 });
  }

  #requireSize(name: string, size: number): void {
    const { maxFileBytes } = this.#options;
    if (size === 0) throw new ContentError('empty', `${name} is empty.`);
    if (size <= maxFileBytes) return;
    throw new ContentError(
      'too_large',
      `${name} has ${megabytes(size)} MB, and a file may have ${megabytes(maxFileBytes)} MB. Send a smaller one, or ask the operator to raise CORE_MAX_FILE_MB.`,
    );
  }

  #insert(row: Omit<Row, 'id'>, quota: string): StoredFile {
    const { maxTotalBytes, room, now } = this.#options;
    const { total = 0 } =
      this.#database
        .prepare<{ total: number }>(
          'SELECT total(size) AS total FROM (SELECT size FROM file GROUP BY hash) AS blob',
        )
        .get() ?? {};
    const isKnown = this.#database.prepare('SELECT 1 FROM file WHERE hash = ?').get(row.hash) !== undefined;
    if (!isKnown && total + row.size > maxTotalBytes)
      throw new ContentError(
        'full',
        `There is no room for ${row.name}: files may take ${megabytes(maxTotalBytes)} MB together. Delete chats with files (others go after a day), or ask the operator to raise CORE_FILES_MB.`,
      );
    const refusal = room(quota, row.size);
    if (refusal !== undefined) throw new ContentError('full', `${refusal}.`);
    const id = randomBytes(16).toString('base64url');
    const { hash, name, media_type, size, owner, session_id, text, is_whole } = row;
    this.#database
      .prepare(
        `INSERT INTO file (id, hash, name, media_type, size, owner, session_id, text, is_whole, created_at)
         VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
      )
      .run(id, hash, name, media_type, size, owner, session_id, text, is_whole, now());
    return { id, name, mediaType: media_type, size };
  }

  find(id: string): FileRecord | undefined {
    const row = this.#row(id);
    return row === undefined
      ? undefined
      : { ...recordOf(row), owner: row.owner, sessionId: row.session_id ?? undefined };
  }

  async read(id: string): Promise<Buffer | undefined> {
    const row = this.#row(id);
    return row === undefined ? undefined : await ifExists(readFile(this.#path(row.hash)));
  }

  /** At most so many bytes from this place of a file on. */
  async readSome(id: string, from: number, length: number): Promise<Buffer | undefined> {
    const row = this.#row(id);
    const file = row && (await ifExists(open(this.#path(row.hash))));
    if (file === undefined) return undefined;
    try {
      const { buffer, bytesRead } = await file.read(Buffer.alloc(length), 0, length, from);
      return buffer.subarray(0, bytesRead);
    } finally {
      await file.close();
    }
  }

  /** The text that was read from a file. */
  text(id: string): { text: string; isWhole: boolean } | undefined {
    const row = this.#row(id);
    if (row === undefined || row.text !== null) return textOf(row);
    // The same file of the same owner may have been read in another conversation.
    return textOf(
      this.#database
        .prepare<Row>('SELECT * FROM file WHERE hash = ? AND owner = ? AND name = ? AND text IS NOT NULL')
        .get(row.hash, row.owner, row.name),
    );
  }

  setText(id: string, text: string, isWhole: boolean): void {
    this.#database
      .prepare('UPDATE file SET text = ?, is_whole = ? WHERE id = ?')
      .run(text, isWhole ? 1 : 0, id);
  }

  /** The file as one of a conversation: it goes when the conversation does. */
  use(id: string, sessionId: string, quota?: string): StoredFile | undefined {
    const row = this.#row(id);
    if (row === undefined) return undefined;
    if (row.session_id === sessionId) return recordOf(row);
    const copy = this.#database
      .prepare<Row>('SELECT * FROM file WHERE hash = ? AND owner = ? AND name = ? AND session_id = ?')
      .get(row.hash, row.owner, row.name, sessionId);
    if (copy !== undefined) return recordOf(copy);
    if (row.session_id !== null) return this.#insert({ ...row, session_id: sessionId }, quota ?? row.owner);
    this.#database.prepare('UPDATE file SET session_id = ? WHERE id = ?').run(sessionId, id);
    return recordOf(row);
  }

  /** Removes the files of a conversation. */
  forget(sessionId: string): void {
    this.#remove('session_id = ?', sessionId);
  }

  /** Removes files that no conversation has any more, and bytes that no file has. */
  prune(isStored: (sessionId: string) => boolean): void {
    const loose = this.#options.now() - looseMs;
    const old = this.#database.prepare<Row>('SELECT * FROM file WHERE created_at < ?').all(loose);
    for (const { id, session_id } of old)
      if (session_id === null || !isStored(session_id)) this.#remove('id = ?', id);
    const known = new Set(
      this.#database
        .prepare<Pick<Row, 'hash'>>('SELECT DISTINCT hash FROM file')
        .all()
        .map(({ hash }) => hash),
    );
    for (const name of readdirSync(this.#options.directory))
      if (/^[0-9a-f]{64}$/.test(name) && !known.has(name)) rmSync(this.#path(name), { force: true });
  }

  bytesOf(owner: string): number {
    const own = 'owner BETWEEN ?1 AND ?2';
    const { bytes = 0 } =
      this.#database
        .prepare<{ bytes: number }>(`SELECT total(size) AS bytes FROM file WHERE ${own}`)
        .get(...ownersOf(owner)) ?? {};
    return bytes + storedBytes(this.#database, 'file', ['text'], own, owner);
  }

  /** Path and query under which whoever holds them may read the file for a while. Hand it to its owner alone. */
  link(id: string, lifeMs = hourMs): string {
    const expires = Math.ceil((this.#options.now() + lifeMs) / 1000);
    return `/files/${id}?expires=${expires}&signature=${this.#sign(id, expires)}`;
  }

  isSigned(id: string, expires: number, signature: string): boolean {
    const [wanted, given] = [Buffer.from(this.#sign(id, expires)), Buffer.from(signature)];
    if (wanted.length !== given.length || !timingSafeEqual(wanted, given)) return false;
    return expires * 1000 >= this.#options.now();
  }

  close(): void {
    this.#database.close();
  }

  #sign(id: string, expires: number): string {
    return createHmac('sha256', this.#options.secret).update(`${id} ${expires}`).digest('base64url');
  }

  #row(id: string): Row | undefined {
    return this.#database.prepare<Row>('SELECT * FROM file WHERE id = ?').get(id);
  }

  #remove(where: string, value: string): void {
    const rows = this.#database.prepare<Row>(`SELECT * FROM file WHERE ${where}`).all(value);
    this.#database.prepare(`DELETE FROM file WHERE ${where}`).run(value);
    for (const { hash } of rows) {
      const isUsed = this.#database.prepare('SELECT 1 FROM file WHERE hash = ?').get(hash) !== undefined;
      if (!isUsed) rmSync(this.#path(hash), { force: true });
    }
  }

  /** Only hashes name files: what a sender calls a file never becomes a path. */
  #path(hash: string): string {
    return join(this.#options.directory, hash);
  }
}

const migrations = [
  `CREATE TABLE file (
     id TEXT PRIMARY KEY,
     hash TEXT NOT NULL,
     name TEXT NOT NULL,
     media_type TEXT NOT NULL,
     size INTEGER NOT NULL,
     owner TEXT NOT NULL,
     session_id TEXT,
     text TEXT,
     is_whole INTEGER,
     created_at INTEGER NOT NULL
   ) STRICT, WITHOUT ROWID;
   CREATE INDEX file_by_hash ON file (hash, size);
   CREATE INDEX file_by_owner ON file (owner);
   CREATE INDEX file_by_session ON file (session_id);`,
];

function recordOf({ id, name, media_type, size }: Row): StoredFile {
  return { id, name, mediaType: media_type, size };
}

function megabytes(bytes: number): string {
  return (bytes / 2 ** 20).toFixed(1).replace(/\.0$/, '');
}

function textOf(row: Row | undefined): { text: string; isWhole: boolean } | undefined {
  return row?.text == null ? undefined : { text: row.text, isWhole: row.is_whole === 1 };
}
