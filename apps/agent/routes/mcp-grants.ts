import { createHash, createHmac, randomBytes, timingSafeEqual } from 'node:crypto';
import { isLoopbackHost } from '@trunkline/http';
import { BoundedMap } from '@trunkline/std';
import { type Database, openDatabase } from '@trunkline/storage';
import { z } from 'zod';

/** What a program said of itself when it registered. */
export interface OAuthClient {
  name: string;
  redirects: string[];
}

/** What a person allowed a program. */
interface Grant {
  account: string;
  clientId: string;
}

interface Tokens {
  access: string;
  refresh: string;
  expiresInS: number;
}

/** A code that waits for its program. */
interface PendingCode extends Grant {
  redirect: string;
  /** SHA-256 of the verifier, base64url. */
  challenge: string;
  expiresAt: number;
}

const migrations = [
  `CREATE TABLE grants (
     id INTEGER PRIMARY KEY, account TEXT NOT NULL, client TEXT NOT NULL,
     access TEXT NOT NULL UNIQUE, access_ends INTEGER NOT NULL,
     refresh TEXT NOT NULL UNIQUE, used_refresh TEXT UNIQUE, ends INTEGER NOT NULL
   ) STRICT;
   CREATE INDEX grants_by_account ON grants (account, ends);
   CREATE TABLE client_key (key TEXT NOT NULL) STRICT;`,
];

/** Nobody but us makes such tokens; keys of accounts begin otherwise. */
const ACCESS_PREFIX = 'tlm_';
const REFRESH_PREFIX = 'tlr_';
const ACCESS_MS = 3_600_000;
const GRANT_MS = 30 * 24 * 3_600_000;
const CODE_MS = 5 * 60_000;
const MAX_CODES = 1000;
/** Of each account; the one that was used least lately goes first. */
const MAX_GRANTS = 50;

const clientForm = z.object({ name: z.string(), redirects: z.array(z.string()) });

/**
 * What people allow MCP clients. Tokens are random, stored as hashes, and good for `/mcp` alone. Registrations are not
 * stored: anybody may register, so the id holds what was registered, with a signature.
 */
export class Grants {
  readonly #database: Database;
  readonly #now: () => number;
  readonly #codes = new BoundedMap<string, PendingCode>(MAX_CODES);
  readonly #clientKey: string;

