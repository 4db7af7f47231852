import type { Database } from '@trunkline/storage';
import type { ChatMessage } from './request.ts';

export interface Conversation {
  id: string;
  messages: ChatMessage[];
  /** A turn that waits for the answer to its question. */
  checkpoint: unknown;
  updatedAt: number;
}

interface ConversationRow {
  id: string;
  messages: string;
  checkpoint: string | null;
  updated_at: number;
}

/** Conversations by the id that their client chose. */
export class ConversationStore {
  readonly #database: Database;

  constructor(database: Database) {
    this.#database = database;
  }

  get(id: string): Conversation | undefined {
    const row = this.#database.prepare<ConversationRow>('SELECT * FROM conversations WHERE id = ?').get(id);
    if (row === undefined) return undefined;
    return {
      id: row.id,
      messages: JSON.parse(row.messages) as ChatMessage[],
      checkpoint: row.checkpoint === null ? undefined : JSON.parse(row.checkpoint),
      updatedAt: row.updated_at,
    };
  }

  save(id: string, messages: readonly ChatMessage[], checkpoint: unknown): void {
    this.#database
      .prepare(
        `INSERT INTO conversations (id, messages, checkpoint, updated_at) VALUES (?, ?, ?, ?)
         ON CONFLICT (id) DO UPDATE SET messages = excluded.messages, checkpoint = excluded.checkpoint, updated_at = excluded.updated_at`,
      )
      .run(
        id,
        JSON.stringify(messages),
        checkpoint === undefined ? null : JSON.stringify(checkpoint),
        Date.now(),
      );
  }
}
