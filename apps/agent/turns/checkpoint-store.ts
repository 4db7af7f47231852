import type { Checkpoint } from '@trunkline/loop';
import type { Database } from '@trunkline/storage';

/** A turn that waits for an answer. */
export interface ParkedTurn {
  /** As it was stored; the loop checks it. */
  checkpoint: unknown;
  /** The version of the session when the turn began. */
  sessionVersion: number;
  skill: string | undefined;
}

interface Row {
  checkpoint: string;
  session_version: number;
  skill: string | null;
}

/** Waiting turns on disk, by the task they belong to, so that an answer finds them after a crash too. */
export class CheckpointStore {
  readonly #database: Database;

  constructor(database: Database) {
    this.#database = database;
  }

  save(taskId: string, turn: ParkedTurn & { checkpoint: Checkpoint }): void {
    this.#database
      .prepare(
        `INSERT INTO checkpoint (task_id, checkpoint, session_version, skill, saved_at) VALUES (?, ?, ?, ?, ?)
         ON CONFLICT (task_id) DO UPDATE SET checkpoint = excluded.checkpoint, saved_at = excluded.saved_at`,
      )
      .run(taskId, JSON.stringify(turn.checkpoint), turn.sessionVersion, turn.skill ?? null, Date.now());
  }

  load(taskId: string): ParkedTurn | undefined {
    const row = this.#database
      .prepare<Row>('SELECT checkpoint, session_version, skill FROM checkpoint WHERE task_id = ?')
      .get(taskId);
    if (row === undefined) return undefined;
    return {
      checkpoint: JSON.parse(row.checkpoint),
      sessionVersion: row.session_version,
      skill: row.skill ?? undefined,
    };
  }

  delete(taskId: string): void {
    this.#database.prepare('DELETE FROM checkpoint WHERE task_id = ?').run(taskId);
  }

  /** Removes turns that nobody can answer any more; gives how many went. */
  prune(before: number): number {
    return this.#database.prepare('DELETE FROM checkpoint WHERE saved_at < ?').run(before).changes;
  }
}
