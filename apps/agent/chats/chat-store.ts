import type { Database } from '@trunkline/storage';
import type { ChatTurn } from './transcript.ts';

/** A conversation in the list of them. */
export interface Chat {
  session_id: string;
  title: string;
  /** Of its last turn. */
  state: string;
  updated_at: number;
}

export interface ChatQuery {
  limit: number;
  /** Words that the title must hold. */
  search: string;
  /** Where the page begins: after this one. */
  before?: Pick<Chat, 'updated_at' | 'session_id'> | undefined;
}

export interface NumberedTurn {
  number: number;
  turn: ChatTurn;
}

const longestTitle = 80;

/** What people saw of their conversations, kept for as long as the conversations themselves. */
export class ChatStore {
  readonly #database: Database;

  constructor(database: Database) {
    this.#database = database;
  }

  save(turn: ChatTurn): void {
    this.#database.transaction(() => {
      this.#database
        .prepare(
          `INSERT INTO chat (session_id, title, state, updated_at) VALUES (?, ?, ?, ?)
           ON CONFLICT (session_id) DO UPDATE SET state = excluded.state, updated_at = excluded.updated_at`,
        )
        .run(turn.session_id, titleOf(turn), turn.state, Date.now());
      this.#database
        .prepare(
          `INSERT INTO chat_turn (task_id, session_id, turn) VALUES (?, ?, ?)
           ON CONFLICT (task_id) DO UPDATE SET turn = excluded.turn`,
        )
        .run(turn.task_id, turn.session_id, JSON.stringify(turn));
    });
  }

  /** The newest first. */
  list({ limit, search, before }: ChatQuery): Chat[] {
    const { updated_at, session_id } = before ?? { updated_at: Number.MAX_SAFE_INTEGER, session_id: '' };
    return this.#database
      .prepare<Chat>(
        `SELECT session_id, title, state, updated_at FROM chat
         WHERE (updated_at, session_id) < (?, ?) AND title LIKE ? ESCAPE '\\'
         ORDER BY updated_at DESC, session_id DESC LIMIT ?`,
      )
      .all(updated_at, session_id, `%${search.replace(/[\\%_]/g, String.raw`\$&`)}%`, limit);
  }

  /** The last turns of a conversation before that one, the oldest of them first. */
  turns(sessionId: string, limit: number, before = Number.MAX_SAFE_INTEGER): NumberedTurn[] {
    return this.#database
      .prepare<{ number: number; turn: string }>(
        'SELECT number, turn FROM chat_turn WHERE session_id = ? AND number < ? ORDER BY number DESC LIMIT ?',
      )
      .all(sessionId, before, limit)
      .map(({ number, turn }) => ({ number, turn: JSON.parse(turn) as ChatTurn }))
      .reverse();
  }

  find(taskId: string): ChatTurn | undefined {
    const row = this.#database
      .prepare<{ turn: string }>('SELECT turn FROM chat_turn WHERE task_id = ?')
      .get(taskId);
    return row === undefined ? undefined : (JSON.parse(row.turn) as ChatTurn);
  }

  /** Says whether there was one. */
  delete(sessionId: string): boolean {
    return this.#database.transaction(() => {
      this.#database.prepare('DELETE FROM chat_turn WHERE session_id = ?').run(sessionId);
      return this.#database.prepare('DELETE FROM chat WHERE session_id = ?').run(sessionId).changes > 0;
    });
  }

  /** Removes conversations that rested since before that time. */
  prune(before: number): void {
    const old = 'SELECT session_id FROM chat WHERE updated_at < ?';
    this.#database.prepare(`DELETE FROM chat_turn WHERE session_id IN (${old})`).run(before);
    this.#database.prepare('DELETE FROM chat WHERE updated_at < ?').run(before);
  }
}

function titleOf({ entries }: ChatTurn): string {
  const asked = entries.find(({ kind }) => kind === 'user');
  const line = (asked?.kind === 'user' ? asked.text : '').replace(/\s+/g, ' ').trim();
  return line.length > longestTitle ? `${line.slice(0, longestTitle - 1)}…` : line;
}
