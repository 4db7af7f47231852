import type { Database } from '@trunkline/storage';

interface Waiting {
  /** Writes, and gives what is left to do once that is committed. */
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

  run<Result>(work: () => Result): Promise<Result> {
    const { promise, resolve, reject } = Promise.withResolvers<Result>();
    if (this.#waiting.length === 0) setImmediate(() => this.#writeAll());
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

  #writeAll(): void {
    const all = this.#waiting;
    this.#waiting = [];
    for (const settle of this.#settled(all)) settle();
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
