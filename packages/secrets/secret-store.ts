import { createCipheriv, createDecipheriv, hkdfSync, randomBytes } from 'node:crypto';
import { closeSync, linkSync, mkdirSync, openSync, rmSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { errorMessage, type SecretInfo, systemCode } from '@trunkline/std';
import { checkKey, keyVariables, type MasterKey, SecretStoreError } from './master-key.ts';

export { SecretStoreError } from './master-key.ts';

export interface SecretStoreOptions {
  home: string;
  key: MasterKey;
  now?: () => number;
}

const NAME = /^[A-Za-z0-9][A-Za-z0-9_.-]{0,99}$/;
const MAX_VALUE_BYTES = 64 * 1024;
const MAX_SECRETS = 1000;
const MAX_USERS = 20;
const MAX_USER_LENGTH = 300;
const USE_MS = 60_000;
const BUSY_MS = 5000;
const RECORDING_MS = 100;
const CIPHER = 'aes-256-gcm';
const NONCE_BYTES = 12;
const TAG_BYTES = 16;
const VERSION = 1;
const DATA_KEY = 'trunkline data key';

/** Whether a secret may have this name: letters, digits, `.`, `_` and `-`. */
export function isSecretStoreName(name: string): boolean {
  return NAME.test(name);
}

/**
 * The secrets of an installation, in `secrets.db` of its home. Each value is encrypted under a data key, with its name
 * as associated data; the data key is encrypted under the master key. Every process opens the file for each use, so a
 * change counts for all of them at once.
 */
export class SecretStore {
  readonly file: string;
  readonly #options: SecretStoreOptions;

  constructor(options: SecretStoreOptions) {
    this.#options = options;
    this.file = join(options.home, 'secrets.db');
  }

  /** Where the master key is kept, for people. */
  get keyPlace(): string {
    return this.#options.key.place;
  }

  /** Whether the file exists. */
  exists(): boolean {
    return statSync(this.file, { throwIfNoEntry: false }) !== undefined;
  }

  /** Counts changes of values: whoever keeps one reads it again when this differs. */
  revision(): number {
    return this.#read((database) => metaOf(database, this.file).revision) ?? 0;
  }

  /** Needs no key. */
  list(): SecretInfo[] {
    return (
      this.#read((database) => {
        const users = database
          .prepare('SELECT * FROM uses ORDER BY usedAt DESC, user')
          .all() as unknown as Use[];
        const byName = Map.groupBy(users, ({ name }) => name);
        const rows = database.prepare('SELECT name, createdAt, changedAt FROM secrets ORDER BY name').all();
        return (rows as unknown as Omit<SecretInfo, 'usedAt' | 'users'>[]).map((row) => {
          const own = (byName.get(row.name) ?? []).map(({ user, usedAt }) => ({ user, usedAt }));
          return { ...row, usedAt: own[0]?.usedAt ?? null, users: own };
        });
      }) ?? []
    );
  }

  /** The value, or undefined where there is none of this name; `user` is recorded as using it. */
  get(name: string, user?: string): string | undefined {
    return this.#read((database) => {
      const row = database.prepare('SELECT sealed FROM secrets WHERE name = ?').get(name) as
        | Sealed
        | undefined;
      if (row === undefined) return undefined;
      const value = this.#open(row.sealed, this.#dataKey(database), name);
      if (user !== undefined) this.#recordUse(database, name, user.slice(0, MAX_USER_LENGTH));
      return value;
    });
  }

  /** Adds a secret, or gives it another value. */
  set(name: string, value: string): void {
    refuse(name, value);
    this.#create();
    this.#write((database) => {
      const dataKey = this.#dataKey(database);
      const isNew = database.prepare('SELECT 1 FROM secrets WHERE name = ?').get(name) === undefined;
      if (isNew && countOf(database) >= MAX_SECRETS)
        throw new SecretStoreError(
          'secret_refused',
          `The store holds ${MAX_SECRETS} secrets already. Remove some.`,
        );
      database
        .prepare(
          `INSERT INTO secrets VALUES (?, ?, ?, ?)
           ON CONFLICT (name) DO UPDATE SET sealed = excluded.sealed, changedAt = excluded.changedAt`,
        )
        .run(name, seal(value, dataKey, name), this.#now(), this.#now());
    });
  }

  /** Needs no key. Gives whether it was there. */
  remove(name: string): boolean {
    if (!this.exists()) return false;
    return this.#write((database) => {
      database.prepare('DELETE FROM uses WHERE name = ?').run(name);
      return Number(database.prepare('DELETE FROM secrets WHERE name = ?').run(name).changes) > 0;
    });
  }

  /**
   * Encrypts everything anew under another master key: the given one, or a random one where the key is kept in a file or
   * keyring. A crash at any moment leaves a store that opens with the old key or with the staged one.
   */
  rotateKey(given?: string): void {
    const { key } = this.#options;
    if (key.stage === undefined && given === undefined)
      throw new SecretStoreError('secret_refused', `The key stands in ${key.place}: give the new one.`);
    const next = checkKey(given ?? randomBytes(32).toString('base64url'), 'the new key');
    this.#create();
    this.#write((database) => {
      const before = this.#dataKey(database);
      key.stage?.(next);
      const after = randomBytes(32);
      const rows = database.prepare('SELECT name, sealed FROM secrets').all() as unknown as (Sealed & Use)[];
      const update = database.prepare('UPDATE secrets SET sealed = ? WHERE name = ?');
      for (const { name, sealed } of rows)
        update.run(seal(this.#open(sealed, before, name), after, name), name);
      const salt = randomBytes(16);
      database
        .prepare('UPDATE meta SET salt = ?, dataKey = ?')
        .run(salt, seal(after.toString('base64'), derive(next, salt), DATA_KEY));
    });
    if (key.stage !== undefined) promote(key, next);
  }

  /** Puts a whole, empty store in place; of two processes that do so at once, the first wins. */
  #create(): void {
    if (this.exists()) return;
    const { home, key } = this.#options;
    mkdirSync(home, { recursive: true, mode: 0o700 });
    const master = checkKey(key.create(), key.place);
    const draft = `${this.file}.${process.pid}.${randomBytes(4).toString('hex')}`;
    closeSync(openSync(draft, 'wx', 0o600));
    try {
      const database = new DatabaseSync(draft);
      const salt = randomBytes(16);
      database.exec(SCHEMA);
      database
        .prepare('INSERT INTO meta VALUES (0, ?, ?)')
        .run(salt, seal(randomBytes(32).toString('base64'), derive(master, salt), DATA_KEY));
      database.close();
      linkSync(draft, this.file);
    } catch (error) {
      if (systemCode(error) !== 'EEXIST') throw error;
    } finally {
      rmSync(draft, { force: true });
    }
  }

  #read<Result>(read: (database: DatabaseSync) => Result): Result | undefined {
    return this.exists() ? this.#use(read) : undefined;
  }

  #write<Result>(change: (database: DatabaseSync) => Result): Result {
    return this.#use((database) => {
      database.exec('BEGIN IMMEDIATE');
      try {
        const result = change(database);
        database.exec('UPDATE meta SET revision = revision + 1');
        database.exec('COMMIT');
        return result;
      } catch (error) {
        if (database.isTransaction) database.exec('ROLLBACK');
        throw error;
      }
    });
  }

  #use<Result>(use: (database: DatabaseSync) => Result): Result {
    let database: DatabaseSync | undefined;
    try {
      if (statSync(this.file).size === 0) throw this.#damaged('it is empty');
      database = new DatabaseSync(this.file, { timeout: BUSY_MS });
      const [check] = database.prepare('PRAGMA quick_check(1)').all() as { quick_check: string }[];
      if (check?.quick_check !== 'ok') throw this.#damaged(check?.quick_check ?? 'it cannot be checked');
      metaOf(database, this.file);
      return use(database);
    } catch (error) {
      if (error instanceof SecretStoreError) throw error;
      const reason = errorMessage(error);
      if (DAMAGED.has(sqliteCode(error))) throw this.#damaged(reason, error);
      const words = `The secrets in ${this.file} cannot be used: ${reason}. Check that this user may read and write it.`;
      throw new SecretStoreError('secrets_unusable', words, { cause: error });
    } finally {
      database?.close();
    }
  }

  #dataKey(database: DatabaseSync): Buffer {
    const { key } = this.#options;
    const { salt, dataKey } = metaOf(database, this.file);
    const open = (master: string | undefined) =>
      master === undefined ? undefined : unseal(dataKey, derive(master, salt), DATA_KEY);
    const master = key.read();
    const opened = open(master) ?? this.#openStaged(open);
    if (opened !== undefined) return Buffer.from(opened, 'base64');
    const advice = `Put the key back that ${this.file} was written with: ${keyVariables.key}, the file of ${keyVariables.file}, or the keyring (${keyVariables.keyring}). Nothing was changed.`;
    if (master === undefined)
      throw new SecretStoreError(
        'secrets_key_missing',
        `The key of the secrets is missing in ${key.place}. ${advice}`,
      );
    throw new SecretStoreError(
      'secrets_key_wrong',
      `The key in ${key.place} does not open the secrets. ${advice}`,
    );
  }

  /** A rotation was interrupted after the store was written and before its key was put in place. */
  #openStaged(open: (master: string | undefined) => string | undefined): string | undefined {
    const { key } = this.#options;
    const staged = key.staged();
    const opened = open(staged) ?? open(key.read());
    if (opened !== undefined && staged !== undefined) promote(key, staged);
    return opened;
  }

  #open(sealed: Uint8Array, key: Buffer, name: string): string {
    const value = unseal(sealed, key, name);
    if (value !== undefined) return value;
    const words = `The secret ${name} was changed outside of Trunkline and cannot be decrypted. Set it again: npx trunkline secret set ${name}`;
    throw new SecretStoreError('secrets_damaged', words);
  }

  #recordUse(database: DatabaseSync, name: string, user: string): void {
    const now = this.#now();
    const last = database.prepare('SELECT usedAt FROM uses WHERE name = ? AND user = ?').get(name, user);
    if (last !== undefined && now - Number(last.usedAt) < USE_MS) return;
    try {
      database.exec(`PRAGMA busy_timeout = ${RECORDING_MS}`);
      database.prepare('INSERT OR REPLACE INTO uses VALUES (?, ?, ?)').run(name, user, now);
      database
        .prepare(
          `DELETE FROM uses WHERE name = ?1 AND user NOT IN
           (SELECT user FROM uses WHERE name = ?1 ORDER BY usedAt DESC LIMIT ${MAX_USERS})`,
        )
        .run(name);
    } catch (error) {
      // Whoever needs the secret gets it although another process writes, or the disk is read-only.
      if (!UNRECORDED.has(sqliteCode(error))) throw error;
    }
  }

  #damaged(reason: string, cause?: unknown): SecretStoreError {
    const words = `${this.file} is damaged: ${reason}. Restore it from a backup, or move it away and set the secrets again.`;
    return new SecretStoreError('secrets_damaged', words, { cause });
  }

  #now(): number {
    return (this.#options.now ?? Date.now)();
  }
}

