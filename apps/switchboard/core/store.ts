import { type Bindings, type Database, openDatabase, type RunResult } from '@trunkline/storage';

/** A store with an SQLite file of its own. */
export abstract class Store {
  protected readonly database: Database;
  protected readonly now: () => number;

  constructor(path: string, migrations: readonly string[], now: () => number = Date.now) {
    this.database = openDatabase(path, { migrations });
    this.now = now;
  }

  close(): void {
    this.database.close();
  }

  protected one<Row>(sql: string, values: Bindings = []): Row | undefined {
    return this.database.prepare<Row>(sql).get(...values);
  }

  protected all<Row>(sql: string, values: Bindings = []): Row[] {
    return this.database.prepare<Row>(sql).all(...values);
  }

  protected write(sql: string, values: Bindings = []): RunResult {
    return this.database.prepare(sql).run(...values);
  }
}

interface Waiting {
  work(): unknown;
  /** What `work` wrote is not in the file. */
  undone(): void;
  resolve(result: unknown): void;
  reject(error: unknown): void;
}

/**
 * Writes of one turn of the event loop in one transaction: taking turns at the file costs more than writing to it.
 * Each is whole or not at all, whatever becomes of the others, and is in the file when its promise resolves.
 */
export class SharedWrites {
  readonly #database: Database;
  #waiting: Waiting[] = [];

  constructor(database: Database) {
    this.#database = database;
  }

  /** Calls `work` once more when one that shared its transaction failed, after `undone`. */
  run<Result>(work: () => Result, undone: () => void = () => undefined): Promise<Result> {
    const { promise, resolve, reject } = Promise.withResolvers<Result>();
    if (this.#waiting.length === 0) setImmediate(() => this.flush());
    this.#waiting.push({ work, undone, resolve: resolve as (result: unknown) => void, reject });
    return promise;
  }

  /** Writes what waits. */
  flush(): void {
    const all = this.#waiting;
    this.#waiting = [];
    if (all.length === 0) return;
    try {
      const results = this.#database.transaction(() => all.map(({ work }) => work()));
      for (const [index, { resolve }] of all.entries()) resolve(results[index]);
    } catch (error) {
      for (const { undone } of all) undone();
      if (all.length === 1) all[0]?.reject(error);
      else this.#writeApart(all);
    }
  }

  /** Still in one transaction, but each in a savepoint, which costs as much again as a small write. */
  #writeApart(all: readonly Waiting[]): void {
    try {
      const settles = this.#database.transaction(() => all.map((waiting) => this.#attempt(waiting)));
      for (const settle of settles) settle();
    } catch (error) {
      for (const { undone, reject } of all) {
        undone();
        reject(error);
      }
    }
  }

  #attempt({ work, undone, resolve, reject }: Waiting): () => void {
    try {
      const result = this.#database.transaction(work);
      return () => resolve(result);
    } catch (error) {
      return () => {
        undone();
        reject(error);
      };
    }
  }
}
