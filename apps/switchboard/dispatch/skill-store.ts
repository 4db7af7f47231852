import { type Database, openDatabase } from '@trunkline/storage';

/** Which part of the service learns the skills: from cards over A2A, or from tools of MCP servers. */
export type SkillOwner = 'a2a' | 'mcp';

const migrations = [
  `CREATE TABLE skills (
     owner TEXT NOT NULL, agent TEXT NOT NULL, skills TEXT NOT NULL, seenAt INTEGER NOT NULL,
     PRIMARY KEY (owner, agent)) STRICT, WITHOUT ROWID;
   CREATE TABLE queues (agent TEXT PRIMARY KEY, usedAt INTEGER NOT NULL) STRICT, WITHOUT ROWID;`,
];

const day = 24 * 60 * 60 * 1000;
const keptMs = 30 * day;

/**
 * The last known skills of executors that say themselves what they can do, and the agents that have a queue in the
 * journal. After a restart it tells work for a skill that is still to come from work that nobody can do.
 */
export class SkillStore {
  readonly #database: Database;
  readonly #now: () => number;

  constructor(path: string, now: () => number = Date.now) {
    this.#database = openDatabase(path, { migrations });
    this.#now = now;
    this.#sweep();
  }

  /** What was stored last for an executor, in the form in which its owner stored it. */
  recall<Skill>(owner: SkillOwner, agent: string): readonly Skill[] {
    const row = this.#database
      .prepare<{ skills: string }>('SELECT skills FROM skills WHERE owner = ? AND agent = ?')
      .get(owner, agent);
    return row === undefined ? [] : (JSON.parse(row.skills) as Skill[]);
  }

  keep(owner: SkillOwner, agent: string, skills: readonly object[]): void {
    this.#database
      .prepare(
        `INSERT INTO skills VALUES (?1, ?2, ?3, ?4)
         ON CONFLICT DO UPDATE SET skills = ?3, seenAt = ?4 WHERE skills <> ?3 OR seenAt < ?4 - ${day}`,
      )
      .run(owner, agent, JSON.stringify(skills), this.#now());
  }

  /** Notes that an agent has a queue. */
  keepQueue(agent: string): void {
    this.#database
      .prepare(
        `INSERT INTO queues VALUES (?1, ?2) ON CONFLICT DO UPDATE SET usedAt = ?2 WHERE usedAt < ?2 - ${day}`,
      )
      .run(agent, this.#now());
  }

  /** Agents that have had a queue in the last thirty days, also those that are gone. */
  queues(): string[] {
    return this.#database
      .prepare<{ agent: string }>('SELECT agent FROM queues ORDER BY agent')
      .all()
      .map(({ agent }) => agent);
  }

  close(): void {
    this.#database.close();
  }

  /** The bus forgets the cursor of a queue that nobody reads by itself. */
  #sweep(): void {
    const before = this.#now() - keptMs;
    this.#database.prepare('DELETE FROM skills WHERE seenAt < ?').run(before);
    this.#database.prepare('DELETE FROM queues WHERE usedAt < ?').run(before);
  }
}
