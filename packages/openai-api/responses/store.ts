import { randomBytes } from 'node:crypto';
import { maySee, ownerKey, type Principal } from '@trunkline/identity';
import { type Database, openDatabase, storedBytes } from '@trunkline/storage';
import type { RequestMessage } from '../request.ts';
import { CompactionSeal } from './compaction-seal.ts';
import { ConversationStore, conversationItemMigration, conversationMigration } from './conversation-store.ts';
import { type Item, responseOfItem, toMessages } from './items.ts';
import type { ResponseBody } from './writer.ts';

const migrations = [
  `CREATE TABLE responses (
     id TEXT PRIMARY KEY, owner TEXT NOT NULL, previous TEXT, status TEXT NOT NULL, task TEXT,
     body TEXT NOT NULL, input TEXT NOT NULL, expires_at INTEGER NOT NULL
   ) STRICT;
   CREATE INDEX responses_by_owner ON responses (owner, expires_at);
   CREATE INDEX responses_by_expiry ON responses (expires_at);`,
  // Of responses that were stored before, nobody knows what they were drawn from.
  'ALTER TABLE responses ADD COLUMN outside INTEGER NOT NULL DEFAULT 1;',
  conversationMigration,
  conversationItemMigration,
  (database: Database) => {
    database.exec('CREATE TABLE compaction_key (key BLOB NOT NULL) STRICT');
    database.prepare('INSERT INTO compaction_key (key) VALUES (?)').run(randomBytes(32));
  },
];

/** As long as OpenAI keeps them. */
const lifetimeMs = 30 * 24 * 60 * 60 * 1000;
/** Of each owner; the oldest go first. */
const mostKept = 500;
const mostBytes = 64 * 2 ** 20;
/** Links of `previous_response_id` that a conversation may have. */
const longestChain = 200;

export interface StoredResponse {
  id: string;
  owner: string;
  previous: string | null;
  task: string | null;
  body: ResponseBody;
  input: Item[];
  /** 1 where the answer may be drawn from text from outside. */
  outside: number;
}

interface Row extends Omit<StoredResponse, 'body' | 'input'> {
  body: string;
  input: string;
}

/** Responses that callers may come back to, each seen by its owner alone. */
export class ResponseStore {
  readonly #database: Database;
  readonly #now: () => number;
  readonly conversations: ConversationStore;
  readonly seal: CompactionSeal;
  #isClosed = false;

