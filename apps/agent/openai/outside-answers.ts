import { createHash } from 'node:crypto';
import { ownerKey, type Principal } from '@trunkline/identity';
import type { ToolCall } from '@trunkline/openai-api';
import { type Database, openDatabase } from '@trunkline/storage';

const migrations = [
  `CREATE TABLE outside_answers (id INTEGER PRIMARY KEY, hash TEXT NOT NULL UNIQUE, expires_at INTEGER NOT NULL) STRICT;
   CREATE INDEX outside_answers_by_expiry ON outside_answers (expires_at);`,
];

/** Callers keep conversations for months. */
const lifetimeMs = 365 * 24 * 60 * 60 * 1000;
/** Some 8 MB; the oldest go first. */
const mostKept = 50_000;

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
  #isClosed = false;

  constructor(path: string, { now = Date.now, most = mostKept }: { now?: () => number; most?: number } = {}) {
    this.#database = openDatabase(path, { migrations });
    this.#now = now;
    this.#most = most;
  }

  /** After `close`, when nobody gets the answer any more, nothing is stored. */
  add(parts: readonly AnswerPart[], caller: Principal): void {
    const said = parts.filter(({ text, calls }) => text.trim() !== '' || calls.length > 0);
    if (this.#isClosed || said.length === 0) return;
    this.#database.transaction(() => {
      const insert = this.#database.prepare(
        'INSERT OR REPLACE INTO outside_answers (hash, expires_at) VALUES (?, ?)',
      );
      for (const hash of new Set(said.map((part) => hashOf(part, caller))))
        insert.run(hash, this.#now() + lifetimeMs);
      this.#database.prepare('DELETE FROM outside_answers WHERE expires_at <= ?').run(this.#now());
      this.#database
        .prepare(
          'DELETE FROM outside_answers WHERE id <= (SELECT id FROM outside_answers ORDER BY id DESC LIMIT 1 OFFSET ?)',
        )
        .run(this.#most);
    });
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
