import type { Principal } from '@trunkline/identity';
import { type EndEvent, type ErrorEvent, markOf } from '@trunkline/loop';
import { type Database, storedBytes } from '@trunkline/storage';
import { operatorScope } from '../owners.ts';

export type Messages = EndEvent['messages'];

export interface Session {
  messages: Messages;
  /** Rises with each turn; 0 for a session that has none yet. */
  version: number;
  /** Who started it; undefined for a new one. */
  owner?: string | undefined;
}

interface Row {
  messages: string;
  version: number;
  scope: string | null;
}

/** Conversations on disk, by session id. */
export class SessionStore {
  readonly #database: Database;

  constructor(database: Database) {
    this.#database = database;
  }

  load(sessionId: string): Session {
    const row = this.#database
      .prepare<Row>('SELECT messages, version, scope FROM session WHERE session_id = ?')
      .get(sessionId);
    if (row === undefined) return { messages: [], version: 0 };
    const { version, scope } = row;
    return { messages: JSON.parse(row.messages) as Messages, version, owner: scope ?? operatorScope };
  }

  /** Who started a conversation; undefined for a new one. */
  owner(sessionId: string): string | undefined {
    const row = this.#database
      .prepare<Pick<Row, 'scope'>>('SELECT scope FROM session WHERE session_id = ?')
      .get(sessionId);
    return row === undefined ? undefined : (row.scope ?? operatorScope);
  }

  /** Makes a new conversation somebody's; one that there is stays as it is. */
  claim(sessionId: string, owner: string): void {
    if (this.owner(sessionId) === undefined) this.save(sessionId, { messages: [], version: 0, owner });
  }

  /** The version alone: a long conversation is not read for it. */
  version(sessionId: string): number {
    const row = this.#database
      .prepare<Pick<Row, 'version'>>('SELECT version FROM session WHERE session_id = ?')
      .get(sessionId);
    return row?.version ?? 0;
  }

  save(sessionId: string, { messages, version, owner = operatorScope }: Session): void {
    this.#database
      .prepare(
        `INSERT INTO session (session_id, messages, version, scope, updated_at) VALUES (?, ?, ?, ?, ?)
         ON CONFLICT (session_id) DO UPDATE
         SET messages = excluded.messages, version = excluded.version, updated_at = excluded.updated_at`,
      )
      .run(sessionId, JSON.stringify(messages), version, owner, Date.now());
  }

  bytesOf(owner: string): number {
    return storedBytes(this.#database, 'session', ['messages'], 'scope = ?', owner);
  }

  /** Says whether there was one. */
  delete(sessionId: string): boolean {
    return this.#database.prepare('DELETE FROM session WHERE session_id = ?').run(sessionId).changes > 0;
  }

  /** Removes sessions that rested since before that time; gives how many went. */
  prune(before: number): number {
    return this.#database.prepare('DELETE FROM session WHERE updated_at < ?').run(before).changes;
  }
}

/** Other turns of the session ended while this one waited: only its question and its answer are added to theirs. */
export function appended(
  { messages }: Session,
  { text, origins }: EndEvent | ErrorEvent,
  request: { text: string; principal: Principal },
): Messages {
  const answer = text === '' ? [] : [{ role: 'assistant' as const, content: text, ...markOf(origins) }];
  const asked = { role: 'user' as const, content: request.text, ...markOf(request.principal.origins) };
  return [...messages, asked, ...answer];
}

/** The record of a session after a turn. */
export function recordOf(sessionId: string, messages: Messages, event: EndEvent | ErrorEvent) {
  return {
    session_id: sessionId,
    trace_id: null,
    messages: plainMessages(messages),
    tool_calls: messages.filter(({ role }) => role === 'tool').length,
    final_output: event.type === 'error' && event.text === '' ? event.message : event.text,
  };
}

/** What people said to each other, without the traffic with tools. */
export function plainMessages(messages: Messages): { role: string; content: string }[] {
  return messages
    .filter(({ role }) => role === 'user' || role === 'assistant')
    .map(({ role, content }) => ({ role, content: plainText(content) }))
    .filter(({ content }) => content !== '');
}

function plainText(content: Messages[number]['content']): string {
  if (typeof content === 'string') return content;
  return content.flatMap((part) => (part.type === 'text' ? [part.text] : [])).join('\n');
}
