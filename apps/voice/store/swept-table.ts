import { type Database, TtlTable } from '@trunkline/storage';

const lifetimeMs = 24 * 60 * 60 * 1000;
const sweepEveryMs = 10 * 60 * 1000;

/** Values that are kept for a day; what has expired is removed while others are written. */
export class SweptTable<Value> {
  readonly #table: TtlTable<Value>;
  readonly #now: () => number;
  #sweptAt = 0;

  constructor(database: Database, name: string, now: () => number = Date.now) {
    this.#table = new TtlTable<Value>(database, name, now);
    this.#now = now;
  }

  get(key: string): Value | undefined {
    return this.#table.get(key);
  }

  set(key: string, value: Value): void {
    this.#table.set(key, value, lifetimeMs);
    if (this.#now() - this.#sweptAt < sweepEveryMs) return;
    this.#sweptAt = this.#now();
    this.#table.sweep();
  }

  delete(key: string): void {
    this.#table.delete(key);
  }

  entries(): [key: string, value: Value][] {
    return this.#table.entries();
  }
}
