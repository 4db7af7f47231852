import { createHash, randomBytes } from 'node:crypto';
import type { Database, SharedDatabase } from '@trunkline/storage';
import { accountErrors } from './errors.ts';

/** A program that a person let act for them, such as an MCP client. */
export interface ConnectedProgram {
  programId: string;
  /** Chosen by the program: it proves nothing. */
  name: string;
  /** The agent that it may use. */
  agent: string;
  createdAt: number;
  /** To the minute. */
  lastUsedAt?: number;
}

export interface ProgramTokens {
  access: string;
  refresh: string;
  expiresInS: number;
}

interface Allowed {
  account: string;
  /** The OAuth client id. */
  clientId: string;
  name: string;
  agent: string;
  redirect: string;
  /** SHA-256 of the verifier, base64url. */
  challenge: string;
}

interface Warner {
  warn(fields: object, message: string): void;
}

/** Nobody but us makes such tokens; keys of accounts begin otherwise. */
const ACCESS_PREFIX = 'tlm_';
const REFRESH_PREFIX = 'tlr_';
const ACCESS_MS = 3_600_000;
const GRANT_MS = 30 * 24 * 3_600_000;
const CODE_MS = 5 * 60_000;
/** Two windows of a program renew at once, or an answer is lost: within this time a refresh token is good again. */
const REUSE_MS = 60_000;
const SEEN_EVERY_MS = 60_000;
/** Of each account; the oldest go first. */
const MAX_CODES = 50;
/** Of each account; the one that was renewed least lately goes first. */
const MAX_PROGRAMS = 50;
/** Pairs of tokens of one program; used ones go first. */
const MAX_PAIRS = 50;

/** OAuth grants of programs, as `Accounts` keeps them. Codes and tokens are random and stored as hashes only. */
export class Programs {
  readonly #file: SharedDatabase;
  readonly #now: () => number;
  readonly #logger: Warner;

  constructor(file: SharedDatabase, now: () => number, logger: Warner) {
    this.#file = file;
    this.#now = now;
    this.#logger = logger;
  }

