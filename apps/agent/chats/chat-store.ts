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

interface Branch {
  /** The conversation. */
  root: string;
  /** The turn beside which it begins: the first of those that stand there. */
  place: string;
  /** The ids of the turns that it has from before it began, as JSON. */
  path: string;
}

/** Turns that a search looks at. */
const maxSearched = 5000;
const usualLimits: ChatLimits = { fromPrograms: 5000, turns: 1000, trimEvery: 200 };
export const maxTitleLength = 80;

/** Conversations as people saw them, stored as long as the conversations themselves. */
export class ChatStore {
  readonly #database: Database;
  readonly #limits: ChatLimits;
  #saves = 0;
  /** Owners of turns since the last trim; undefined, for everybody, before the first one of this process. */
  #ownersToTrim: Set<string> | undefined;

  constructor(database: Database, limits = usualLimits) {
    this.#database = database;
    this.#limits = limits;
  }

  /** The conversation has the owner of its first turn. */
  save(turn: ChatTurn, origin: ChatOrigin, owner = 'anonymous'): void {
    const root = this.rootOf(turn.session_id);
    this.#saves += 1;
    this.#ownersToTrim?.add(owner);
    const isTrimDue = this.#saves % this.#limits.trimEvery === 0;
    this.#database.transaction(() => {
      this.#database
        .prepare(
          `INSERT INTO chat (session_id, title, state, origin, owner, updated_at) VALUES (?, ?, ?, ?, ?, ?)
           ON CONFLICT (session_id) DO UPDATE SET
           title = iif(origin = 'inbox', excluded.title, title),
           state = iif(coalesce(head, session_id) = ?, excluded.state, state), updated_at = excluded.updated_at`,
        )
        .run(root, titleOf(turn), turn.state, origin, owner, Date.now(), turn.session_id);
      this.#database
        .prepare(
          `INSERT INTO chat_turn (task_id, session_id, turn) VALUES (?, ?, ?)
           ON CONFLICT (task_id) DO UPDATE SET turn = excluded.turn`,
        )
        .run(turn.task_id, turn.session_id, JSON.stringify(turn));
      if (isTrimDue) this.#trim(turn.session_id);
    });
    // Not within the transaction: if that fails, nothing was trimmed.
    if (isTrimDue) this.#ownersToTrim = new Set();
  }

  /** Gives a conversation another title, unless it has got one meanwhile. Returns whether it did. */
  rename(sessionId: string, before: string, title: string): boolean {
    const sql = 'UPDATE chat SET title = ? WHERE session_id = ? AND title = ?';
    return this.#database.prepare(sql).run(title, sessionId, before).changes > 0;
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
    return this.#database.prepare<{ owner: string }>(sql).get(this.rootOf(sessionId))?.owner;
  }

  bytesOf(owner: string): number {
    const own = familyOf('SELECT session_id FROM chat WHERE owner BETWEEN ?1 AND ?2');
    return storedBytes(this.#database, 'chat_turn', ['turn'], own, owner);
  }

  /** One of them by its id. */
  chat(sessionId: string): Chat | undefined {
    return this.#database
      .prepare<Chat>('SELECT session_id, title, state, origin, updated_at FROM chat WHERE session_id = ?')
      .get(sessionId);
  }

  /** The last turns of a conversation or branch before that one, the oldest of them first. */
  turns(sessionId: string, limit: number, before = Number.MAX_SAFE_INTEGER): NumberedTurn[] {
    const path = this.#branch(sessionId)?.path;
    // With an OR, SQLite reads and sorts all turns; without, it goes back from the last one.
    const shared = path === undefined ? '' : 'OR task_id IN (SELECT value FROM json_each(?))';
    return this.#database
      .prepare<{ number: number; turn: string }>(
        `SELECT number, turn FROM chat_turn WHERE (session_id = ? ${shared}) AND number < ?
         ORDER BY number DESC LIMIT ?`,
      )
      .all(sessionId, ...(path === undefined ? [] : [path]), before, limit)
      .map(({ number, turn }) => ({ number, turn: JSON.parse(turn) as ChatTurn }))
      .reverse();
  }

  find(taskId: string): ChatTurn | undefined {
    const row = this.#database
      .prepare<{ turn: string }>('SELECT turn FROM chat_turn WHERE task_id = ?')
      .get(taskId);
    return row === undefined ? undefined : (JSON.parse(row.turn) as ChatTurn);
  }

  /** The conversation that a branch is of; a conversation itself otherwise. */
  rootOf(sessionId: string): string {
    return this.#branch(sessionId)?.root ?? sessionId;
  }

  /**
   * The branch that shows the run of a schedule: of the conversation in which it was made, while that is there and is
   * of the same owner.
   */
  scheduledIn({ metadata = {}, owner }: Task): string | undefined {
    const { scheduler_job_id, scheduled_in: made } = metadata;
    if (scheduler_job_id === undefined || typeof made !== 'string') return undefined;
    const chat = this.chat(this.rootOf(made));
    if (chat === undefined || chat.origin === 'inbox' || this.owner(chat.session_id) !== owner)
      return undefined;
    return this.shown(chat.session_id);
  }

  /** The branch that is shown: a branch itself, or the one of a conversation that was chosen last. */
  shown(sessionId: string): string {
    const sql = 'SELECT head FROM chat WHERE session_id = ?';
    return this.#database.prepare<{ head: string | null }>(sql).get(sessionId)?.head ?? sessionId;
  }

  /** Shows a branch of its conversation from now on. */
  show(branch: string): void {
    const last = this.turns(branch, 1)[0]?.turn.state;
    this.#database
      .prepare('UPDATE chat SET head = ?1, state = coalesce(?2, state) WHERE session_id = ?3')
      .run(branch, last ?? null, this.rootOf(branch));
  }

  /** All sessions of a conversation: itself and its branches, the oldest first. */
  branches(root: string): string[] {
    const sql = 'SELECT session_id FROM chat_branch WHERE root = ? ORDER BY created_at, session_id';
    const found = this.#database.prepare<{ session_id: string }>(sql).all(root);
    return [root, ...found.map(({ session_id }) => session_id)];
  }

  /** Begins a branch beside a turn; it has the turns before that one, but for those named. */
  addBranch(branch: string, { task_id, session_id }: ChatTurn, without: ReadonlySet<string>): void {
    const parent = this.#branch(session_id);
    const at = this.#numberOf(task_id);
    const shared = this.turns(session_id, this.#limits.turns, at).map(({ turn }) => turn.task_id);
    const path = shared.filter((id) => !without.has(id));
    const place = parent !== undefined && this.#firstOf(session_id) === task_id ? parent.place : task_id;
    this.#database
      .prepare('INSERT INTO chat_branch (session_id, root, place, path, created_at) VALUES (?, ?, ?, ?, ?)')
      .run(branch, parent?.root ?? session_id, place, JSON.stringify(path), Date.now());
  }

  removeBranch(branch: string): void {
    this.#database.prepare('DELETE FROM chat_branch WHERE session_id = ?').run(branch);
  }

  /** The sessions that stand beside each other at a turn, with its own among them; empty where it stands alone. */
  beside({ task_id, session_id }: ChatTurn): string[] {
    const own = this.#branch(session_id);
    const isFirst = own !== undefined && this.#firstOf(session_id) === task_id;
    const place = isFirst ? own.place : task_id;
    const original = isFirst ? this.find(place)?.session_id : session_id;
    const others = this.#database
      .prepare<{ session_id: string }>(
        'SELECT session_id FROM chat_branch WHERE root = ? AND place = ? ORDER BY created_at, session_id',
      )
      .all(own?.root ?? session_id, place)
      .map((row) => row.session_id);
    return others.length === 0 ? [] : [...(original === undefined ? [] : [original]), ...others];
  }

  /** Whether a turn is one of a branch's. */
  holds(branch: string, { task_id, session_id }: ChatTurn): boolean {
    if (session_id === branch) return true;
    const path = this.#branch(branch)?.path;
    return path !== undefined && (JSON.parse(path) as string[]).includes(task_id);
  }

  /** How many turns a branch has from that one on. */
  countFrom(branch: string, taskId: string): number {
    const own = '(session_id = ? OR task_id IN (SELECT value FROM json_each(?)))';
    const sql = `SELECT count(*) AS count FROM chat_turn WHERE number >= ? AND ${own}`;
    const path = this.#branch(branch)?.path ?? '[]';
    return (
      this.#database.prepare<{ count: number }>(sql).get(this.#numberOf(taskId), branch, path)?.count ?? 0
    );
  }

  /** Turns in which somebody said these words, the newest first; only the newest turns of a viewer are looked at. */
  search(words: string, viewer: Principal, limit: number): (ChatTurn & { root: string; title: string })[] {
    const owners = ownerFilter(viewer);
    const asStored = JSON.stringify(words).slice(1, -1);
    const cases = [asStored, asStored.toLowerCase(), asStored.toUpperCase(), capital(asStored)];
    const like = cases.map(() => `turn LIKE ? ESCAPE '\\'`).join(' OR ');
    // The operator's newest are found by going back from the last one, others' by their conversations: all turns of
    // everybody would be looked at for somebody who has few.
    const isOperator = viewer.kind === 'operator';
    const own = isOperator
      ? ''
      : `AND chat_turn.session_id IN (SELECT session_id FROM chat WHERE ${owners.sql} UNION ALL
           SELECT chat_branch.session_id FROM chat_branch JOIN chat ON chat.session_id = root WHERE ${owners.sql})`;
    const values = isOperator ? owners.values : [...owners.values, ...owners.values, ...owners.values];
    return this.#database
      .prepare<{ turn: string; root: string; title: string }>(
        `SELECT turn, root, title FROM (
           SELECT number, turn, chat.session_id AS root, title FROM chat_turn
           LEFT JOIN chat_branch ON chat_branch.session_id = chat_turn.session_id
           JOIN chat ON chat.session_id = coalesce(chat_branch.root, chat_turn.session_id)
           WHERE ${owners.sql} ${own} ORDER BY ${isOperator ? '' : '+'}number DESC LIMIT ?)
         WHERE ${like} ORDER BY number DESC LIMIT ?`,
      )
      .all(...values, maxSearched, ...cases.map(likeWords), limit)
      .map(({ turn, root, title }) => ({ ...(JSON.parse(turn) as ChatTurn), root, title }));
  }

  /** Says whether there was one. */
  delete(sessionId: string): boolean {
    return this.#forget('SELECT session_id FROM chat WHERE session_id = ?1', sessionId) > 0;
  }

  /** Removes conversations that rested since before that time. */
  prune(before: number): void {
    this.#forget('SELECT session_id FROM chat WHERE updated_at < ?1', before);
  }

  /** Deletes conversations with all their branches; gives how many went. */
  #forget(roots: string, value: string | number): number {
    return this.#database.transaction(() => {
      this.#database.prepare(`DELETE FROM chat_turn WHERE ${familyOf(roots)}`).run(value);
      this.#database.prepare(`DELETE FROM chat_branch WHERE root IN (${roots})`).run(value);
      return this.#database.prepare(`DELETE FROM chat WHERE session_id IN (${roots})`).run(value).changes;
    });
  }

  #branch(sessionId: string): Branch | undefined {
    return this.#database
      .prepare<Branch>('SELECT root, place, path FROM chat_branch WHERE session_id = ?')
      .get(sessionId);
  }

  #numberOf(taskId: string): number {
    const sql = 'SELECT number FROM chat_turn WHERE task_id = ?';
    return this.#database.prepare<{ number: number }>(sql).get(taskId)?.number ?? 0;
  }

  /** The first turn that is a session's own. */
  #firstOf(sessionId: string): string | undefined {
    const sql = 'SELECT task_id FROM chat_turn WHERE session_id = ? ORDER BY number LIMIT 1';
    return this.#database.prepare<{ task_id: string }>(sql).get(sessionId)?.task_id;
  }

  #owners(): string[] {
    const rows = this.#database.prepare<{ owner: string }>('SELECT DISTINCT owner FROM chat').all();
    return rows.map(({ owner }) => owner);
  }

  #trim(sessionId: string): void {
    const { fromPrograms, turns } = this.#limits;
    for (const owner of this.#ownersToTrim ?? this.#owners()) {
      const old = this.#database
        .prepare<{ session_id: string }>(
          `SELECT session_id FROM chat WHERE owner = ? AND origin IN ('a2a', 'inbox')
           ORDER BY updated_at DESC, session_id DESC LIMIT -1 OFFSET ?`,
        )
        .all(owner, fromPrograms)
        .map(({ session_id }) => session_id);
      if (old.length > 0) this.#forget('SELECT value FROM json_each(?1)', JSON.stringify(old));
    }
    this.#database
      .prepare(
        `DELETE FROM chat_turn WHERE session_id = ?1 AND number <= (
           SELECT number FROM chat_turn WHERE session_id = ?1 ORDER BY number DESC LIMIT 1 OFFSET ?2)`,
      )
      .run(sessionId, turns);
  }
}

/** What belongs to some conversations: their own turns and those of their branches. */
function familyOf(roots: string): string {
  return `(session_id IN (${roots}) OR session_id IN (SELECT session_id FROM chat_branch WHERE root IN (${roots})))`;
}

function capital(words: string): string {
  return words.charAt(0).toUpperCase() + words.slice(1);
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

/** Undefined for turns of schedules, which are no conversation: see `scheduledIn`. */
export function originOf({ contextId, metadata = {} }: Task): ChatOrigin | undefined {
  if (metadata.scheduler_job_id !== undefined) return undefined;
  if (isActivityContext(contextId)) return 'inbox';
  const { channel } = metadata;
  return channel === 'chat' || channel === 'terminal' || channel === 'platform' ? channel : 'a2a';
}
