import type { Database } from './database.ts';
import { messageOf, StorageError } from './errors.ts';

/** SQL text, or a function for what SQL alone cannot do. */
export type Migration = string | ((database: Database) => void);

/** Runs the migrations that the file has not seen, each in a transaction of its own. */
export function migrate(database: Database, migrations: readonly Migration[]): void {
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
    const words = `Migration ${number} of the database ${database.path} failed, the file stays at version ${number - 1}: ${messageOf(error)}`;
    throw new StorageError('database_migration', words, { cause: error });
  }
}

function readVersion(database: Database): number {
  return database.prepare<{ user_version: number }>('PRAGMA user_version').get()?.user_version ?? 0;
}
