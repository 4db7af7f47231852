import { closeSync, existsSync, fchmodSync, mkdirSync, openSync } from 'node:fs';
import { dirname } from 'node:path';
import { type Database, type Migration, openDatabase } from './database.ts';

const IDLE_MS = 2000;

/**
 * A database that all services of an installation use at once, readable for their account only. It is open only while it
 * is used, so nobody has to close it.
 */
export class SharedDatabase {
  readonly file: string;
  readonly #migrations: readonly Migration[];
  #database: Database | undefined;
  #idle: NodeJS.Timeout | undefined;

  constructor(file: string, migrations: readonly Migration[]) {
    this.file = file;
    this.#migrations = migrations;
  }

  get exists(): boolean {
    return this.#database !== undefined || existsSync(this.file);
  }

  /** Opens it, or creates it. Use the result at once: it closes after a pause. */
  open(): Database {
    if (this.#idle === undefined) this.#idle = setTimeout(() => this.close(), IDLE_MS).unref();
    else this.#idle.refresh();
    if (this.#database === undefined) {
      createPrivate(this.file);
      this.#database = openDatabase(this.file, { migrations: this.#migrations });
    }
    return this.#database;
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