  constructor(path: string, now: () => number = Date.now) {
    this.#database = openDatabase(path, { migrations });
    this.#now = now;
    const { key } = this.#database.prepare<{ key: Uint8Array }>('SELECT key FROM compaction_key').get() ?? {};
    this.seal = new CompactionSeal(Buffer.from(key ?? []));
    this.conversations = new ConversationStore(this.#database, now);
    this.#endInterrupted();
  }

  /** Stores a response, in place of how it stood before. After `close` nothing is stored. */
  save(
    body: ResponseBody,
    { input, principal, isOutside }: { input: readonly Item[]; principal: Principal; isOutside: boolean },
  ): void {
    if (this.#isClosed) return;
    const owner = ownerKey(principal);
    const { id, status, previous_response_id: previous = null, task_id: task = null } = body;
    this.#database.transaction(() => {
      this.#database
        .prepare(
          `INSERT INTO responses (id, owner, previous, status, task, body, input, expires_at, outside)
           VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)
           ON CONFLICT (id) DO UPDATE SET status = excluded.status, task = excluded.task, body = excluded.body,
             outside = excluded.outside`,
        )
        .run(
          ...[id, owner, previous as string | null, status, task as string | null],
          ...[JSON.stringify(body), JSON.stringify(input), this.#now() + lifetimeMs, isOutside ? 1 : 0],
        );
      const conversation = conversationIn(body);
      if (conversation !== undefined && (status === 'completed' || status === 'incomplete'))
        this.conversations.add(conversation, [...input, ...answered({ body, outside: isOutside ? 1 : 0 })]);
      this.#makeRoom(owner);
    });
  }

  /** Undefined where there is none, it has expired, or it is somebody else's. */
  find(id: string, principal: Principal): StoredResponse | undefined {
    const found = this.#read(id);
    return found && maySee(principal, found.owner) ? found : undefined;
  }

  /**
   * The items of an id: of the named conversation, else of a stored response, else of any conversation. Callers choose
   * ids, so conversations may have different items of one id.
   */
  findItems(id: string, principal: Principal, conversation = ''): Item[] {
    const isOwn = this.conversations.find(conversation, principal) !== undefined;
    const own = isOwn ? this.conversations.item(conversation, id) : undefined;
    if (own !== undefined) return [own];
    const response = this.find(responseOfItem(id) ?? '', principal);
    const found = response && [...answered(response), ...response.input].find((item) => item.id === id);
    return found ? [found] : this.conversations.findItems(id, ownerKey(principal));
  }

  /** Everything said up to a response and by it, from the beginning. Undefined where a part of it is not there any more. */
  conversation(id: string, principal: Principal): Item[] | undefined {
    const links: Item[][] = [];
    for (let next: string | null = id; next !== null; ) {
      const response = this.find(next, principal);
      if (response === undefined || links.length >= longestChain) return undefined;
      links.push([...response.input, ...answered(response)]);
      next = response.previous;
    }
    return links.reverse().flat();
  }

  /** What items say, as messages of a chat completion; refuses those that nothing here can take. */
  messages(items: readonly Item[], principal: Principal): RequestMessage[] {
    return toMessages(items, (sealed) => this.seal.open(sealed, principal));
  }

  delete(id: string): void {
    this.#database.prepare('DELETE FROM responses WHERE id = ?').run(id);
  }

  /** Whether a task runs a response that is kept here. */
  isTask(task: string): boolean {
    return this.#database.prepare('SELECT 1 FROM responses WHERE task = ?').get(task) !== undefined;
  }

  /** What counts on a quota, of one owner or of those that share it. */
  bytesOf(quota: string): number {
    const own = storedBytes(this.#database, 'responses', ['body', 'input'], 'owner BETWEEN ?1 AND ?2', quota);
    return own + this.conversations.bytesOf(quota);
  }

  close(): void {
    this.#isClosed = true;
    this.#database.close();
  }

  #read(id: string): StoredResponse | undefined {
    const row = this.#database
      .prepare<Row>(
        'SELECT id, owner, previous, task, body, input, outside FROM responses WHERE id = ? AND expires_at > ?',
      )
      .get(id, this.#now());
    return row && { ...row, body: JSON.parse(row.body), input: JSON.parse(row.input) };
  }

  #sizes(owner: string): { id: string; bytes: number }[] {
    return this.#database
      .prepare<{ id: string; bytes: number }>(
        `SELECT id, length(body) + length(input) AS bytes FROM responses
         WHERE owner = ? ORDER BY expires_at DESC, id`,
      )
      .all(owner);
  }

  #makeRoom(owner: string): void {
    this.#database.prepare('DELETE FROM responses WHERE expires_at <= ?').run(this.#now());
    let bytes = 0;
    for (const [index, response] of this.#sizes(owner).entries()) {
      bytes += response.bytes;
      if (index > 0 && (index >= mostKept || bytes > mostBytes)) this.delete(response.id);
    }
  }

  /** What ran when the last process ended. */
  #endInterrupted(): void {
    const error = { code: 'server_error', message: 'The service was restarted before the answer was there.' };
    const running = this.#database
      .prepare<{ id: string; body: string }>(
        "SELECT id, body FROM responses WHERE status IN ('queued', 'in_progress')",
      )
      .all();
    for (const { id, body } of running) {
      const failed = { ...(JSON.parse(body) as ResponseBody), status: 'failed', error };
      this.#database
        .prepare("UPDATE responses SET status = 'failed', body = ? WHERE id = ?")
        .run(JSON.stringify(failed), id);
    }
  }
}

/** The items of an answer, marked where it may be drawn from text from outside. */
function answered({ body, outside }: Pick<StoredResponse, 'body' | 'outside'>): Item[] {
  return outside === 0 ? body.output : body.output.map((item) => ({ ...item, outside: true }));
}

/** The conversation that a response belongs to. */
export function conversationIn({ conversation }: ResponseBody): string | undefined {
  return (conversation as { id: string } | undefined)?.id;
}
