import { type Database, openDatabase } from '@trunkline/storage';

/** A comparison of two agents at one skill. */
export interface AbTest {
  skill: string;
  /** So many runs in all decide it. */
  n: number;
  control: string;
  challenger: string;
  startedAt: number;
}

export interface ArmFigures {
  agent: string;
  runs: number;
  successes: number;
  /** Of 0 to 1; null before the first run. */
  successRate: number | null;
  meanMs: number | null;
}

const migrations = [
  `CREATE TABLE tests (
     skill TEXT PRIMARY KEY, n INTEGER NOT NULL, control TEXT NOT NULL, challenger TEXT NOT NULL, startedAt INTEGER NOT NULL) STRICT;
   CREATE TABLE runs (
     skill TEXT NOT NULL REFERENCES tests (skill) ON DELETE CASCADE, messageId TEXT NOT NULL, agent TEXT NOT NULL,
     success INTEGER NOT NULL, durationMs INTEGER NOT NULL, PRIMARY KEY (skill, messageId)) STRICT, WITHOUT ROWID;`,
];

/** The comparisons under way and their runs so far, kept over restarts. */
export class AbStore {
  readonly #database: Database;

  constructor(path: string) {
    this.#database = openDatabase(path, { migrations });
  }

  /** Begins a comparison; one of the same skill is given up for it. */
  begin({ skill, n, control, challenger, startedAt }: AbTest): void {
    this.end(skill);
    this.#database
      .prepare('INSERT INTO tests (skill, n, control, challenger, startedAt) VALUES (?, ?, ?, ?, ?)')
      .run(skill, n, control, challenger, startedAt);
  }

  get(skill: string): AbTest | undefined {
    return this.#database.prepare<AbTest>('SELECT * FROM tests WHERE skill = ?').get(skill);
  }

  list(): AbTest[] {
    return this.#database.prepare<AbTest>('SELECT * FROM tests ORDER BY skill').all();
  }

  /** A message that comes again after a restart is one run. */
  note(skill: string, messageId: string, agent: string, success: boolean, durationMs: number): void {
    this.#database
      .prepare(
        'INSERT OR IGNORE INTO runs (skill, messageId, agent, success, durationMs) VALUES (?, ?, ?, ?, ?)',
      )
      .run(skill, messageId, agent, success ? 1 : 0, durationMs);
  }

  figures(skill: string, agent: string): ArmFigures {
    const found = this.#database
      .prepare<{ runs: number; successes: number | null; meanMs: number | null }>(
        'SELECT count(*) AS runs, sum(success) AS successes, avg(durationMs) AS meanMs FROM runs WHERE skill = ? AND agent = ?',
      )
      .get(skill, agent);
    const { runs = 0, successes, meanMs = null } = found ?? {};
    return {
      agent,
      runs,
      successes: successes ?? 0,
      successRate: runs === 0 ? null : (successes ?? 0) / runs,
      meanMs: meanMs === null ? null : Math.round(meanMs),
    };
  }

  end(skill: string): void {
    this.#database.prepare('DELETE FROM tests WHERE skill = ?').run(skill);
  }

  close(): void {
    this.#database.close();
  }
}
