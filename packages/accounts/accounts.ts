import { createHash, randomBytes } from 'node:crypto';
import { join } from 'node:path';
import {
  type AccountAccess,
  type AccountProof,
  accountIdOf,
  atMost,
  type Principal,
  type Role,
  roleOf,
} from '@trunkline/identity';
import { type Database, SharedDatabase } from '@trunkline/storage';
import { type Account, type AccountKey, type ListedPerson, principalOf } from './account.ts';
import { accountErrors } from './errors.ts';
import { checkIdentity, checkName, normalIdentity, plainText } from './names.ts';
import { type Pairing, Pairings } from './pairings.ts';
import { Programs } from './programs.ts';
import { migrations } from './schema.ts';

export interface AccountsOptions {
  home: string;
  logger: { warn(fields: object, message: string): void };
  now?: () => number;
}

const KEY_PREFIX = 'tlk_';
/** Nobody but us makes such keys. */
const KEY_FORM = /^tlk_[\w-]{43}$/;
const SESSION_PREFIX = 'tls_';
const SESSION_MS = 90 * 24 * 3_600_000;
const SEEN_EVERY_MS = 60_000;
const MAX_ACCOUNTS = 10_000;
const MAX_IDENTITIES = 50;
const MAX_KEYS = 20;
const MAX_SESSIONS = 20;
const MAX_LISTED = 1000;
const MAX_USED_CODES = 10_000;

export const accountsFile = (home: string): string => join(home, 'accounts.db');

export function openAccounts(options: AccountsOptions): Accounts {
  return new Accounts(options);
}

/**
 * The users and roles of an installation. All services use the same file. Keys, sessions and codes are random and stored
 * as hashes only.
 */
export class Accounts implements AccountAccess {
  /** What people let programs do for them. */
  readonly programs: Programs;
  readonly #file: SharedDatabase;
  readonly #logger: AccountsOptions['logger'];
  readonly #now: () => number;
  readonly #pairings: Pairings;

  constructor({ home, logger, now = Date.now }: AccountsOptions) {
    this.#file = new SharedDatabase(accountsFile(home), migrations);
    this.#logger = logger;
    this.#now = now;
    this.#pairings = new Pairings(this.#file, now);
    this.programs = new Programs(this.#file, now, logger);
  }

  /** By name. */
  list(): Account[] {
    return this.#read<AccountRow>('SELECT * FROM accounts ORDER BY name COLLATE NOCASE, id').map(
      this.#toAccount,
    );
  }

  get(id: string): Account | undefined {
    return this.#read<AccountRow>('SELECT * FROM accounts WHERE id = ?', id).map(this.#toAccount)[0];
  }

