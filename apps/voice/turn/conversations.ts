import type { Database } from '@trunkline/storage';
import { SweptTable } from '../store/swept-table.ts';
import type { ModelMessages } from './run-persona.ts';

const mostMessages = 60;

/** What was said before, by the context that a caller names. */
export class ConversationHistories {
  readonly #table: SweptTable<ModelMessages>;

  constructor(database: Database) {
    this.#table = new SweptTable<ModelMessages>(database, 'conversations');
  }

  get(contextId: string): ModelMessages {
    return this.#table.get(contextId) ?? [];
  }

  /** Keeps the newest messages, from one of the user's on, so that no result stands without its call. */
  set(contextId: string, messages: ModelMessages): void {
    const newest = messages.slice(-mostMessages);
    const start = newest.findIndex(({ role }) => role === 'user');
    this.#table.set(contextId, newest.slice(Math.max(start, 0)));
  }
}
