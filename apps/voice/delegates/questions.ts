import type { Database } from '@trunkline/storage';
import { SweptTable } from '../store/swept-table.ts';

/** A task of another agent that goes on once it is answered. */
export interface WaitingTask {
  taskId: string;
  contextId?: string;
}

/** What delegates have asked a user back: the next thing the user has handed to one of them is the answer. */
export class OpenQuestions {
  readonly #table: SweptTable<WaitingTask>;

  constructor(database: Database) {
    this.#table = new SweptTable<WaitingTask>(database, 'open_questions');
  }

  find(userId: string, delegate: string): WaitingTask | undefined {
    return this.#table.get(keyOf(userId, delegate));
  }

  /** A newer question takes the place of an older one; without a task there is none any more. */
  set(userId: string, delegate: string, task: WaitingTask | undefined): void {
    if (task === undefined) this.#table.delete(keyOf(userId, delegate));
    else this.#table.set(keyOf(userId, delegate), task);
  }
}

function keyOf(userId: string, delegate: string): string {
  return JSON.stringify([userId, delegate]);
}
