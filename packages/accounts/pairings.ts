import { createHash, randomInt } from 'node:crypto';
import type { Database, SharedDatabase } from '@trunkline/storage';
import { accountErrors } from './errors.ts';

/** Somebody unknown who asks to be let in. */
export interface Pairing {
  identity: string;
  /** The name that they go by there. Chosen by them: it proves nothing. */
  display: string;
  requestedAt: number;
  expiresAt: number;
}

/** Without 0, O, 1, I and L. */
const LETTERS = 'ABCDEFGHJKMNPQRSTUVWXYZ23456789';
const CODE_LENGTH = 8;
const CODE_MS = 3_600_000;
/** Codes that one identity gets until its request ends. */
const MAX_ISSUED = 5;
/** Open requests of one namespace, such as `discord`. */
const MAX_OPEN_OF_NAMESPACE = 5;
const MAX_REQUESTS = 100;
/** Every code is good for so long; after that it gives way to a newer request where there are too many. */
const SURE_MS = 600_000;
const MAX_WRONG_CODES = 10;
const ATTEMPTS_MS = 60_000;

/** Requests to be paired, as `Accounts` keeps them. Identities are checked already. */
export class Pairings {
  readonly #file: SharedDatabase;
  readonly #now: () => number;

  constructor(file: SharedDatabase, now: () => number) {
    this.#file = file;
    this.#now = now;
  }

  request(identity: string, display: string): { code: string; expiresAt: number } | undefined {
    const database = this.#file.open();
    return database.transaction(() => {
      database.prepare('DELETE FROM pairings WHERE expires_at <= ?').run(this.#now());
      const namespace = identity.slice(0, identity.indexOf(':'));
      if (!hasRoom(database, identity, namespace, this.#now())) return undefined;
      const code = Array.from({ length: CODE_LENGTH }, () => LETTERS[randomInt(LETTERS.length)]).join('');
      const [now, expiresAt] = [this.#now(), this.#now() + CODE_MS];
      database.prepare(REQUEST_SQL).run(identity, namespace, display, hashOf(code), now, expiresAt);
      return { code, expiresAt };
    });
  }

  list(): Pairing[] {
    return this.#file
      .open()
      .prepare<Pairing>(LIST_SQL)
      .all(this.#now())
      .map((row) => ({ ...row }));
  }

  /** The identity of an open request, or throws. */
  find(which: { code: string } | { identity: string }): string {
    const column = 'code' in which ? 'hash' : 'identity';
    const value = 'code' in which ? hashOf(which.code) : which.identity;
    const database = this.#file.open();
    const found = database.transaction(() => {
      database
        .prepare('DELETE FROM wrong_codes WHERE at <= ? OR at > ?')
        .run(this.#now() - ATTEMPTS_MS, this.#now());
      const wrong = database.prepare<{ n: number }>('SELECT count(*) AS n FROM wrong_codes').get()?.n ?? 0;
      if ('code' in which && wrong >= MAX_WRONG_CODES) throw accountErrors.pairing_attempts();
      const row = database
        .prepare<{ identity: string }>(
          `SELECT identity FROM pairings WHERE ${column} = ? AND refused = 0 AND expires_at > ?`,
        )
        .get(value, this.#now());
      if (row === undefined && 'code' in which)
        database.prepare('INSERT INTO wrong_codes (at) VALUES (?)').run(this.#now());
      return row?.identity;
    });
    // Outside the transaction, which would undo the count.
    if (found === undefined) throw accountErrors.pairing_unknown();
    return found;
  }

  remove(identity: string): void {
    this.#file.open().prepare('DELETE FROM pairings WHERE identity = ?').run(identity);
  }

  refuse(identity: string): void {
    const { changes } = this.#file
      .open()
      .prepare('UPDATE pairings SET refused = 1 WHERE identity = ? AND expires_at > ?')
      .run(identity, this.#now());
    if (changes === 0) throw accountErrors.pairing_unknown();
  }
}

const REQUEST_SQL = `
  INSERT INTO pairings (identity, namespace, display, hash, requested_at, expires_at) VALUES (?, ?, ?, ?, ?, ?)
  ON CONFLICT (identity) DO UPDATE SET display = excluded.display, hash = excluded.hash,
    expires_at = excluded.expires_at, issued = issued + 1`;
const LIST_SQL = `
  SELECT identity, display, requested_at AS requestedAt, expires_at AS expiresAt FROM pairings
  WHERE refused = 0 AND expires_at > ? ORDER BY requested_at, identity`;

function hasRoom(database: Database, identity: string, namespace: string, now: number): boolean {
  const own = database
    .prepare<{ issued: number; refused: number }>('SELECT issued, refused FROM pairings WHERE identity = ?')
    .get(identity);
  if (own !== undefined) return own.refused === 0 && own.issued < MAX_ISSUED;
  const isNear = 'namespace = ? AND refused = 0';
  return (
    makeRoom(database, '? IS NOT NULL', namespace, MAX_REQUESTS, now) &&
    makeRoom(database, isNear, namespace, MAX_OPEN_OF_NAMESPACE, now)
  );
}

/** Drops the oldest request that had its time, where there are too many: strangers cannot fill the list for an hour. */
function makeRoom(database: Database, where: string, namespace: string, limit: number, now: number): boolean {
  const sql = `SELECT count(*) AS n FROM pairings WHERE ${where}`;
  if ((database.prepare<{ n: number }>(sql).get(namespace)?.n ?? 0) < limit) return true;
  const oldest = `SELECT identity FROM pairings WHERE ${where} AND expires_at <= ? ORDER BY expires_at, identity LIMIT 1`;
  const { changes } = database
    .prepare(`DELETE FROM pairings WHERE identity = (${oldest})`)
    .run(namespace, now + CODE_MS - SURE_MS);
  return changes > 0;
}

/** As people type it: in any case, with spaces and dashes. */
function hashOf(code: string): string {
  return createHash('sha256')
    .update(code.toUpperCase().replace(/[^A-Z0-9]/g, ''))
    .digest('hex');
}
