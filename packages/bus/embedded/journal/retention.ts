import type { Database } from '@trunkline/storage';
import { BusError } from '../../errors.ts';
import type { DeadLetterTable } from './dead-letter-table.ts';
import type { ProgressTable } from './progress-table.ts';

export interface RetentionLimits {
  retainMs: number;
  retainBytes: number;
  forgetAfterMs: number;
}

export interface Pruned {
  /** Durable names that had no subscriber for too long. */
  forgotten: string[];
  /** Dead letters dropped because there were too many. */
  deadLettersLost: number;
}

const rowsPerStep = 1000;
const keptDeadLetters = 10_000;
/** Of the journal's size: the rest is left to what has still to be handled. */
const deadLetterShare = 0.5;

/** Removes old messages, never one that a durable name has still to handle. */
export class Retention {
  readonly #database: Database;
  readonly #progress: ProgressTable;
  readonly #deadLetters: DeadLetterTable;
  readonly #limits: RetentionLimits;
  /** Dead letters that went since the last look. */
  #deadLettersLost = 0;

  constructor(
    database: Database,
    progress: ProgressTable,
    deadLetters: DeadLetterTable,
    limits: RetentionLimits,
  ) {
    this.#database = database;
    this.#progress = progress;
    this.#deadLetters = deadLetters;
    this.#limits = limits;
  }

  /** Makes room when the journal is at its limit; throws when everything in it has still to be handled. */
  checkRoom(): void {
    while (this.#usedBytes() >= this.#limits.retainBytes) {
      if (this.#removeOldest(Number.POSITIVE_INFINITY) === 0 && this.#removeDeadLetters() === 0)
        throw this.#full();
    }
  }

  prune(): Pruned {
    const now = Date.now();
    const forgotten = this.#progress.unseenSince(now - this.#limits.forgetAfterMs);
    for (const name of forgotten) this.#progress.forget(name);
    while (this.#removeOldest(now - this.#limits.retainMs) === rowsPerStep);
    this.#removeDeadLetters();
    const deadLettersLost = this.#deadLettersLost;
    this.#deadLettersLost = 0;
    return { forgotten, deadLettersLost };
  }

  /** Dead letters lie in the same file, and must not fill it. */
  #removeDeadLetters(): number {
    const bytes = this.#limits.retainBytes * deadLetterShare;
    const removed = this.#deadLetters.keepNewest(keptDeadLetters, bytes);
    this.#deadLettersLost += removed;
    return removed;
  }

  /** Removes up to a thousand of the oldest messages stored before the time; gives their number. */
  #removeOldest(before: number): number {
    const floor = this.#progress.hindmost()?.position ?? Number.MAX_SAFE_INTEGER;
    const oldest = this.#database
      .prepare<{ position: number; stored_at: number }>(
        'SELECT position, stored_at FROM messages WHERE position <= ? ORDER BY position LIMIT ?',
      )
      .all(floor, rowsPerStep);
    const young = oldest.findIndex((row) => row.stored_at >= before);
    const doomed = young === -1 ? oldest : oldest.slice(0, young);
    const last = doomed.at(-1);
    if (last === undefined) return 0;
    return this.#database.prepare('DELETE FROM messages WHERE position <= ?').run(last.position).changes;
  }

  /** Pages in use; those that deleted messages left behind are used again before the file grows. */
  #usedBytes(): number {
    const pages = this.#pragma('page_count') - this.#pragma('freelist_count');
    return pages * this.#pragma('page_size');
  }

  #pragma(name: 'page_count' | 'freelist_count' | 'page_size'): number {
    return this.#database.prepare<Record<string, number>>(`PRAGMA ${name}`).get()?.[name] ?? 0;
  }

  #full(): BusError {
    const behind = this.#progress.hindmost();
    const words = `The bus journal is at its limit of ${this.#limits.retainBytes} bytes and the durable name ${behind?.name} has still to handle all of it: see why its subscriber stands still, or raise the journal's size.`;
    return new BusError('journal_full', words);
  }
}
