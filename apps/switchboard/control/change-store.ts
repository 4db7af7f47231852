import { type Database, openDatabase } from '@trunkline/storage';

/** One change of a workspace file, with the text before and after; null stands for no file. */
export interface Change {
  id: number;
  at: number;
  by: string;
  messageId: string;
  topic: string;
  file: string;
  before: string | null;
  after: string | null;
}

const migrations = [
  `CREATE TABLE changes (
     id INTEGER PRIMARY KEY, at INTEGER NOT NULL, by TEXT NOT NULL, messageId TEXT NOT NULL UNIQUE, topic TEXT NOT NULL,
     file TEXT NOT NULL, before TEXT, after TEXT) STRICT;`,
];

/** Who changed what in the workspace, and when. */
export class ChangeStore {
  readonly #database: Database;

  constructor(path: string) {
    this.#database = openDatabase(path, { migrations });
  }

  /** A command that is brought twice is one change. */
  add({ at, by, messageId, topic, file, before, after }: Omit<Change, 'id'>): void {
    this.#database
      .prepare(
        'INSERT INTO changes (at, by, messageId, topic, file, before, after) VALUES (?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING',
      )
      .run(at, by, messageId, topic, file, before, after);
  }

  /** The newest first. */
  list(limit: number): Change[] {
    return this.#database.prepare<Change>('SELECT * FROM changes ORDER BY id DESC LIMIT ?').all(limit);
  }

  close(): void {
    this.#database.close();
  }
}
