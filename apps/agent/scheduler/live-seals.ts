import { createHash } from 'node:crypto';
import { parseSchedule } from '@trunkline/schedule';
import { openDatabase, TtlTable, ttlTableMigration } from '@trunkline/storage';
import { StoreError } from '../stores/store-error.ts';

const dayMs = 86_400_000;
/** Kept beyond the next run: some schedules run once a year, and each run counts anew. */
const recurringMs = 400 * dayMs;
/** A switchboard that was down delivers what was due. */
const onceMs = 2 * dayMs;
/** More schedules are refused; everybody but the operator may have a tenth of them. */
const mostKept = 10_000;

interface Times {
  schedule: string;
  timezone: string;
  owner: string;
}

/**
 * The signatures of schedules on the switchboard that the agent has made and not cancelled: one that somebody has read, and
 * puts under the same id again, is worth nothing once its schedule was cancelled or made anew.
 */
export class LiveSeals {
  readonly #database;
  readonly #seals: TtlTable<Times>;
  readonly #now: () => number;
  readonly #most: number;

  constructor(path: string, { now, most = mostKept }: { now: () => number; most?: number }) {
    this.#database = openDatabase(path, { migrations: [ttlTableMigration('seals')] });
    this.#seals = new TtlTable(this.#database, 'seals', now);
    this.#now = now;
    this.#most = most;
  }

  /** Beside one that the id has by then: which of the two the switchboard has is known after its answer. */
  add(id: string, seal: string, times: Times): void {
    this.#seals.sweep();
    this.#requireRoom(id, times.owner);
    this.#seals.set(keyOf(id, seal), times, this.#lifetimeOf(times));
  }

  /** Those of a schedule, without the one that is given. */
  remove(id: string, { except }: { except?: string } = {}): void {
    this.#database
      .prepare('DELETE FROM seals WHERE key >= ? AND key < ? AND key <> ?')
      .run(...keyRange(id), except === undefined ? '' : keyOf(id, except));
  }

  removeOne(id: string, seal: string): void {
    this.#seals.delete(keyOf(id, seal));
  }

  isLive(id: string, seal: string): boolean {
    return this.#seals.get(keyOf(id, seal)) !== undefined;
  }

  /** After a run that was proven, from which its time counts anew. What runs once ends when it was to end. */
  prolong(id: string, seal: string): void {
    const times = this.#seals.get(keyOf(id, seal));
    if (times === undefined || parseSchedule(times.schedule, times).type === 'once') return;
    this.#seals.set(keyOf(id, seal), times, this.#lifetimeOf(times));
  }

  close(): void {
    this.#database.close();
  }

  /** One that replaces another needs none. */
  #requireRoom(id: string, owner: string): void {
    const { count = 0, own = 0 } =
      this.#database
        .prepare<{ count: number; own: number }>(
          `SELECT count(*) AS count, count(*) FILTER (WHERE json_extract(value, '$.owner') = ?) AS own
           FROM seals WHERE key < ? OR key >= ?`,
        )
        .get(owner, ...keyRange(id)) ?? {};
    const isOperator = /^operator(?::|$)/.test(owner);
    if (own >= (isOperator ? this.#most : this.#most / 10)) throw tooMany(`you have ${own} schedules`);
    if (!isOperator && count >= this.#most) throw tooMany(`there are ${count} schedules`);
  }

  #lifetimeOf(times: Times): number {
    const { type, next } = parseSchedule(times.schedule, times);
    const now = this.#now();
    return (next(now) ?? now) - now + (type === 'once' ? onceMs : recurringMs);
  }
}

function keyOf(id: string, seal: string): string {
  return keyStart(id) + createHash('sha256').update(seal).digest('base64url');
}

function keyStart(id: string): string {
  return `${JSON.stringify(id)} `;
}

/** The first key of an id, and the first one behind: `!` follows the blank. */
function keyRange(id: string): [string, string] {
  return [keyStart(id), `${JSON.stringify(id)}!`];
}

function tooMany(counted: string): StoreError {
  return new StoreError('invalid', `${counted} on the switchboard already; cancel some first.`);
}
