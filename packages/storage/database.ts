import { closeSync, existsSync, fchmodSync, mkdirSync, openSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { DatabaseSync, type SQLInputValue, type StatementSync } from 'node:sqlite';
import { BoundedMap, errorMessage } from '@trunkline/std';
import { reasonOf, rethrowSqlite, StorageError } from './errors.ts';

/** SQL text, or a function for what SQL alone cannot do. */
export type Migration = string | ((database: Database) => void);

export interface DatabaseOptions {
  /** In order; the number of those done is kept in the file. Never change or reorder one that was released. */
  migrations: readonly Migration[];
  /**
   * With either, a committed write survives kill -9 of the process.
   * `full` waits for the disk at each commit, so it survives a power cut too; `normal` (the default) may lose the last commits then.
   */
  durability?: 'full' | 'normal';
  /** Of a new file; a file that has content keeps its own. SQLite's default is 4096. */
  pageSize?: number;
}

const busyTimeout = 5000;
const memory = ':memory:';

/** Opens the database at `path` (or `:memory:`), creates its directories and brings it to the newest version. */
export function openDatabase(path: string, options: DatabaseOptions): Database {
  const place = path === memory ? path : resolve(path);
  const connection = connect(place);
  const database = new Database(place, connection);
  try {
    if (options.pageSize !== undefined) database.exec(`PRAGMA page_size = ${options.pageSize}`);
    configure(database, options.durability ?? 'normal');
    migrate(database, options.migrations);
    return database;
  } catch (error) {
    connection.close();
    throw error;
  }
}

function connect(path: string): DatabaseSync {
  if (path !== memory) createDirectory(dirname(path));
  try {
    return new DatabaseSync(path, { timeout: busyTimeout, enableForeignKeyConstraints: true });
  } catch (error) {
    return rethrowSqlite(path, error);
  }
}

export function createDirectory(path: string): void {
  try {
    mkdirSync(path, { recursive: true });
  } catch (error) {
    const words = `The directory ${path} for the database cannot be created: ${reasonOf(error)}.`;
    throw new StorageError('directory_unwritable', words, { cause: error });
  }
}

function configure(database: Database, durability: 'full' | 'normal'): void {
  switchToWriteAheadLog(database);
  database.exec(`PRAGMA synchronous = ${durability}`);
}

/** SQLite does not wait for its busy timeout when two processes switch a new file at once: wait here. */
function switchToWriteAheadLog(database: Database): void {
  const deadline = performance.now() + busyTimeout;
  for (;;) {
    try {
      database.exec('PRAGMA journal_mode = WAL');
      return;
    } catch (error) {
      const busy = error instanceof StorageError && error.code === 'database_busy';
      if (!busy || performance.now() > deadline) throw error;
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 10);
    }
  }
}

/** Runs the migrations that the file has not seen, each in a transaction of its own. */
function migrate(database: Database, migrations: readonly Migration[]): void {
  refuseNewer(database, migrations.length);
  migrations.forEach((migration, index) => {
    runOne(database, migration, index + 1);
  });
}

function refuseNewer(database: Database, known: number): void {
  const version = readVersion(database);
  if (version <= known) return;
  const words = `The database ${database.path} is of version ${version}, but this program knows only ${known}: start a newer release, or name another path.`;
  throw new StorageError('database_newer', words);
}

/** The version is read under the write lock, as another process may have just done the same migration. */
function runOne(database: Database, migration: Migration, number: number): void {
  if (readVersion(database) >= number) return;
  try {
    database.transaction(() => {
      if (readVersion(database) >= number) return;
      if (typeof migration === 'string') database.exec(migration);
      else migration(database);
      database.exec(`PRAGMA user_version = ${number}`);
    });
  } catch (error) {
    const words = `Migration ${number} of the database ${database.path} failed, the file stays at version ${number - 1}: ${errorMessage(error)}`;
    throw new StorageError('database_migration', words, { cause: error });
  }
}

function readVersion(database: Database): number {
  return database.prepare<{ user_version: number }>('PRAGMA user_version').get()?.user_version ?? 0;
}

/** One open SQLite file. All calls are synchronous. */
export class Database {
  readonly path: string;
  readonly #connection: DatabaseSync;
  readonly #statements = new BoundedMap<string, Statement<unknown>>(keptStatements);
  readonly #rethrow: (error: unknown) => never;
  #depth = 0;
  /** Why SQLite undid the transaction under way by itself. */
  #undoneBy: unknown;

