import type { Origin, Principal } from '@trunkline/identity';
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

export interface ChosenModel {
  /** The name of a model, or a role. */
  model: string;
  /** The operator may choose any that the endpoint has; others what `model.choices` lists, as long as it does. */
  byOperator: boolean;
}

interface Row {
  messages: string;
  version: number;
  scope: string | null;
}

interface TurnStart {
  task_id: string;
  session_id: string;
  /** Of the session when the turn began. */
  version: number;
  asker: string | null;
}

/** Whose words began a turn, and what these were drawn from. */
export interface Asker {
  owner: string;
  origins?: readonly Origin[] | undefined;
}

interface Version {
  /** How many messages of the version before it stay. */
  kept: number;
  added: string;
}

/** Versions of a session that can be gone back to. */
const maxVersions = 200;
const wholeEvery = 50;

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

  /** The model that was chosen for a conversation; undefined for the configured one. */
  chosenModel(root: string): ChosenModel | undefined {
    const sql = 'SELECT model, by_operator FROM chosen_model WHERE session_id = ?';
    const row = this.#database.prepare<{ model: string; by_operator: number }>(sql).get(root);
    return row && { model: row.model, byOperator: row.by_operator === 1 };
  }

  chooseModel(root: string, chosen: ChosenModel | undefined): void {
    if (chosen === undefined)
      this.#database.prepare('DELETE FROM chosen_model WHERE session_id = ?').run(root);
    else
      this.#database
        .prepare('INSERT OR REPLACE INTO chosen_model (session_id, model, by_operator) VALUES (?, ?, ?)')
        .run(root, chosen.model, chosen.byOperator ? 1 : 0);
  }

  /** The version alone: a long conversation is not read for it. */
  version(sessionId: string): number {
    const row = this.#database
      .prepare<Pick<Row, 'version'>>('SELECT version FROM session WHERE session_id = ?')
      .get(sessionId);
    return row?.version ?? 0;
  }

  /** With the turn that made it so, the version can be gone back to. */
  save(sessionId: string, { messages, version, owner = operatorScope }: Session, taskId?: string): void {
    const text = JSON.stringify(messages);
    this.#database.transaction(() => {
      if (taskId !== undefined) this.#keepVersion(sessionId, { messages, text }, version, taskId);
      this.#database
        .prepare(
          `INSERT INTO session (session_id, messages, version, scope, updated_at) VALUES (?, ?, ?, ?, ?)
           ON CONFLICT (session_id) DO UPDATE
           SET messages = excluded.messages, version = excluded.version, updated_at = excluded.updated_at`,
        )
        .run(sessionId, text, version, owner, Date.now());
    });
  }

  /** Records with which version a turn begins. The first time counts: a turn towards a goal begins several times. */
  begin(taskId: string, sessionId: string, { messages, version }: Session, asker: Asker): void {
    this.#database.transaction(() => {
      // A conversation of before versions were kept.
      if (!this.#hasVersion(sessionId, version)) this.#putVersion(sessionId, version, 0, messages);
      this.#database
        .prepare('INSERT OR IGNORE INTO turn_start (task_id, session_id, version, asker) VALUES (?, ?, ?, ?)')
        .run(taskId, sessionId, version, JSON.stringify(asker));
    });
  }

  /**
   * Makes a new session of what the model saw before a turn, with the owner of the first. Undefined where that is no
   * longer stored; else the ids of the turns that a session had then and since that the new one has not, and who asked
   * (unknown for turns of before that was stored).
   */
  fork(taskId: string, into: string): { without: ReadonlySet<string>; asker: Asker | undefined } | undefined {
    const start = this.#database.prepare<TurnStart>('SELECT * FROM turn_start WHERE task_id = ?').get(taskId);
    const messages = start && this.#messagesAt(start.session_id, start.version);
    if (start === undefined || messages === undefined) return undefined;
    const owner = this.owner(start.session_id);
    this.#putVersion(into, 1, 0, messages);
    this.save(into, { messages, version: 1, owner });
    const later = this.#database
      .prepare<TurnStart>('SELECT * FROM turn_start WHERE session_id = ? AND (ended IS NULL OR ended > ?)')
      .all(start.session_id, start.version);
    const asker = start.asker === null ? undefined : (JSON.parse(start.asker) as Asker);
    return { without: new Set(later.map(({ task_id }) => task_id)), asker };
  }

  /**
   * The conversation after a turn that began with an older version: other turns ended while it waited, and what was said
   * and done in it goes behind them. Where its beginning was compacted, its last message of the user begins it.
   */
  withTurn(sessionId: string, begunAt: number, ended: EndEvent | ErrorEvent): Messages {
    const { messages } = this.load(sessionId);
    const before = this.#messagesAt(sessionId, begunAt);
    const isKept = before?.every(
      (message, at) => JSON.stringify(message) === JSON.stringify(ended.messages[at]),
    );
    const last = ended.messages.findLastIndex(({ role }) => role === 'user');
    const from = before !== undefined && isKept ? before.length : last;
    return from === -1 ? messages : [...messages, ...ended.messages.slice(from)];
  }

  #messagesAt(sessionId: string, version: number): Messages | undefined {
    const steps: Version[] = [];
    for (let wanted = version; ; wanted -= 1) {
      const step = this.#database
        .prepare<Version>('SELECT kept, added FROM session_version WHERE session_id = ? AND version = ?')
        .get(sessionId, wanted);
      if (step === undefined) return undefined;
      steps.push(step);
      if (step.kept === 0) break;
    }
    return steps.reduceRight<Messages>(
      (messages, { kept, added }) => [...messages.slice(0, kept), ...(JSON.parse(added) as Messages)],
      [],
    );
  }

  /** Only what is new is stored, and now and then all of it, so that old versions can go. */
  #keepVersion(
    sessionId: string,
    { messages, text }: { messages: Messages; text: string },
    version: number,
    taskId: string,
  ): void {
    // The run of a schedule that ended meanwhile has added to the chat without keeping a version.
    const isWhole = version % wholeEvery === 0 || !this.#hasVersion(sessionId, version - 1);
    const kept = isWhole ? 0 : this.#inCommon(sessionId, messages, text);
    this.#putVersion(sessionId, version, kept, messages.slice(kept));
    this.#database.prepare('UPDATE turn_start SET ended = ? WHERE task_id = ?').run(version, taskId);
    if (kept > 0) return;
    for (const table of ['session_version', 'turn_start']) {
      this.#database
        .prepare(`DELETE FROM ${table} WHERE session_id = ? AND version < ?`)
        .run(sessionId, version - maxVersions);
    }
  }

  /** How many of the messages the session begins with. Mostly all that it has: then their text begins with its text. */
  #inCommon(sessionId: string, messages: Messages, text: string): number {
    const sql = 'SELECT messages FROM session WHERE session_id = ?';
    const stored = this.#database.prepare<Pick<Row, 'messages'>>(sql).get(sessionId)?.messages ?? '[]';
    const before = JSON.parse(stored) as Messages;
    const isContinued = stored === text || text.startsWith(`${stored.slice(0, -1)},`);
    if (isContinued) return before.length;
    const differs = messages.findIndex(
      (message, at) => JSON.stringify(message) !== JSON.stringify(before[at]),
    );
    return differs === -1 ? messages.length : differs;
  }

  #hasVersion(sessionId: string, version: number): boolean {
    const sql = 'SELECT 1 FROM session_version WHERE session_id = ? AND version = ?';
    return this.#database.prepare(sql).get(sessionId, version) !== undefined;
  }

  #putVersion(sessionId: string, version: number, kept: number, added: Messages): void {
    this.#database
      .prepare(
        'INSERT OR REPLACE INTO session_version (session_id, version, kept, added) VALUES (?, ?, ?, ?)',
      )
      .run(sessionId, version, kept, JSON.stringify(added));
  }

  /** A conversation that people of a surface share counts for whoever began it. */
  bytesOf(owner: string): number {
    const shared = `SELECT session.session_id FROM session JOIN chat USING (session_id)
      WHERE session.scope LIKE 'people:%' AND chat.owner BETWEEN ?1 AND ?2`;
    const own = `session_id IN (SELECT session_id FROM session WHERE scope BETWEEN ?1 AND ?2 UNION ${shared})`;
    const versions = storedBytes(this.#database, 'session_version', ['added'], own, owner);
    const chosen = storedBytes(this.#database, 'chosen_model', ['session_id', 'model'], own, owner);
    return versions + chosen + storedBytes(this.#database, 'session', ['messages'], own, owner);
  }

  /** Says whether there was one. */
  delete(sessionId: string): boolean {
    return this.#database.transaction(() => {
      for (const table of ['session_version', 'turn_start', 'chosen_model'])
        this.#database.prepare(`DELETE FROM ${table} WHERE session_id = ?`).run(sessionId);
      return this.#database.prepare('DELETE FROM session WHERE session_id = ?').run(sessionId).changes > 0;
    });
  }

  /** Removes sessions that rested since before that time, with all their branches; gives how many went. */
  prune(before: number): number {
    const root = `coalesce((SELECT root FROM chat_branch WHERE chat_branch.session_id = session.session_id), session_id)`;
    const used = 'SELECT session_id FROM chat WHERE updated_at >= ?';
    const pruned = this.#database
      .prepare(`DELETE FROM session WHERE updated_at < ? AND ${root} NOT IN (${used})`)
      .run(before, before).changes;
    for (const table of ['session_version', 'turn_start', 'chosen_model'])
      this.#database.exec(`DELETE FROM ${table} WHERE session_id NOT IN (SELECT session_id FROM session)`);
    return pruned;
  }
}

/** The conversation with a message and its answer that were said elsewhere. */
export function withExchange(
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

/** Without the texts of attached files, which have a mark. */
function plainText(content: Messages[number]['content']): string {
  if (typeof content === 'string') return content;
  return content
    .flatMap((part) => (part.type === 'text' && part.providerOptions === undefined ? [part.text] : []))
    .join('\n');
}
