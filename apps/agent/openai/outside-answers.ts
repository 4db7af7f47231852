import { createHash } from 'node:crypto';
import { ownerKey, type Principal, quotaKey } from '@trunkline/identity';
import type { ToolCall } from '@trunkline/openai-api';
import { type Database, openDatabase } from '@trunkline/storage';

const migrations = [
  `CREATE TABLE outside_answers (id INTEGER PRIMARY KEY, hash TEXT NOT NULL UNIQUE, expires_at INTEGER NOT NULL) STRICT;
   CREATE INDEX outside_answers_by_expiry ON outside_answers (expires_at);`,
  // Each caller has a row of their own for the same answer, so that nobody takes over the rows of others.
  `CREATE TABLE answers (
     id INTEGER PRIMARY KEY, hash TEXT NOT NULL, owner TEXT NOT NULL, expires_at INTEGER NOT NULL, UNIQUE (hash, owner)
   ) STRICT;
   INSERT INTO answers SELECT id, hash, '', expires_at FROM outside_answers;
   DROP TABLE outside_answers;
   ALTER TABLE answers RENAME TO outside_answers;
   CREATE INDEX outside_answers_by_expiry ON outside_answers (expires_at);
   CREATE INDEX outside_answers_by_owner ON outside_answers (owner);`,
];

/** Callers keep conversations for months. */
const lifetimeMs = 365 * 24 * 60 * 60 * 1000;
/** Some 12 MB. Beyond it the oldest answers go of those callers who have most. */
const mostKept = 50_000;
/** As many go at once beyond the bound, so that not every answer has to count those of all callers. */
const spare = 0.01;

/** A shorter text ("Done.") is the answer to many questions: it counts for the caller alone to whom it was given. */
const shortestOfAll = 80;

type CalledFunction = Pick<ToolCall, 'function'>;

/** One text of an answer, and the calls of the caller's tools that end it. */
export interface AnswerPart {
  text: string;
  calls: readonly CalledFunction[];
}

/**
 * The answers of turns that read text from outside, by hash, as callers who store the conversation send them back. On
 * disk, so that a restart takes no mark away.
 */
export class OutsideAnswers {
  readonly #database: Database;
  readonly #now: () => number;
  readonly #most: number;
  #count: number;
  #isClosed = false;

  constructor(path: string, { now = Date.now, most = mostKept }: { now?: () => number; most?: number } = {}) {
    this.#database = openDatabase(path, { migrations });
    this.#now = now;
    this.#most = most;
    this.#count = this.#counts().reduce((sum, { count }) => sum + count, 0);
  }

  /** After `close`, when nobody gets the answer any more, nothing is stored. */
  add(parts: readonly AnswerPart[], caller: Principal): void {
    const said = parts.filter(({ text, calls }) => text.trim() !== '' || calls.length > 0);
    if (this.#isClosed || said.length === 0) return;
    this.#database.transaction(() => {
      const [hashes, owner] = [new Set(said.map((part) => hashOf(part, caller))), quotaKey(caller)];
      for (const hash of hashes) this.#replace(hash, owner);
      const { changes } = this.#database
        .prepare('DELETE FROM outside_answers WHERE expires_at <= ?')
        .run(this.#now());
      this.#count -= changes;
      if (this.#count > this.#most) this.#makeRoom();
    });
  }

  /** An answer that is given again is the newest one. */
  #replace(hash: string, owner: string): void {
    const before = this.#database.prepare('DELETE FROM outside_answers WHERE hash = ? AND owner = ?');
    this.#count += 1 - before.run(hash, owner).changes;
    this.#database
      .prepare('INSERT INTO outside_answers (hash, owner, expires_at) VALUES (?, ?, ?)')
      .run(hash, owner, this.#now() + lifetimeMs);
  }

  /** Whoever asks often loses their own oldest answers, and nobody else's. */
  #makeRoom(): void {
    const counts = this.#counts();
    const share = fairShare(
      counts.map(({ count }) => count),
      this.#most - Math.floor(this.#most * spare),
    );
    const remove = this.#database.prepare(
      `DELETE FROM outside_answers WHERE owner = ?1
       AND id <= (SELECT id FROM outside_answers WHERE owner = ?1 ORDER BY id DESC LIMIT 1 OFFSET ?2)`,
    );
    for (const { owner, count } of counts) if (count > share) this.#count -= remove.run(owner, share).changes;
  }

  #counts(): { owner: string; count: number }[] {
    return this.#database
      .prepare<{ owner: string; count: number }>(
        'SELECT owner, count(*) AS count FROM outside_answers GROUP BY owner',
      )
      .all();
  }

  /** After `close` every answer counts as one of them: a request may still be read while the service stops. */
  has(part: AnswerPart, caller: Principal): boolean {
    return (
      this.#isClosed ||
      this.#database
        .prepare('SELECT 1 FROM outside_answers WHERE hash = ? AND expires_at > ?')
        .get(hashOf(part, caller), this.#now()) !== undefined
    );
  }

  close(): void {
    this.#isClosed = true;
    this.#database.close();
  }
}

/** The most that each may have, so that all fit into `room` and nobody gives up what others do not use. */
function fairShare(counts: readonly number[], room: number): number {
  let left = room;
  for (const [index, count] of counts.toSorted((one, other) => one - other).entries()) {
    const share = Math.floor(left / (counts.length - index));
    if (count > share) return share;
    left -= count;
  }
  return room;
}

function hashOf({ text, calls }: AnswerPart, caller: Principal): string {
  const named = calls.map(({ function: called }) => [called.name, parseArguments(called.arguments)]);
  const said = JSON.stringify([text.trim(), named]);
  const whose = said.length < shortestOfAll ? ownerKey(caller) : '';
  return createHash('sha256').update(whose).update('\n').update(said).digest('base64');
}

export function parseArguments(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    // The model wrote it like this; it may read again what it wrote.
    return text;
  }
}