  constructor(path: string, connection: DatabaseSync) {
    this.path = path;
    this.#connection = connection;
    this.#rethrow = (error) => {
      this.#noticeUndone(error);
      return rethrowSqlite(path, error);
    };
  }

  /** The statement for this text; the most recent ones stay compiled. */
  prepare<Row = Record<string, unknown>>(sql: string): Statement<Row> {
    const known = this.#statements.get(sql);
    if (known !== undefined) return known as Statement<Row>;
    const statement = this.#compile<Row>(sql);
    this.#statements.set(sql, statement as Statement<unknown>);
    return statement;
  }

  /** Runs one or more statements that return nothing. */
  exec(sql: string): void {
    try {
      this.#connection.exec(sql);
    } catch (error) {
      this.#rethrow(error);
    }
  }

  /**
   * Runs `work` whole or not at all: a throw undoes everything it wrote.
   * Inside another transaction it is a savepoint: a throw that the outer work catches undoes only the inner part.
   * `work` must not be asynchronous, as other writes would slip into it while it waits.
   */
  transaction<T>(work: () => T): T {
    const { begin, commit, rollback } = transactionWords(this.#depth);
    this.prepare(begin).run();
    this.#depth += 1;
    try {
      const result = work();
      refusePromise(result);
      if (this.#undoneBy !== undefined) this.#rethrow(this.#undoneBy);
      this.prepare(commit).run();
      return result;
    } catch (error) {
      this.#undo(rollback);
      throw error;
    } finally {
      this.#depth -= 1;
    }
  }

  /** Moves the log into the file and closes it. Calling it again does nothing. */
  close(): void {
    if (!this.#connection.isOpen) return;
    this.#statements.clear();
    try {
      this.exec('PRAGMA wal_checkpoint(PASSIVE)');
    } catch (error) {
      // What does not fit into the file stays in its log, where the next one to open it finds it.
      if (!(error instanceof StorageError && error.code === 'disk_full')) throw error;
    } finally {
      this.#connection.close();
    }
  }

  /**
   * A full disk makes SQLite undo the whole transaction. Should `work` catch that and go on, what it writes goes into
   * another one, which ends as the first did.
   */
  #noticeUndone(error: unknown): void {
    if (this.#depth === 0 || !this.#connection.isOpen || this.#connection.isTransaction) return;
    this.#undoneBy ??= error;
    this.#connection.exec('BEGIN');
  }

  /** With the whole transaction its inner parts are gone too. */
  #undo(rollback: string): void {
    if (this.#undoneBy !== undefined && this.#depth > 1) return;
    this.#undoneBy = undefined;
    if (this.#connection.isOpen && this.#connection.isTransaction) this.exec(rollback);
  }

  #compile<Row>(sql: string): Statement<Row> {
    try {
      return new Statement<Row>(this.#connection.prepare(sql), this.#rethrow);
    } catch (error) {
      return this.#rethrow(error);
    }
  }
}

const keptStatements = 200;

/** The outermost one takes the write lock at once, so that two writers wait for each other instead of failing midway. */
function transactionWords(depth: number): { begin: string; commit: string; rollback: string } {
  if (depth === 0) return { begin: 'BEGIN IMMEDIATE', commit: 'COMMIT', rollback: 'ROLLBACK' };
  const name = `nested_${depth}`;
  return {
    begin: `SAVEPOINT ${name}`,
    commit: `RELEASE ${name}`,
    rollback: `ROLLBACK TO ${name}; RELEASE ${name}`,
  };
}

function refusePromise(result: unknown): void {
  if (!(result instanceof Promise)) return;
  throw new StorageError(
    'database_transaction',
    'A transaction cannot be asynchronous: await first, then write.',
  );
}

/** Values for `?` in order, or one object for `:name`. */
export type Bindings = SQLInputValue[] | [Record<string, SQLInputValue>];

export interface RunResult {
  changes: number;
  lastInsertRowid: number;
}

/** Turns a failure of SQLite into one whose words name the database. Never returns. */
type Rethrow = (error: unknown) => never;

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

const IDLE_MS = 2000;

/**
 * A database that all services of an installation use at once, readable for their account only. It is open only while it
 * is used, so nobody has to close it.
 */
export class SharedDatabase {
  readonly file: string;
  readonly #options: DatabaseOptions;
  #database: Database | undefined;
  #idle: NodeJS.Timeout | undefined;
  #isUsed = false;

  constructor(
    file: string,
    migrations: readonly Migration[],
    options: Omit<DatabaseOptions, 'migrations'> = {},
  ) {
    this.file = file;
    this.#options = { ...options, migrations };
  }

  get exists(): boolean {
    return this.#database !== undefined || existsSync(this.file);
  }

  /** Opens it, or creates it. Use the result at once: it closes after a pause. */
  open(): Database {
    this.#isUsed = true;
    this.#idle ??= setTimeout(() => this.#closeIfIdle(), IDLE_MS).unref();
    if (this.#database === undefined) {
      createPrivate(this.file);
      this.#database = openDatabase(this.file, this.#options);
    }
    return this.#database;
  }

  #closeIfIdle(): void {
    if (this.#isUsed) this.#idle?.refresh();
    else this.close();
    this.#isUsed = false;
  }

  /** Frees the file until the next use. */
  close(): void {
    clearTimeout(this.#idle);
    this.#idle = undefined;
    this.#database?.close();
    this.#database = undefined;
  }
}

/** Before SQLite opens it: its log gets the rights of the file. */
function createPrivate(file: string): void {
  mkdirSync(dirname(file), { recursive: true, mode: 0o700 });
  const descriptor = openSync(file, 'a', 0o600);
  fchmodSync(descriptor, 0o600);
  closeSync(descriptor);
}
