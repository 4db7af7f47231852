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
  /** Writes, and returns what settles its promise once that is committed. */
  write(): () => void;
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

  /** Calls `undone` when what `work` wrote is not in the file. */
  run<Result>(work: () => Result, undone: () => void = () => undefined): Promise<Result> {
    const { promise, resolve, reject: settle } = Promise.withResolvers<Result>();
    const reject = (error: unknown) => {
      undone();
      settle(error);
    };
    if (this.#waiting.length === 0) setImmediate(() => this.flush());
    const write = () => {
      try {
        const result = this.#database.transaction(work);
        return () => resolve(result);
      } catch (error) {
        return () => reject(error);
      }
    };
    this.#waiting.push({ write, reject });
    return promise;
  }

  /** Writes what waits. */
  flush(): void {
    const all = this.#waiting;
    this.#waiting = [];
    if (all.length > 0) for (const settle of this.#settled(all)) settle();
  }

  #settled(all: readonly Waiting[]): (() => void)[] {
    const [first] = all;
    if (all.length === 1 && first !== undefined) return [first.write()];
    try {
      return this.#database.transaction(() => all.map(({ write }) => write()));
    } catch (error) {
      return all.map(
        ({ reject }) =>
          () =>
            reject(error),
      );
    }
  }
}
