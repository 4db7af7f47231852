import type { Database } from '@trunkline/storage';
import type { ModelMessage } from '../../turn/run-persona.ts';

const mostMemories = 2000;

/** What each user and each of their skills have talked about; it survives a restart. */
export class Memory {
  readonly #database: Database;

  constructor(database: Database) {
    this.#database = database;
  }

  recall(userId: string, skill: string): ModelMessage[] {
    const row = this.#database
      .prepare<{ messages: string }>('SELECT messages FROM memories WHERE user_id = ? AND skill = ?')
      .get(userId, skill);
    return row === undefined ? [] : (JSON.parse(row.messages) as ModelMessage[]);
  }

  /** Keeps a conversation; of all of them the ones that were held last. */
  keep(userId: string, skill: string, messages: readonly ModelMessage[]): void {
    this.#database
      .prepare(
        `INSERT INTO memories (user_id, skill, messages, updated_at) VALUES (?, ?, ?, ?)
         ON CONFLICT (user_id, skill) DO UPDATE SET messages = excluded.messages, updated_at = excluded.updated_at`,
      )
      .run(userId, skill, JSON.stringify(messages), Date.now());
    this.#database
      .prepare(
        `DELETE FROM memories WHERE updated_at <
           (SELECT updated_at FROM memories ORDER BY updated_at DESC LIMIT 1 OFFSET ${mostMemories - 1})`,
      )
      .run();
  }
}