  constructor(path: string, now: () => number = Date.now) {
    this.#database = openDatabase(path, { migrations });
    this.#now = now;
    this.#clientKey = this.#database.transaction(() => {
      const known = this.#database.prepare<{ key: string }>('SELECT key FROM client_key').get();
      if (known !== undefined) return known.key;
      const key = randomBytes(32).toString('base64url');
      this.#database.prepare('INSERT INTO client_key (key) VALUES (?)').run(key);
      return key;
    });
  }

  register(client: OAuthClient): string {
    const claim = Buffer.from(JSON.stringify(client)).toString('base64url');
    return `${claim}.${this.#signature(claim)}`;
  }

  client(id: string): OAuthClient | undefined {
    const [claim = '', given = '', ...more] = id.split('.');
    if (more.length > 0) return undefined;
    const [left, right] = [Buffer.from(this.#signature(claim)), Buffer.from(given)];
    if (left.length !== right.length || !timingSafeEqual(left, right)) return undefined;
    return clientForm.parse(JSON.parse(Buffer.from(claim, 'base64url').toString()));
  }

  createCode(code: Omit<PendingCode, 'expiresAt'>): string {
    const value = randomBytes(32).toString('base64url');
    this.#codes.set(hashOf(value), { ...code, expiresAt: this.#now() + CODE_MS });
    return value;
  }

  /** Uses the code up; undefined where it is unknown, was used or has expired, or belongs to another request. */
  redeem(code: string, shown: { clientId: string; redirect: string | undefined; verifier: string }) {
    const found = this.#codes.get(hashOf(code));
    this.#codes.delete(hashOf(code));
    if (found === undefined || found.expiresAt <= this.#now()) return undefined;
    const { account, clientId, redirect, challenge } = found;
    const isSame = clientId === shown.clientId && (shown.redirect ?? redirect) === redirect;
    if (!isSame || createHash('sha256').update(shown.verifier).digest('base64url') !== challenge)
      return undefined;
    return this.#issue({ account, clientId });
  }

  /** New tokens for a refresh token, which is used up. One that was used before was stolen: the grant ends. */
  refresh(token: string, clientId: string): Tokens | undefined {
    return this.#database.transaction(() => {
      const hash = hashOf(token);
      this.#database.prepare('DELETE FROM grants WHERE used_refresh = ?').run(hash);
      const found = this.#database
        .prepare<{ id: number; client: string }>(
          'SELECT id, client FROM grants WHERE refresh = ? AND ends > ?',
        )
        .get(hash, this.#now());
      if (found?.client !== hashOf(clientId)) return undefined;
      const tokens = createTokens();
      this.#database
        .prepare(
          'UPDATE grants SET access = ?, access_ends = ?, refresh = ?, used_refresh = ?, ends = ? WHERE id = ?',
        )
        .run(...this.#columnsOf(tokens), hash, this.#now() + GRANT_MS, found.id);
      return tokens;
    });
  }

  /** Whether a token looks like one of these, be it good or not. */
  isAccessToken(token: string): boolean {
    return token.startsWith(ACCESS_PREFIX);
  }

  /** The account whose token it is; undefined where it has expired or was revoked. */
  accountOf(token: string): string | undefined {
    return this.#database
      .prepare<{ account: string }>('SELECT account FROM grants WHERE access = ? AND access_ends > ?')
      .get(hashOf(token), this.#now())?.account;
  }

  /** Ends the grant of an access or refresh token. */
  revoke(token: string): void {
    this.#database.prepare('DELETE FROM grants WHERE access = ?1 OR refresh = ?1').run(hashOf(token));
  }

  /** Ends all that a person has allowed a program. */
  withdraw({ account, clientId }: Grant): void {
    this.#database
      .prepare('DELETE FROM grants WHERE account = ? AND client = ?')
      .run(account, hashOf(clientId));
  }

  close(): void {
    this.#database.close();
  }

  #issue({ account, clientId }: Grant): Tokens {
    const tokens = createTokens();
    this.#database.transaction(() => {
      this.#database.prepare('DELETE FROM grants WHERE ends <= ?').run(this.#now());
      this.#database
        .prepare(
          'INSERT INTO grants (access, access_ends, refresh, account, client, ends) VALUES (?, ?, ?, ?, ?, ?)',
        )
        .run(...this.#columnsOf(tokens), account, hashOf(clientId), this.#now() + GRANT_MS);
      this.#database
        .prepare(
          `DELETE FROM grants WHERE account = ?1 AND id NOT IN
             (SELECT id FROM grants WHERE account = ?1 ORDER BY ends DESC, id DESC LIMIT ?2)`,
        )
        .run(account, MAX_GRANTS);
    });
    return tokens;
  }

  #columnsOf({ access, refresh }: Tokens): [string, number, string] {
    return [hashOf(access), this.#now() + ACCESS_MS, hashOf(refresh)];
  }

  #signature(claim: string): string {
    return createHmac('sha256', this.#clientKey).update(claim).digest('base64url');
  }
}

function createTokens(): Tokens {
  const random = () => randomBytes(32).toString('base64url');
  return {
    access: ACCESS_PREFIX + random(),
    refresh: REFRESH_PREFIX + random(),
    expiresInS: ACCESS_MS / 1000,
  };
}

function hashOf(token: string): string {
  return createHash('sha256').update(token).digest('base64url');
}

const FORBIDDEN = /^(javascript|data|file|blob|about|vbscript|filesystem|view-source|ftp|wss?):$/;

/** Addresses of the web, of this machine, and of apps that have a scheme of their own (RFC 8252). */
export function isAllowedRedirect(address: string): boolean {
  const url = URL.parse(address);
  if (url === null || url.hash !== '' || url.username !== '') return false;
  if (url.protocol === 'http:') return isLoopbackHost(url.hostname);
  return !FORBIDDEN.test(url.protocol);
}

/** On this machine programs listen on whichever port is free. */
export function isSameRedirect(registered: string, given: string): boolean {
  if (registered === given) return true;
  const [left, right] = [URL.parse(registered), URL.parse(given)];
  if (left === null || right === null || left.protocol !== 'http:' || !isLoopbackHost(left.hostname))
    return false;
  right.port = left.port;
  return left.href === right.href;
}
