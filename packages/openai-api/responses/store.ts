import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto';
import { maySee, ownerKey, type Principal } from '@trunkline/identity';
import { type Database, openDatabase, storedBytes } from '@trunkline/storage';
import type { RequestMessage } from '../request.ts';
import {
  type ConversationChange,
  ConversationStore,
  conversationItemMigration,
  conversationMigration,
} from './conversation-store.ts';
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
  'ALTER TABLE responses ADD COLUMN elsewhere INTEGER NOT NULL DEFAULT 0;',
  'CREATE TABLE deleted_responses (id TEXT PRIMARY KEY, expires_at INTEGER NOT NULL) STRICT, WITHOUT ROWID;',
];

/** As long as OpenAI keeps them. */
const lifetimeMs = 30 * 24 * 60 * 60 * 1000;
/** Of each owner; the oldest go first. */
const mostKept = 500;
const mostBytes = 64 * 2 ** 20;
/** How long a deleted response is remembered: services that share it may still tell of it. */
const deletedMs = 24 * 60 * 60 * 1000;
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

/** A change of what is stored, for other services that share it. */
export type ResponseEntry =
  | { type: 'response'; row: Omit<StoredResponse, 'outside'> & { outside: boolean } }
  | { type: 'deleted'; id: string }
  | { type: 'conversation'; change: ConversationChange };

type WriteListener = (entry: ResponseEntry) => Promise<void>;

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
  #onWrite: WriteListener | undefined;
  /** Responses that the last process left unfinished, until somebody is told that they have ended. */
  #interrupted: readonly string[];
  #isClosed = false;

  constructor(path: string, now: () => number = Date.now) {
    this.#database = openDatabase(path, { migrations });
    this.#now = now;
    const { key } = this.#database.prepare<{ key: Uint8Array }>('SELECT key FROM compaction_key').get() ?? {};
    this.seal = new CompactionSeal(Buffer.from(key ?? []));
    this.conversations = new ConversationStore(this.#database, now, (change) => {
      void this.#onWrite?.({ type: 'conversation', change });
    });
    this.#interrupted = this.#endInterrupted();
  }

  /** Called with each change that is made here, until the function it gives is called. */
  onWrite(listener: WriteListener): () => void {
    this.#onWrite = listener;
    for (const id of this.#interrupted) this.#tell(id);
    this.#interrupted = [];
    return () => {
      this.#onWrite = undefined;
    };
  }

  /** Makes a change that another service that shares the responses has made. */
  take(entry: ResponseEntry): void {
    if (this.#isClosed) return;
    if (entry.type === 'conversation') this.conversations.take(entry.change);
    else if (entry.type === 'deleted') this.#deleteForGood(entry.id);
    else this.#write(entry.row, true);
  }

  /** Resolves when those who share it can read it. In place of how it stood before; after `close` nothing is stored. */
  save(
    body: ResponseBody,
    { input, principal, isOutside }: { input: readonly Item[]; principal: Principal; isOutside: boolean },
  ): Promise<void> {
    if (this.#isClosed) return Promise.resolve();
    const { id, status, previous_response_id, task_id } = body;
    const previous = (previous_response_id as string | null | undefined) ?? null;
    const task = (task_id as string | null | undefined) ?? null;
    const row = {
      id,
      owner: ownerKey(principal),
      previous,
      task,
      body,
      input: [...input],
      outside: isOutside,
    };
    this.#database.transaction(() => {
      this.#write(row, false);
      const conversation = conversationIn(body);
      if (conversation !== undefined && (status === 'completed' || status === 'incomplete'))
        this.conversations.add(conversation, [...input, ...answered({ body, outside: isOutside ? 1 : 0 })]);
    });
    return this.#onWrite?.({ type: 'response', row }) ?? Promise.resolve();
  }

  /** What has ended or was deleted stays so: word of how it stood before may come late. */
  #write(row: Extract<ResponseEntry, { type: 'response' }>['row'], isElsewhere: boolean): void {
    const { id, owner, previous, task, body, input, outside } = row;
    this.#database.transaction(() => {
      const standing = this.#read(id)?.body;
      if (this.#isDeleted(id) || (standing && !replaces(body, standing))) return;
      this.#database
        .prepare(
          `INSERT INTO responses (id, owner, previous, status, task, body, input, expires_at, outside, elsewhere)
           VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
           ON CONFLICT (id) DO UPDATE SET status = excluded.status, task = excluded.task, body = excluded.body,
             outside = excluded.outside`,
        )
        .run(
          ...[id, owner, previous, body.status, task, JSON.stringify(body), JSON.stringify(input)],
          ...[this.#now() + lifetimeMs, outside ? 1 : 0, isElsewhere ? 1 : 0],
        );
      this.#makeRoom(owner);
    });
  }

  /** Ends a response that no process here makes: it was cut off, or cancelled where it does not run. */
  end(id: string, status: 'failed' | 'cancelled'): void {
    const found = this.#read(id);
    if (found === undefined || !isRunning(found.body)) return;
    const body = { ...found.body, status, ...(status === 'failed' && { error: interrupted }) };
    this.#write({ ...found, body, outside: found.outside === 1 }, false);
    this.#tell(id);
  }

  #tell(id: string): void {
    const found = this.#read(id);
    if (found === undefined) return;
    void this.#onWrite?.({ type: 'response', row: { ...found, outside: found.outside === 1 } });
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
    this.#deleteForGood(id);
    void this.#onWrite?.({ type: 'deleted', id });
  }

  #deleteForGood(id: string): void {
    this.#database.transaction(() => {
      this.#delete(id);
      this.#database.prepare('DELETE FROM deleted_responses WHERE expires_at <= ?').run(this.#now());
      this.#database
        .prepare('INSERT OR REPLACE INTO deleted_responses (id, expires_at) VALUES (?, ?)')
        .run(id, this.#now() + deletedMs);
    });
  }

  #isDeleted(id: string): boolean {
    return this.#database.prepare('SELECT 1 FROM deleted_responses WHERE id = ?').get(id) !== undefined;
  }

  #delete(id: string): void {
    this.#database.prepare('DELETE FROM responses WHERE id = ?').run(id);
  }

  /** The response that a task runs, if it is kept here. */
  ofTask(task: string): string | undefined {
    return this.#database.prepare<{ id: string }>('SELECT id FROM responses WHERE task = ?').get(task)?.id;
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
      if (index > 0 && (index >= mostKept || bytes > mostBytes)) this.#delete(response.id);
    }
  }

  /** What ran when the last process ended. */
  #endInterrupted(): string[] {
    const running = this.#database
      .prepare<{ id: string; body: string }>(
        "SELECT id, body FROM responses WHERE status IN ('queued', 'in_progress') AND elsewhere = 0",
      )
      .all();
    for (const { id, body } of running) {
      const failed = { ...(JSON.parse(body) as ResponseBody), status: 'failed', error: interrupted };
      this.#database
        .prepare("UPDATE responses SET status = 'failed', body = ? WHERE id = ?")
        .run(JSON.stringify(failed), id);
    }
    return running.map(({ id }) => id);
  }
}