type Sealed = { sealed: Uint8Array };
type Use = { name: string; user: string; usedAt: number };
type Meta = { revision: number; salt: Uint8Array; dataKey: Uint8Array };

// SQLITE_CORRUPT, SQLITE_NOTADB
const DAMAGED: ReadonlySet<number> = new Set([11, 26]);
// SQLITE_BUSY, SQLITE_READONLY
const UNRECORDED: ReadonlySet<number> = new Set([5, 8]);

const SCHEMA = `
  PRAGMA user_version = ${VERSION};
  CREATE TABLE meta (revision INTEGER NOT NULL, salt BLOB NOT NULL, dataKey BLOB NOT NULL) STRICT;
  CREATE TABLE secrets (
    name TEXT PRIMARY KEY, sealed BLOB NOT NULL, createdAt INTEGER NOT NULL, changedAt INTEGER NOT NULL
  ) STRICT;
  CREATE TABLE uses (name TEXT NOT NULL, user TEXT NOT NULL, usedAt INTEGER NOT NULL, PRIMARY KEY (name, user)) STRICT;
`;

function metaOf(database: DatabaseSync, file: string): Meta {
  const version = Number(database.prepare('PRAGMA user_version').get()?.user_version);
  if (version > VERSION)
    throw new SecretStoreError(
      'secrets_unusable',
      `${file} was written by a newer release of Trunkline. Start that.`,
    );
  const meta = version === VERSION ? database.prepare('SELECT * FROM meta').get() : undefined;
  if (meta === undefined)
    throw new SecretStoreError(
      'secrets_damaged',
      `${file} is no store of secrets. Restore it from a backup.`,
    );
  return meta as unknown as Meta;
}

