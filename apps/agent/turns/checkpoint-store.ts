import { anonymous, type Principal } from '@trunkline/identity';
import type { Checkpoint } from '@trunkline/loop';
import type { Database } from '@trunkline/storage';
import type { PendingApproval } from '../approvals/approvals.ts';

/** A turn that waits for an answer. */
export interface ParkedTurn {
  /** As it was stored; the loop checks it. */
  checkpoint: unknown;
  /** The version of the session when the turn began. */
  sessionVersion: number;
  skill: string | undefined;
  /** Who asked for the work; the rest of it is done for them, whoever answers. */
  principal: Principal;
  /** The user whom they named, where they speak for several. */
  user: string | undefined;
  /** Their IANA zone. */
  timezone: string | undefined;
  /** Set where the answer is an approval. */
  approval: PendingApproval | undefined;
}

/** An approval that waits, with the task it belongs to. */
export interface WaitingApproval {
  taskId: string;
  approval: PendingApproval;
  principal: Principal;
  /** Milliseconds since 1970. */
  savedAt: number;
}

interface Row {
  task_id: string;
  checkpoint: string;
  session_version: number;
  skill: string | null;
  principal: string | null;
  user: string | null;
  timezone: string | null;
  approval: string | null;
  saved_at: number;
}

/** Waiting turns on disk, by the task they belong to, so that an answer finds them after a crash too. */
export class CheckpointStore {
  readonly #database: Database;

  constructor(database: Database) {
    this.#database = database;
  }

  /** The first who asked stays the one for whom it is done. */
  save(taskId: string, turn: ParkedTurn & { checkpoint: Checkpoint }): void {
    const { checkpoint, sessionVersion, skill, principal, user, timezone, approval } = turn;
    this.#database
      .prepare(
        `INSERT INTO checkpoint (task_id, checkpoint, session_version, skill, principal, user, timezone, approval, saved_at)
         VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)
         ON CONFLICT (task_id) DO UPDATE SET
           checkpoint = excluded.checkpoint, approval = excluded.approval, saved_at = excluded.saved_at,
           principal = coalesce(principal, excluded.principal)`,
      )
      .run(
        taskId,
        JSON.stringify(checkpoint),
        sessionVersion,
        skill ?? null,
        JSON.stringify(principal),
        user ?? null,
        timezone ?? null,
        approval === undefined ? null : JSON.stringify(approval),
        Date.now(),
      );
  }

  load(taskId: string): ParkedTurn | undefined {
    const row = this.#database.prepare<Row>('SELECT * FROM checkpoint WHERE task_id = ?').get(taskId);
    return row === undefined ? undefined : parkedTurn(row);
  }

  /** The approvals that nobody has answered, oldest first. */
  approvals(): WaitingApproval[] {
    const sql = 'SELECT * FROM checkpoint WHERE approval IS NOT NULL ORDER BY saved_at, task_id';
    return this.#database
      .prepare<Row>(sql)
      .all()
      .flatMap((row) => {
        const { principal, approval } = parkedTurn(row);
        return approval === undefined
          ? []
          : { taskId: row.task_id, principal, approval, savedAt: row.saved_at };
      });
  }

  /** Uses an approval up, before what it is for is done: it never counts twice, not even after a crash. */
  take(taskId: string): void {
    this.#database.prepare('UPDATE checkpoint SET approval = NULL WHERE task_id = ?').run(taskId);
  }

  delete(taskId: string): void {
    this.#database.prepare('DELETE FROM checkpoint WHERE task_id = ?').run(taskId);
  }

  /** Removes turns that nobody can answer any more; gives how many went. */
  prune(before: number): number {
    return this.#database.prepare('DELETE FROM checkpoint WHERE saved_at < ?').run(before).changes;
  }
}

function parkedTurn(row: Row): ParkedTurn {
  const { checkpoint, session_version, skill, principal, user, timezone, approval } = row;
  return {
    checkpoint: JSON.parse(checkpoint),
    sessionVersion: session_version,
    skill: skill ?? undefined,
    principal: principal === null ? anonymous : (JSON.parse(principal) as Principal),
    user: user ?? undefined,
    timezone: timezone ?? undefined,
    approval: approval === null ? undefined : (JSON.parse(approval) as PendingApproval),
  };
}