const interrupted = {
  code: 'server_error',
  message: 'The service was restarted before the answer was there.',
};

/** Whether the answer is still being made, here or elsewhere. */
export function isRunning({ status }: Pick<ResponseBody, 'status'>): boolean {
  return status === 'queued' || status === 'in_progress';
}

/** Each takes the place of those before it. */
const statuses = ['queued', 'in_progress', 'failed', 'incomplete', 'completed', 'cancelled'];

/**
 * Whether a body takes the place of the one that stands. Two services may end a response at once, and each gets the
 * other's end after its own: both choose the same one. Of two alike it is the longer, as only its maker has all the output.
 */
function replaces(body: ResponseBody, standing: ResponseBody): boolean {
  const [next, now] = [statuses.indexOf(body.status), statuses.indexOf(standing.status)];
  if (next !== now) return next > now;
  const [text, standingText] = [JSON.stringify(body), JSON.stringify(standing)];
  return text.length === standingText.length ? text > standingText : text.length > standingText.length;
}

/** The items of an answer, marked where it may be drawn from text from outside. */
function answered({ body, outside }: Pick<StoredResponse, 'body' | 'outside'>): Item[] {
  return outside === 0 ? body.output : body.output.map((item) => ({ ...item, outside: true }));
}

/** The conversation that a response belongs to. */
export function conversationIn({ conversation }: ResponseBody): string | undefined {
  return (conversation as { id: string } | undefined)?.id;
}

/** A summary as it is sealed into an item. */
interface Summary {
  text: string;
  /** Whether it may be drawn from text from outside. */
  outside: boolean;
}

const cipher = 'aes-256-gcm';
const [nonceBytes, tagBytes] = [12, 16];

/**
 * Summaries as clients keep them and hand them back. They are sealed, as OpenAI's are: so nobody takes the mark of outside
 * text off, and only their owner can use them.
 */
class CompactionSeal {
  readonly #key: Buffer;

  constructor(key: Buffer) {
    this.#key = key;
  }

  seal(summary: Summary, principal: Principal): string {
    const nonce = randomBytes(nonceBytes);
    const sealing = createCipheriv(cipher, this.#key, nonce).setAAD(Buffer.from(ownerKey(principal)));
    const sealed = Buffer.concat([sealing.update(JSON.stringify(summary)), sealing.final()]);
    return Buffer.concat([nonce, sealing.getAuthTag(), sealed]).toString('base64url');
  }

  /** Undefined where it was not sealed here, or for somebody else. */
  open(sealed: string, principal: Principal): Summary | undefined {
    const bytes = Buffer.from(sealed, 'base64url');
    if (bytes.length <= nonceBytes + tagBytes) return undefined;
    const opening = createDecipheriv(cipher, this.#key, bytes.subarray(0, nonceBytes))
      .setAAD(Buffer.from(ownerKey(principal)))
      .setAuthTag(bytes.subarray(nonceBytes, nonceBytes + tagBytes));
    try {
      const text = opening.update(bytes.subarray(nonceBytes + tagBytes), undefined, 'utf8');
      return JSON.parse(text + opening.final('utf8')) as Summary;
    } catch {
      // The tag does not fit.
      return undefined;
    }
  }
}
