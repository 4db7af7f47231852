import type { RunTurnOptions } from '@trunkline/loop';
import { type Database, TtlTable } from '@trunkline/storage';

export type ModelMessages = RunTurnOptions['messages'];

const lifetimeMs = 24 * 60 * 60 * 1000;
const mostMessages = 60;

/** What was said before, by the context that a caller names. */
export class Conversations {
  readonly #table: TtlTable<ModelMessages>;

  constructor(database: Database) {
    this.#table = new TtlTable<ModelMessages>(database, 'conversations');
    this.#table.sweep();
  }

  get(contextId: string): ModelMessages {
    return this.#table.get(contextId) ?? [];
  }

  /** Keeps the newest messages, from one of the user's on, so that no result stands without its call. */
  set(contextId: string, messages: ModelMessages): void {
    const newest = messages.slice(-mostMessages);
    const start = newest.findIndex(({ role }) => role === 'user');
    this.#table.set(contextId, newest.slice(Math.max(start, 0)), lifetimeMs);
  }
}
