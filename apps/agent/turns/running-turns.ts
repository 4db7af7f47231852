import type { Principal } from '@trunkline/identity';
import type {
  Content,
  EndEvent,
  ErrorEvent,
  PauseEvent,
  Step,
  StepLog,
  TurnStepOptions,
} from '@trunkline/loop';
import type { ApprovalView } from '@trunkline/std';
import type { Database } from '@trunkline/storage';
import type { PendingApproval } from '../approvals/approvals.ts';

export interface TurnRequest {
  sessionId: string;
  /** Under this id the turn is stored when it waits for an answer. */
  taskId: string;
  text: string;
  /** What the message holds besides its text. */
  contents?: readonly Content[];
  skill?: string | undefined;
  /** For whom the work is done. */
  principal: Principal;
  /** Who answers the question of a turn that waits; else the principal. */
  answeredBy?: Principal;
  /** The user whom a program with a token speaks for, where it names one. */
  user?: string | undefined;
  /** IANA zone of the person. */
  timezone?: string | undefined;
  /** Goes on with the conversation whoever began it. */
  joins: boolean;
  /** The turns of the task before this one, where it works towards a goal: how many, and what they said. */
  earlier?: { turns: number; text: string };
  /** Set where the last process began the turn and was ended. */
  interrupted?: InterruptedTurn;
  /** Where its steps are stored, once it is. */
  steps?: TurnStepOptions;
  signal: AbortSignal;
}

type StoredRequest = Omit<TurnRequest, 'signal' | 'interrupted' | 'steps'>;

/** A turn as the last process left it. */
export interface InterruptedTurn {
  /** Id of its steps. */
  turn: string;
  request: StoredRequest;
  /** Whether the text answers a question of the task. */
  isAnswer: boolean;
  /** What the answer allowed, where it was asked for that. */
  approval?: PendingApproval | undefined;
  /** The result of the call that the answer was for, where it had one. */
  answer?: string | undefined;
  /** Set where it had ended or asked, and only its task did not know. */
  outcome?: TurnOutcome | undefined;
}

/** The last event of a turn. */
export type TurnOutcome = (EndEvent | ErrorEvent | PauseEvent) & { approval?: ApprovalView };

interface Row {
  turn: string;
  request: string;
  answer: string | null;
  outcome: string | null;
  attempts: number;
}

/** A turn that ends the process each time, without another step, must not keep the service from running. */
const mostAttempts = 3;
/** The task engine writes the end of a task a moment after the turn: until then the turn can still be needed. */
const keptMs = 10_000;

/** Turns under way and their steps on disk, so that the next process goes on with what a crash cut off. */
export class RunningTurns {
  readonly #database: Database;

  constructor(database: Database) {
    this.#database = database;
  }

  /**
   * Stores a turn before it runs, in place of the one before of the same task. An answer comes with the approval that it
   * is for, or null.
   */
  begin<Request extends TurnRequest>(asked: Request, approval?: PendingApproval | null): Request {
    const { signal: _, interrupted, steps: __, ...request } = asked;
    const turn = interrupted?.turn ?? crypto.randomUUID();
    const steps = { log: this.#log(turn), turn, resumes: interrupted !== undefined };
    if (interrupted !== undefined) return { ...asked, steps };
    const stored = { request, isAnswer: approval !== undefined, ...(approval && { approval }) };
    const now = Date.now();
    this.#database.transaction(() => {
      this.#delete('task_id = ? OR ended_at < ?', asked.taskId, now - keptMs);
      this.#database
        .prepare('INSERT INTO running_turn (task_id, turn, request, begun_at) VALUES (?, ?, ?, ?)')
        .run(asked.taskId, turn, JSON.stringify(stored), now);
    });
    return { ...asked, steps };
  }

  /** What the last process left of a task; undefined where it is not stored, or was tried too often. */
  takeUp(taskId: string): InterruptedTurn | undefined {
    const row = this.#database
      .prepare<Row>('SELECT turn, request, answer, outcome, attempts FROM running_turn WHERE task_id = ?')
      .get(taskId);
    if (row === undefined || row.attempts >= mostAttempts) return undefined;
    this.#database
      .prepare('UPDATE running_turn SET attempts = attempts + 1, ended_at = NULL WHERE task_id = ?')
      .run(taskId);
    const stored = JSON.parse(row.request) as Pick<InterruptedTurn, 'request' | 'isAnswer' | 'approval'>;
    const outcome = row.outcome === null ? undefined : (JSON.parse(row.outcome) as TurnOutcome);
    return { turn: row.turn, ...stored, answer: row.answer ?? undefined, outcome };
  }

  /** Whether the task has not ended or paused, and nobody has cancelled it. */
  has(taskId: string): boolean {
    const sql = 'SELECT 1 FROM running_turn WHERE task_id = ? AND ended_at IS NULL';
    return this.#database.prepare(sql).get(taskId) !== undefined;
  }

  /** Records the result of the call that the answer was for: it must not run again. */
  answer(taskId: string, result: string): void {
    this.#database.prepare('UPDATE running_turn SET answer = ? WHERE task_id = ?').run(result, taskId);
  }

  /** Records the last event of a turn, without what session and checkpoint hold of it. */
  end(taskId: string, event: TurnOutcome): void {
    const rest = event.type === 'pause' ? { checkpoint: undefined } : { messages: event.messages.slice(-1) };
    const outcome = JSON.stringify({ ...event, ...rest });
    this.#database.prepare('UPDATE running_turn SET outcome = ? WHERE task_id = ?').run(outcome, taskId);
  }

  /** The task has ended or waits: the turn goes when that is surely on disk. */
  settle(taskId: string): void {
    this.#database.prepare('UPDATE running_turn SET ended_at = ? WHERE task_id = ?').run(Date.now(), taskId);
  }

  delete(taskId: string): void {
    this.#database.transaction(() => this.#delete('task_id = ?', taskId));
  }

  prune(before: number): void {
    this.#database.transaction(() => this.#delete('begun_at < ?', before));
  }

  /** The steps of a turn and of the helpers that work for it. One process at a time has the database. */
  #log(root: string): StepLog {
    return {
      read: async (turn) =>
        this.#database
          .prepare<{ steps: string }>(
            'SELECT steps FROM turn_step WHERE root = ? AND turn = ? ORDER BY position',
          )
          .all(root, turn)
          .flatMap(({ steps }) => JSON.parse(steps) as Step[]),
      // A tool may end after its task was cancelled: nobody asks for its steps any more.
      append: async (turn, position, steps) => {
        this.#database
          .prepare(
            `INSERT INTO turn_step (root, turn, position, steps)
             SELECT ?1, ?2, ?3, ?4 WHERE EXISTS (SELECT 1 FROM running_turn WHERE turn = ?1)`,
          )
          .run(root, turn, position, JSON.stringify(steps));
        this.#database
          .prepare('UPDATE running_turn SET attempts = 0 WHERE turn = ? AND attempts > 0')
          .run(root);
      },
    };
  }

  #delete(which: string, ...values: (string | number)[]): void {
    this.#database
      .prepare(`DELETE FROM turn_step WHERE root IN (SELECT turn FROM running_turn WHERE ${which})`)
      .run(...values);
    this.#database.prepare(`DELETE FROM running_turn WHERE ${which}`).run(...values);
  }
}
