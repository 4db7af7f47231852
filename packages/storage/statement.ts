import type { SQLInputValue, StatementSync } from 'node:sqlite';

/** Values for `?` in order, or one object for `:name`. */
export type Bindings = SQLInputValue[] | [Record<string, SQLInputValue>];

export interface RunResult {
  changes: number;
  lastInsertRowid: number;
}

/** Turns a failure of SQLite into one whose words name the database. Never returns. */
export type Rethrow = (error: unknown) => never;

/**
 * A prepared statement. `Row` is what its columns hold: the one place where SQL's untyped rows get their type.
 * Statements are shared by their text, so an `iterate` ends when the same text is run again meanwhile.
 */
export class Statement<Row = Record<string, unknown>> {
  readonly #statement: StatementSync;
  readonly #rethrow: Rethrow;

  constructor(statement: StatementSync, rethrow: Rethrow) {
    this.#statement = statement;
    this.#rethrow = rethrow;
  }

  /** The first row, or undefined when there is none. */
  get(...bindings: Bindings): Row | undefined {
    try {
      return this.#statement.get(...(bindings as SQLInputValue[])) as Row | undefined;
    } catch (error) {
      return this.#rethrow(error);
    }
  }

  all(...bindings: Bindings): Row[] {
    try {
      return this.#statement.all(...(bindings as SQLInputValue[])) as Row[];
    } catch (error) {
      return this.#rethrow(error);
    }
  }

  /** Rows one by one, for results too large to hold at once. */
  *iterate(...bindings: Bindings): Generator<Row, void> {
    try {
      yield* this.#statement.iterate(...(bindings as SQLInputValue[])) as Iterable<Row>;
    } catch (error) {
      this.#rethrow(error);
    }
  }

  run(...bindings: Bindings): RunResult {
    try {
      const { changes, lastInsertRowid } = this.#statement.run(...(bindings as SQLInputValue[]));
      return { changes: Number(changes), lastInsertRowid: Number(lastInsertRowid) };
    } catch (error) {
      return this.#rethrow(error);
    }
  }
}