function countOf(database: DatabaseSync): number {
  return Number(database.prepare('SELECT count(*) AS count FROM secrets').get()?.count);
}

function refuse(name: string, value: string): void {
  if (!isSecretStoreName(name)) {
    const words = `A secret cannot be called ${JSON.stringify(name)}: use up to 100 letters, digits, dots, dashes and underscores.`;
    throw new SecretStoreError('secret_refused', words);
  }
  if (value === '') throw new SecretStoreError('secret_refused', `The value of ${name} is empty.`);
  if (Buffer.byteLength(value) > MAX_VALUE_BYTES)
    throw new SecretStoreError(
      'secret_refused',
      `The value of ${name} is larger than ${MAX_VALUE_BYTES / 1024} KiB.`,
    );
}

function promote(key: MasterKey, expected: string): void {
  try {
    key.promote();
  } catch (error) {
    // Another process put it in place first.
    if (systemCode(error) !== 'ENOENT' || key.read() !== expected) throw error;
  }
}

function derive(master: string, salt: Uint8Array): Buffer {
  return Buffer.from(hkdfSync('sha256', master, salt, 'trunkline secrets', 32));
}

function seal(text: string, key: Buffer, name: string): Buffer {
  const nonce = randomBytes(NONCE_BYTES);
  const encryption = createCipheriv(CIPHER, key, nonce).setAAD(Buffer.from(name));
  const data = Buffer.concat([encryption.update(text, 'utf8'), encryption.final()]);
  return Buffer.concat([Buffer.of(VERSION), nonce, encryption.getAuthTag(), data]);
}

/** Undefined for another key or name, and for bytes that were changed. */
function unseal(sealed: Uint8Array, key: Buffer, name: string): string | undefined {
  const nonceEnd = 1 + NONCE_BYTES;
  const tagEnd = nonceEnd + TAG_BYTES;
  if (sealed[0] !== VERSION || sealed.length < tagEnd) return undefined;
  try {
    const decryption = createDecipheriv(CIPHER, key, sealed.subarray(1, nonceEnd), {
      authTagLength: TAG_BYTES,
    })
      .setAAD(Buffer.from(name))
      .setAuthTag(sealed.subarray(nonceEnd, tagEnd));
    return Buffer.concat([decryption.update(sealed.subarray(tagEnd)), decryption.final()]).toString('utf8');
  } catch {
    // Authentication failed; Node says no more than that.
    return undefined;
  }
}

function sqliteCode(error: unknown): number {
  return Number((error as { errcode?: number }).errcode ?? 0) & 0xff;
}
