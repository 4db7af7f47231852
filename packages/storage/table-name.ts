import { StorageError } from './errors.ts';

/** Table names stand in SQL text unquoted, so only plain ones are taken. */
export function checkTableName(table: string): string {
  if (/^[a-z][a-z0-9_]{0,62}$/.test(table)) return table;
  throw new StorageError(
    'name_refused',
    `"${table}" is no table name: use lower-case letters, digits and underscores.`,
  );
}