  /** Of an account, the newest first. */
  list(account: string): ConnectedProgram[] {
    if (!this.#file.exists) return [];
    return this.#file
      .open()
      .prepare<ProgramRow>(LIST_SQL)
      .all(account, this.#now())
      .map(({ id, name, agent, created_at, used_at }) => ({
        programId: id,
        name,
        agent,
        createdAt: created_at,
        ...(used_at !== null && { lastUsedAt: used_at }),
      }));
  }

  /** Undefined where it was disconnected, or was not renewed in time. */
  accountOfProgram(programId: string): string | undefined {
    const sql = 'SELECT account FROM programs WHERE id = ? AND ends > ?';
    return this.#get<{ account: string }>(sql, programId, this.#now())?.account;
  }

  disconnect(programId: string): void {
    if (this.#run('DELETE FROM programs WHERE id = ?', programId) === 0)
      throw accountErrors.program_unknown({ programId });
  }

  disconnectAll(account: string): void {
    this.#run('DELETE FROM programs WHERE account = ?', account);
    this.#run('DELETE FROM program_codes WHERE account = ?', account);
  }

  /** Ends all that a person has allowed one client. */
  withdraw({ account, clientId }: Pick<Allowed, 'account' | 'clientId'>): void {
    const client = hashOf(clientId);
    this.#run('DELETE FROM programs WHERE account = ? AND client = ?', account, client);
    this.#run('DELETE FROM program_codes WHERE account = ? AND client = ?', account, client);
  }

  createCode({ account, clientId, name, agent, redirect, challenge }: Allowed): string {
    const code = randomBytes(32).toString('base64url');
    this.#write((database) => {
      const prune = `DELETE FROM program_codes WHERE expires_at <= ?1 OR hash IN
        (SELECT hash FROM program_codes WHERE account = ?3 ORDER BY expires_at DESC LIMIT -1 OFFSET ?2)`;
      database.prepare(prune).run(this.#now(), MAX_CODES - 1, account);
      database
        .prepare(
          `INSERT INTO program_codes (hash, account, client, name, agent, redirect, challenge, expires_at)
             VALUES (?, ?, ?, ?, ?, ?, ?, ?)`,
        )
        .run(
          hashOf(code),
          account,
          hashOf(clientId),
          name,
          agent,
          redirect,
          challenge,
          this.#now() + CODE_MS,
        );
    });
    return code;
  }

  /**
   * Uses the code up; undefined where it is unknown, was used or has expired, or belongs to another request. Whoever shows
   * it a second time may have stolen it: what it gave ends.
   */
  redeem(code: string, shown: { clientId: string; redirect: string | undefined; verifier: string }) {
    return this.#write((database) => {
      const found = database
        .prepare<CodeRow>('SELECT * FROM program_codes WHERE hash = ? AND expires_at > ?')
        .get(hashOf(code), this.#now());
      if (found === undefined) return undefined;
      if (found.used !== 0) {
        this.#run('DELETE FROM programs WHERE id = ?', found.program ?? '');
        return undefined;
      }
      database.prepare('UPDATE program_codes SET used = 1 WHERE hash = ?').run(found.hash);
      const isSame =
        found.client === hashOf(shown.clientId) && (shown.redirect ?? found.redirect) === found.redirect;
      if (!isSame || hashOf(shown.verifier) !== found.challenge) return undefined;
      const id = randomBytes(4).toString('hex');
      database
        .prepare(
          'INSERT INTO programs (id, account, client, name, agent, created_at, ends) VALUES (?, ?, ?, ?, ?, ?, 0)',
        )
        .run(id, found.account, found.client, found.name, found.agent, this.#now());
      database.prepare('UPDATE program_codes SET program = ? WHERE hash = ?').run(id, found.hash);
      const tokens = this.#issue(database, id);
      database.prepare('DELETE FROM programs WHERE ends <= ?').run(this.#now());
      database
        .prepare(
          `DELETE FROM programs WHERE account = ?1 AND id NOT IN
             (SELECT id FROM programs WHERE account = ?1 ORDER BY ends DESC, id = ?2 DESC LIMIT ?3)`,
        )
        .run(found.account, id, MAX_PROGRAMS);
      return tokens;
    });
  }

  /** New tokens for a refresh token, which is used up. One that comes back later was stolen: the program is disconnected. */
  refresh(token: string, clientId: string): ProgramTokens | undefined {
    return this.#write((database) => {
      const found = database.prepare<PairRow>(REFRESH_SQL).get(hashOf(token), this.#now());
      if (found?.client !== hashOf(clientId)) return undefined;
      if (found.used_at !== null && this.#now() - found.used_at >= REUSE_MS) {
        database.prepare('DELETE FROM programs WHERE id = ?').run(found.program);
        return undefined;
      }
      database
        .prepare(
          'UPDATE program_tokens SET access_ends = 0, used_at = coalesce(used_at, ?) WHERE refresh = ?',
        )
        .run(this.#now(), hashOf(token));
      return this.#issue(database, found.program);
    });
  }

  /** Whether a token looks like one of these, be it good or not. */
  isAccessToken(token: string): boolean {
    return token.startsWith(ACCESS_PREFIX);
  }

  /** Whose token it is; undefined where it has expired, was revoked, or is for another agent. Records the use. */
  holderOf(token: string, agent: string): { programId: string; account: string } | undefined {
    const found = this.#get<{ id: string; account: string; used_at: number | null }>(
      `SELECT p.id, p.account, p.used_at FROM programs p JOIN program_tokens t ON t.program = p.id
       WHERE t.access = ? AND t.access_ends > ? AND p.agent = ?`,
      hashOf(token),
      this.#now(),
      agent,
    );
    if (found === undefined) return undefined;
    const { id: programId, account, used_at } = found;
    if (this.#now() - (used_at ?? 0) >= SEEN_EVERY_MS) this.#seen(programId);
    return { programId, account };
  }

  /** Disconnects the program of an access or refresh token. */
  revoke(token: string): void {
    const sql =
      'DELETE FROM programs WHERE id IN (SELECT program FROM program_tokens WHERE access = ? OR refresh = ?)';
    this.#run(sql, hashOf(token), hashOf(token));
  }

  /** Whoever shows a token comes in also while the disk is full. */
  #seen(program: string): void {
    try {
      this.#run('UPDATE programs SET used_at = ? WHERE id = ?', this.#now(), program);
    } catch (error) {
      this.#logger.warn({ err: error }, 'failed to record the use of a program');
    }
  }

  #issue(database: Database, program: string): ProgramTokens {
    const random = () => randomBytes(32).toString('base64url');
    const [access, refresh] = [ACCESS_PREFIX + random(), REFRESH_PREFIX + random()];
    const [now, ends] = [this.#now(), this.#now() + GRANT_MS];
    database
      .prepare(
        'INSERT INTO program_tokens (program, access, access_ends, refresh, ends) VALUES (?, ?, ?, ?, ?)',
      )
      .run(program, hashOf(access), now + ACCESS_MS, hashOf(refresh), ends);
    database.prepare('UPDATE programs SET ends = ? WHERE id = ?').run(ends, program);
    database
      .prepare(
        `DELETE FROM program_tokens WHERE program = ?1 AND (ends <= ?2 OR id NOT IN
           (SELECT id FROM program_tokens WHERE program = ?1 ORDER BY used_at IS NULL DESC, id DESC LIMIT ?3))`,
      )
      .run(program, now, MAX_PAIRS);
    return { access, refresh, expiresInS: ACCESS_MS / 1000 };
  }

  /** Where nobody has an account there is no file, and none is created. */
  #run(sql: string, ...values: (string | number)[]): number {
    if (!this.#file.exists) return 0;
    return Number(
      this.#file
        .open()
        .prepare(sql)
        .run(...values).changes,
    );
  }

  #get<Row>(sql: string, ...values: (string | number)[]): Row | undefined {
    if (!this.#file.exists) return undefined;
    return this.#file
      .open()
      .prepare<Row>(sql)
      .get(...values);
  }

  #write<T>(work: (database: Database) => T): T | undefined {
    if (!this.#file.exists) return undefined;
    const database = this.#file.open();
    return database.transaction(() => work(database));
  }
}

const LIST_SQL = `
  SELECT id, name, agent, created_at, used_at FROM programs WHERE account = ? AND ends > ?
  ORDER BY created_at DESC, id`;
const REFRESH_SQL = `
  SELECT t.program, t.used_at, p.client FROM program_tokens t JOIN programs p ON p.id = t.program
  WHERE t.refresh = ? AND t.ends > ?`;

interface ProgramRow {
  id: string;
  name: string;
  agent: string;
  created_at: number;
  used_at: number | null;
}

interface CodeRow {
  hash: string;
  account: string;
  client: string;
  name: string;
  agent: string;
  redirect: string;
  challenge: string;
  used: number;
  program: string | null;
}

interface PairRow {
  program: string;
  used_at: number | null;
  client: string;
}

/** Base64url, as the challenge of PKCE is. */
function hashOf(text: string): string {
  return createHash('sha256').update(text).digest('base64url');
}
