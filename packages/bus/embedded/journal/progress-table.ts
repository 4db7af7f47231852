import type { Database } from '@trunkline/storage';

/** How far a name has come, and what it has finished beyond that, while something before it is still being handled. */
export type Progress = readonly [name: string, position: number, finished: readonly number[]];

export interface Cursor {
  position: number;
  /** True when the name was not known before. */
  created: boolean;
}

/** How far each durable name has come, and how often it began messages that it did not finish. */
export class ProgressTable {
  readonly #database: Database;

  constructor(database: Database) {
    this.#database = database;
  }

  /** The cursor of the name, which has a subscriber now; a new name begins after `last`. */
  open(name: string, last: number): Cursor {
    return this.#database.transaction(() => {
      const known = this.position(name);
      this.#database
        .prepare(
          'INSERT INTO cursors (name, position, seen_at) VALUES (?, ?, ?) ON CONFLICT (name) DO UPDATE SET seen_at = excluded.seen_at',
        )
        .run(name, last, Date.now());
      return { position: known ?? last, created: known === undefined };
    });
  }

  position(name: string): number | undefined {
    return this.#database
      .prepare<{ position: number }>('SELECT position FROM cursors WHERE name = ?')
      .get(name)?.position;
  }

  save(all: readonly Progress[]): void {
    this.#database.transaction(() => this.store(all));
  }

  /** As `save`, within a transaction of the caller. */
  store(all: readonly Progress[]): void {
    for (const [name, position, finished] of all) {
      this.#database.prepare('UPDATE cursors SET position = ? WHERE name = ?').run(position, name);
      this.#database.prepare('DELETE FROM attempts WHERE name = ? AND position <= ?').run(name, position);
      this.#database.prepare('DELETE FROM finished WHERE name = ? AND position <= ?').run(name, position);
      for (const ahead of finished) this.#finish(name, ahead);
    }
  }

  /** Sets the cursor: all that comes after it is to be handled, also what was finished before. */
  move(name: string, position: number): void {
    this.#database.transaction(() => {
      this.#database.prepare('DELETE FROM finished WHERE name = ?').run(name);
      this.store([[name, position, []]]);
    });
  }

  attempts(name: string, position: number): number {
    const row = this.#database
      .prepare<{ attempts: number }>('SELECT attempts FROM attempts WHERE name = ? AND position = ?')
      .get(name, position);
    return row?.attempts ?? 0;
  }

  record(name: string, position: number, attempts: number): void {
    this.#database
      .prepare(
        'INSERT INTO attempts (name, position, attempts) VALUES (?, ?, ?) ON CONFLICT (name, position) DO UPDATE SET attempts = excluded.attempts',
      )
      .run(name, position, attempts);
  }

  forget(name: string): void {
    this.#database.transaction(() => {
      this.#database.prepare('DELETE FROM cursors WHERE name = ?').run(name);
      this.#database.prepare('DELETE FROM attempts WHERE name = ?').run(name);
      this.#database.prepare('DELETE FROM finished WHERE name = ?').run(name);
    });
  }

  /** Notes which names have subscribers now. */
  touch(names: readonly string[], now: number): void {
    const update = this.#database.prepare('UPDATE cursors SET seen_at = ? WHERE name = ?');
    this.#database.transaction(() => {
      for (const name of names) update.run(now, name);
    });
  }

  /** Gives names whose subscribers could not come while the bus was down another hour before they are forgotten. */
  grantGrace(forgetAfterMs: number, now: number): void {
    const earliest = now - forgetAfterMs + Math.min(forgetAfterMs, 3_600_000);
    this.#database.prepare('UPDATE cursors SET seen_at = ? WHERE seen_at < ?').run(earliest, earliest);
  }

  unseenSince(time: number): string[] {
    const rows = this.#database
      .prepare<{ name: string }>('SELECT name FROM cursors WHERE seen_at < ?')
      .all(time);
    return rows.map((row) => row.name);
  }

  /** The name that is furthest behind. */
  hindmost(): { name: string; position: number } | undefined {
    return this.#database
      .prepare<{ name: string; position: number }>(
        'SELECT name, position FROM cursors ORDER BY position LIMIT 1',
      )
      .get();
  }

  #finish(name: string, position: number): void {
    this.#database
      .prepare('INSERT OR IGNORE INTO finished (name, position) VALUES (?, ?)')
      .run(name, position);
  }
}
