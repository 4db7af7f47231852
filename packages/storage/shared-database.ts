import { closeSync, existsSync, fchmodSync, mkdirSync, openSync } from 'node:fs';
import { dirname } from 'node:path';
import { type Database, type DatabaseOptions, type Migration, openDatabase } from './database.ts';

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