  create(given: { name: string; role: Role; identities?: readonly string[] }): Account {
    const name = checkName(given.name);
    return this.#write((database) => {
      if (count(database, 'SELECT count(*) AS n FROM accounts') >= MAX_ACCOUNTS)
        throw accountErrors.account_limit({ what: 'accounts', most: MAX_ACCOUNTS });
      const id = randomBytes(6).toString('hex');
      database
        .prepare('INSERT INTO accounts (id, name, role, created_at) VALUES (?, ?, ?, ?)')
        .run(id, name, given.role, this.#now());
      for (const identity of given.identities ?? []) this.link(id, identity);
      return this.#require(id);
    });
  }

  update(id: string, change: { name?: string; role?: Role; disabled?: boolean }): Account {
    return this.#write((database) => {
      const before = this.#require(id);
      const { role = before.role, disabled = before.disabled } = change;
      if (role !== 'owner' || disabled) this.#keepOwner(before);
      database
        .prepare('UPDATE accounts SET name = ?, role = ?, disabled = ? WHERE id = ?')
        .run(checkName(change.name ?? before.name), role, Number(disabled), id);
      if (disabled) this.endSessions(id);
      return this.#require(id);
    });
  }

  /** With its keys, sessions and identities. The only account of all may go, also an owner's. */
  remove(id: string): void {
    this.#write((database) => {
      const account = this.#require(id);
      if (count(database, 'SELECT count(*) AS n FROM accounts') > 1) this.#keepOwner(account);
      database.prepare('DELETE FROM accounts WHERE id = ?').run(id);
    });
  }

  byIdentity(identity: string): Account | undefined {
    const sql = 'SELECT a.* FROM accounts a JOIN identities i ON i.account = a.id WHERE i.identity = ?';
    return this.#read<AccountRow>(sql, normalIdentity(identity)).map(this.#toAccount)[0];
  }

  link(id: string, identity: string): Account {
    const checked = checkIdentity(identity);
    return this.#write((database) => {
      const account = this.#require(id);
      const holder = this.byIdentity(checked);
      if (holder?.id === id) return account;
      if (holder !== undefined) throw accountErrors.identity_linked({ identity: checked, name: holder.name });
      if (account.identities.length >= MAX_IDENTITIES)
        throw accountErrors.account_limit({ what: 'identities of this account', most: MAX_IDENTITIES });
      database.prepare('INSERT INTO identities (identity, account) VALUES (?, ?)').run(checked, id);
      return this.#require(id);
    });
  }

  unlink(identity: string): void {
    this.#write((database) => {
      const { changes } = database
        .prepare('DELETE FROM identities WHERE identity = ?')
        .run(normalIdentity(identity));
      if (changes === 0) throw accountErrors.identity_unknown({ identity });
    });
  }

  /** The key is shown this once. */
  createKey(id: string, label: string): { key: string; keyId: string } {
    return this.#write((database) => {
      this.#require(id);
      if (count(database, 'SELECT count(*) AS n FROM keys WHERE account = ?', id) >= MAX_KEYS)
        throw accountErrors.account_limit({ what: 'keys of this account', most: MAX_KEYS });
      const key = KEY_PREFIX + randomBytes(32).toString('base64url');
      const keyId = randomBytes(4).toString('hex');
      database
        .prepare('INSERT INTO keys (id, account, label, hash, created_at) VALUES (?, ?, ?, ?, ?)')
        .run(keyId, id, plainText(label), hashOf(key), this.#now());
      return { key, keyId };
    });
  }

  keys(id: string): AccountKey[] {
    const sql = 'SELECT id, label, created_at, used_at FROM keys WHERE account = ? ORDER BY created_at, id';
    return this.#read<KeyRow>(sql, id).map((row) => ({
      keyId: row.id,
      label: row.label,
      createdAt: row.created_at,
      ...(row.used_at !== null && { lastUsedAt: row.used_at }),
    }));
  }

  /** Whose key it is; undefined for an unknown one. */
  accountOfKey(keyId: string): Account | undefined {
    const sql = 'SELECT a.* FROM accounts a JOIN keys k ON k.account = a.id WHERE k.id = ?';
    return this.#read<AccountRow>(sql, keyId).map(this.#toAccount)[0];
  }

  /** Programs end with it: whoever found the key may have connected them. */
  revokeKey(keyId: string): void {
    this.#write((database) => {
      this.programs.disconnectAll(this.accountOfKey(keyId)?.id ?? '');
      if (database.prepare('DELETE FROM keys WHERE id = ?').run(keyId).changes === 0)
        throw accountErrors.key_unknown({ keyId });
    });
  }

  principalFor(proof: AccountProof): Principal | undefined {
    if ('key' in proof) {
      const account = this.byKey(proof.key);
      if (account === undefined && KEY_FORM.test(proof.key.trim())) throw accountErrors.account_key();
      return account && principalOf(account);
    }
    const account = 'session' in proof ? this.bySession(proof.session) : this.byIdentity(proof.identity);
    return account && principalOf(account);
  }

  current(principal: Principal): Principal {
    const id = accountIdOf(principal);
    if (id === undefined) return principal;
    const account = this.get(id);
    if (account === undefined) throw accountErrors.account_removed();
    return atMost(principal, roleOf(principalOf(account)));
  }

  /** The account of a key, a disabled one too. A key of another kind costs no look into the file. */
  byKey(presented: string): Account | undefined {
    const key = presented.trim();
    if (!key.startsWith(KEY_PREFIX)) return undefined;
    const hash = hashOf(key);
    const sql = 'SELECT a.* FROM accounts a JOIN keys k ON k.account = a.id WHERE k.hash = ?';
    const account = this.#read<AccountRow>(sql, hash).map(this.#toAccount)[0];
    return this.#seen(account, (database) =>
      database.prepare('UPDATE keys SET used_at = ? WHERE hash = ?').run(this.#now(), hash),
    );
  }

  /** The value of a session cookie. The oldest session of an account ends when there are too many. */
  createSession(id: string): string {
    const cookie = SESSION_PREFIX + randomBytes(32).toString('base64url');
    this.#write((database) => {
      const { name, disabled } = this.#require(id);
      if (disabled) throw accountErrors.account_disabled({ name });
      database.prepare('DELETE FROM sessions WHERE expires_at <= ?').run(this.#now());
      database
        .prepare('INSERT INTO sessions (hash, account, expires_at) VALUES (?, ?, ?)')
        .run(hashOf(cookie), id, this.#now() + SESSION_MS);
      database
        .prepare(
          `DELETE FROM sessions WHERE account = ?1 AND hash NOT IN
             (SELECT hash FROM sessions WHERE account = ?1 ORDER BY expires_at DESC, hash = ?2 DESC LIMIT ?3)`,
        )
        .run(id, hashOf(cookie), MAX_SESSIONS);
    });
    return cookie;
  }

  /** The account of a session, a disabled one too. */
  bySession(cookie: string): Account | undefined {
    if (!cookie.startsWith(SESSION_PREFIX)) return undefined;
    const sql =
      'SELECT a.* FROM accounts a JOIN sessions s ON s.account = a.id WHERE s.hash = ? AND s.expires_at > ?';
    return this.#seen(this.#read<AccountRow>(sql, hashOf(cookie), this.#now()).map(this.#toAccount)[0]);
  }

  endSession(cookie: string): void {
    if (!cookie.startsWith(SESSION_PREFIX) || !this.#file.exists) return;
    this.#write((database) => database.prepare('DELETE FROM sessions WHERE hash = ?').run(hashOf(cookie)));
  }

  /** With the programs that were connected in one. */
  endSessions(id: string): void {
    this.#write((database) => database.prepare('DELETE FROM sessions WHERE account = ?').run(id));
    this.programs.disconnectAll(id);
  }

  /** A code that proves to the operator who is asking; undefined if there are too many, or the operator refused. */
  requestPairing(identity: string, display: string): { code: string; expiresAt: number } | undefined {
    const checked = checkIdentity(identity);
    return this.byIdentity(checked) === undefined
      ? this.#pairings.request(checked, plainText(display))
      : undefined;
  }

  /** Open requests, the oldest first. */
  pairings(): Pairing[] {
    return this.#file.exists ? this.#pairings.list() : [];
  }

  /** Links whoever asked to an account, or to a new one. Wrong codes are limited, for all callers together. */
  approvePairing(
    which: { code: string } | { identity: string },
    target: { accountId: string } | { name: string; role: Role },
  ): Account {
    const identity = this.#pairings.find(
      'code' in which ? which : { identity: normalIdentity(which.identity) },
    );
    return this.#write(() => {
      const account = 'accountId' in target ? this.#require(target.accountId) : this.create(target);
      this.#pairings.remove(identity);
      return this.link(account.id, identity);
    });
  }

  /** The same identity gets no new code within the hour. */
  refusePairing(identity: string): void {
    this.#pairings.refuse(normalIdentity(identity));
  }

  /** Whether a one-time code of the operator is used for the first time; uses it up in all services, also after a restart. */
  useOnce(code: string, expiresAt: number): boolean {
    return this.#write((database) => {
      database.prepare('DELETE FROM used_codes WHERE expires_at <= ?').run(this.#now());
      if (count(database, 'SELECT count(*) AS n FROM used_codes') >= MAX_USED_CODES) return false;
      const sql = 'INSERT INTO used_codes (hash, expires_at) VALUES (?, ?) ON CONFLICT DO NOTHING';
      return database.prepare(sql).run(hashOf(code), expiresAt).changes > 0;
    });
  }

  /** Replaces what a file lists, so that every service can show it. It gives no rights, so a failure is only logged. */
  setListed(source: string, people: readonly Omit<ListedPerson, 'source'>[]): void {
    if (people.length === 0 && !this.#file.exists) return;
    const sql = 'INSERT OR IGNORE INTO listed (source, identity, name, role) VALUES (?, ?, ?, ?)';
    try {
      this.#write((database) => {
        database.prepare('DELETE FROM listed WHERE source = ?').run(source);
        const insert = database.prepare(sql);
        for (const { identity, name, role } of people.slice(0, MAX_LISTED))
          insert.run(source, identity, name, role);
      });
    } catch (error) {
      this.#logger.warn({ err: error, source }, 'failed to record listed people');
    }
  }

  listed(): ListedPerson[] {
    return this.#read<ListedPerson>(
      'SELECT source, identity, name, role FROM listed ORDER BY source, identity',
    );
  }

  /** Frees the file until the next use. */
  close(): void {
    this.#file.close();
  }

  #require(id: string): Account {
    const account = this.get(id);
    if (account === undefined) throw accountErrors.account_unknown({ id });
    return account;
  }

  #keepOwner({ id, name, role, disabled }: Account): void {
    if (role !== 'owner' || disabled) return;
    const sql = "SELECT count(*) AS n FROM accounts WHERE role = 'owner' AND disabled = 0 AND id != ?";
    if (count(this.#file.open(), sql, id) === 0) throw accountErrors.account_last_owner({ name });
  }

  /** Notes the use, once a minute. Whoever shows a key comes in also while the disk is full. */
  #seen(account: Account | undefined, also?: (database: Database) => void): Account | undefined {
    if (account === undefined || this.#now() - (account.lastSeenAt ?? 0) < SEEN_EVERY_MS) return account;
    try {
      this.#write((database) => {
        database.prepare('UPDATE accounts SET seen_at = ? WHERE id = ?').run(this.#now(), account.id);
        also?.(database);
      });
    } catch (error) {
      this.#logger.warn({ err: error }, 'failed to record the use of an account');
    }
    return account;
  }

  /** An installation without accounts has no file, and reading creates none. */
  #read<Row>(sql: string, ...values: (string | number)[]): Row[] {
    return this.#file.exists
      ? this.#file
          .open()
          .prepare<Row>(sql)
          .all(...values)
      : [];
  }

  #write<T>(work: (database: Database) => T): T {
    const database = this.#file.open();
    return database.transaction(() => work(database));
  }

  readonly #toAccount = (row: AccountRow): Account => ({
    id: row.id,
    name: row.name,
    role: row.role,
    disabled: row.disabled !== 0,
    createdAt: row.created_at,
    ...(row.seen_at !== null && { lastSeenAt: row.seen_at }),
    identities: this.#read<{ identity: string }>(
      'SELECT identity FROM identities WHERE account = ? ORDER BY identity',
      row.id,
    ).map(({ identity }) => identity),
  });
}

interface AccountRow {
  id: string;
  name: string;
  role: Role;
  disabled: number;
  created_at: number;
  seen_at: number | null;
}

interface KeyRow {
  id: string;
  label: string;
  created_at: number;
  used_at: number | null;
}

/** Enough for random values of 256 bits: there is nothing to guess. */
function hashOf(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}

function count(database: Database, sql: string, ...values: string[]): number {
  return database.prepare<{ n: number }>(sql).get(...values)?.n ?? 0;
}
