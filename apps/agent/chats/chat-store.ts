import type { Task } from '@trunkline/a2a';
import { ownerFilter, type Principal } from '@trunkline/identity';
import { type Database, storedBytes } from '@trunkline/storage';
import { oneLine } from '@trunkline/tools';
import { isActivityContext } from '../activity/activity-feed.ts';
import type { ChatTurn } from './transcript.ts';

/** Who is at the other end of a conversation, as a list of them can be narrowed. */
export const chatSources = {
  all: ['chat', 'terminal', 'platform', 'a2a', 'inbox'],
  people: ['chat', 'terminal', 'platform'],
  a2a: ['a2a'],
  inbox: ['inbox'],
} as const satisfies Record<string, readonly ChatOrigin[]>;

/** A conversation in the list of them. */
export interface Chat {
  session_id: string;
  title: string;
  /** Of its last turn. */
  state: ChatTurn['state'];
  /** Where it began. */
  origin: ChatOrigin;
  updated_at: number;
}

export interface ChatQuery {
  limit: number;
  /** Words that the title must hold. */
  search: string;
  origins: readonly ChatOrigin[];
  /** Only those that they may see. */
  viewer: Principal;
  /** Where the page begins: after this one. */
  before?: Pick<Chat, 'updated_at' | 'session_id'> | undefined;
}

export interface NumberedTurn {
  number: number;
  turn: ChatTurn;
}

export interface ChatLimits {
  /** Programs start endless conversations: only this many of theirs are stored for an owner. */
  fromPrograms: number;
  /** Of one conversation. */
  turns: number;
  /** What is too much is looked for once in so many turns. */
  trimEvery: number;
}

const usualLimits: ChatLimits = { fromPrograms: 5000, turns: 1000, trimEvery: 200 };
const maxTitleLength = 80;

/** Conversations as people saw them, stored as long as the conversations themselves. */
export class ChatStore {
  readonly #database: Database;
  readonly #limits: ChatLimits;
  #saves = 0;

  constructor(database: Database, limits = usualLimits) {
    this.#database = database;
    this.#limits = limits;
  }

  /** The conversation has the owner of its first turn. */
  save(turn: ChatTurn, origin: ChatOrigin, owner = 'anonymous'): void {
    this.#database.transaction(() => {
      this.#database
        .prepare(
          `INSERT INTO chat (session_id, title, state, origin, owner, updated_at) VALUES (?, ?, ?, ?, ?, ?)
           ON CONFLICT (session_id) DO UPDATE SET
           title = iif(origin = 'inbox', excluded.title, title), state = excluded.state, updated_at = excluded.updated_at`,
        )
        .run(turn.session_id, titleOf(turn), turn.state, origin, owner, Date.now());
      this.#database
        .prepare(
          `INSERT INTO chat_turn (task_id, session_id, turn) VALUES (?, ?, ?)
           ON CONFLICT (task_id) DO UPDATE SET turn = excluded.turn`,
        )
        .run(turn.task_id, turn.session_id, JSON.stringify(turn));
      this.#saves += 1;
      if (this.#saves % this.#limits.trimEvery === 0) this.#trim(turn.session_id);
    });
  }

  /** The newest first. */
  list({ limit, search, origins, viewer, before }: ChatQuery): Chat[] {
    const owners = ownerFilter(viewer);
    const { updated_at, session_id } = before ?? { updated_at: Number.MAX_SAFE_INTEGER, session_id: '' };
    return this.#database
      .prepare<Chat>(
        `SELECT session_id, title, state, origin, updated_at FROM chat
         WHERE ${owners.sql} AND (updated_at, session_id) < (?, ?) AND title LIKE ? ESCAPE '\\'
         AND origin IN (SELECT value FROM json_each(?))
         ORDER BY updated_at DESC, session_id DESC LIMIT ?`,
      )
      .all(...owners.values, updated_at, session_id, likeWords(search), JSON.stringify(origins), limit);
  }

  /** Who began a conversation; undefined where there is none. */
  owner(sessionId: string): string | undefined {
    const sql = 'SELECT owner FROM chat WHERE session_id = ?';
    return this.#database.prepare<{ owner: string }>(sql).get(sessionId)?.owner;
  }

  bytesOf(owner: string): number {
    const own = 'session_id IN (SELECT session_id FROM chat WHERE owner = ?)';
    return storedBytes(this.#database, 'chat_turn', ['turn'], own, owner);
  }

  /** One of them by its id. */
  chat(sessionId: string): Chat | undefined {
    return this.#database
      .prepare<Chat>('SELECT session_id, title, state, origin, updated_at FROM chat WHERE session_id = ?')
      .get(sessionId);
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

  #trim(sessionId: string): void {
    const { fromPrograms, turns } = this.#limits;
    const ages = `SELECT session_id, row_number() OVER (PARTITION BY owner ORDER BY updated_at DESC) AS age
      FROM chat WHERE origin IN ('a2a', 'inbox')`;
    const old = `SELECT session_id FROM (${ages}) WHERE age > ?`;
    this.#database.prepare(`DELETE FROM chat_turn WHERE session_id IN (${old})`).run(fromPrograms);
    this.#database.prepare(`DELETE FROM chat WHERE session_id IN (${old})`).run(fromPrograms);
    this.#database
      .prepare(
        `DELETE FROM chat_turn WHERE session_id = ?1 AND number <= (
           SELECT number FROM chat_turn WHERE session_id = ?1 ORDER BY number DESC LIMIT 1 OFFSET ?2)`,
      )
      .run(sessionId, turns);
  }
}

function likeWords(search: string): string {
  return `%${search.replace(/[\\%_]/g, String.raw`\$&`)}%`;
}

function titleOf({ entries }: ChatTurn): string {
  const asked = entries.find(({ kind }) => kind === 'user');
  const [paragraph = ''] = (asked?.kind === 'user' ? asked.text : '').trim().split(/\n\s*\n/);
  return oneLine(paragraph, maxTitleLength);
}

/** Where a conversation began: on the page or at the chat API, in a terminal, on a chat platform, at another agent, in the inbox. */
export type ChatOrigin = 'chat' | 'terminal' | 'platform' | 'a2a' | 'inbox';

/** Undefined for turns of schedules: each is a conversation of its own, and stands under Activity. */
export function originOf({ contextId, metadata = {} }: Task): ChatOrigin | undefined {
  if (metadata.scheduler_job_id !== undefined) return undefined;
  if (isActivityContext(contextId)) return 'inbox';
  const { channel } = metadata;
  return channel === 'chat' || channel === 'terminal' || channel === 'platform' ? channel : 'a2a';
}
