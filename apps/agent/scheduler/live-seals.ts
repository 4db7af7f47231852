import { createHash } from 'node:crypto';
import { parseSchedule } from '@trunkline/schedule';
import { openDatabase, TtlTable, ttlTableMigration } from '@trunkline/storage';

const dayMs = 86_400_000;
/** Kept beyond the next run: some schedules run once a year, and each run counts anew. */
const recurringMs = 400 * dayMs;
/** A switchboard that was down delivers what was due. */
const onceMs = 2 * dayMs;
/** The ones that end first go first. */
const mostKept = 10_000;

interface Times {
  schedule: string;
  timezone: string;
}

/**
 * The signatures of schedules on the switchboard that the agent has made and not cancelled: one that somebody has read, and
 * puts under the same id again, is worth nothing once its schedule was cancelled or made anew.
 */
export class LiveSeals {
  readonly #database;
  readonly #seals: TtlTable<Times>;
  readonly #now: () => number;

  constructor(path: string, now: () => number) {
    this.#database = openDatabase(path, { migrations: [ttlTableMigration('seals')] });
    this.#seals = new TtlTable(this.#database, 'seals', now);
    this.#now = now;
  }

  /** Beside one that the id has by then: which of the two the switchboard has is known after its answer. */
  add(id: string, seal: string, times: Times): void {
    this.#seals.set(keyOf(id, seal), times, this.#lifetimeOf(times));
    this.#seals.sweep();
    this.#database
      .prepare('DELETE FROM seals WHERE key NOT IN (SELECT key FROM seals ORDER BY expires_at DESC LIMIT ?)')
      .run(mostKept);
  }

  /** Those of a schedule, without the one that is given. */
  remove(id: string, { except }: { except?: string } = {}): void {
    for (const [key] of this.#seals.entries()) {
      const isOther = except === undefined || key !== keyOf(id, except);
      if (isOther && key.startsWith(keyStart(id))) this.#seals.delete(key);
    }
  }

  removeOne(id: string, seal: string): void {
    this.#seals.delete(keyOf(id, seal));
  }

  /** Asked at each run, from which its time counts anew. */
  isLive(id: string, seal: string): boolean {
    const times = this.#seals.get(keyOf(id, seal));
    if (times === undefined) return false;
    this.#seals.set(keyOf(id, seal), times, this.#lifetimeOf(times));
    return true;
  }

  close(): void {
    this.#database.close();
  }

  #lifetimeOf(times: Times): number {
    const parsed = parseSchedule(times.schedule, times);
    const next = parsed.next(this.#now());
    if (next === undefined) return onceMs;
    return next - this.#now() + (parsed.next(next) === undefined ? onceMs : recurringMs);
  }
}

function keyOf(id: string, seal: string): string {
  return keyStart(id) + createHash('sha256').update(seal).digest('base64url');
}

function keyStart(id: string): string {
  return `${JSON.stringify(id)} `;
}
