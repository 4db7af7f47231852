import type { Logger } from '@trunkline/config';
import { contextWindowOf } from '@trunkline/llm';
import { compact, estimateTokens, promptBudget } from '@trunkline/loop';
import type { Database } from '@trunkline/storage';
import { newestMessages } from '../../turn/newest-messages.ts';
import type { Model, ModelMessage, ModelMessages } from '../../turn/persona.ts';

export interface HistoryDeps {
  /** Messages of earlier calls. */
  earlier: ModelMessages;
  /** Writes summaries. */
  summariser(): Model;
  /** Reads the messages. */
  model?: Model | undefined;
  /** Called after every change. */
  store(messages: ModelMessages): void;
  logger: Logger;
}

const limits = { tokens: 3000, keepMessages: 16 };
/** Many short messages are summarised too, long before the token limit. */
const manyMessages = 60;
const mostMessages = 80;

/** The messages that the model sees. When they grow, the older ones are summarised in the background. */
export class History {
  readonly #deps: HistoryDeps;
  readonly #controller = new AbortController();
  #messages: ModelMessage[];
  #summarising = false;
  #isStored = true;

  constructor(deps: HistoryDeps) {
    this.#deps = deps;
    this.#messages = [...deps.earlier];
  }

  get messages(): ModelMessages {
    return this.#messages;
  }

  add(messages: readonly ModelMessage[]): void {
    if (messages.length === 0) return;
    this.#set([...this.#messages, ...messages]);
    void this.#summariseWhenLong();
  }

  /** Messages take at most half of what the model reads at a time. */
  async #summariseWhenLong(): Promise<void> {
    const { model } = this.#deps;
    const window = model && (await contextWindowOf(model, this.#controller.signal));
    const tokens = Math.min(limits.tokens, promptBudget(window ?? Number.POSITIVE_INFINITY) / 2);
    const isLong = this.#messages.length > manyMessages || estimateTokens(this.#messages) > tokens;
    if (isLong) await this.#summarise(tokens);
  }

  /** Aborts a summary that is under way. */
  close(): void {
    this.#controller.abort();
  }

  /** Messages that are added meanwhile follow the summary. */
  async #summarise(tokens: number): Promise<void> {
    if (this.#summarising) return;
    this.#summarising = true;
    const older = new Set(this.#messages);
    const { signal } = this.#controller;
    try {
      const compacted = await compact(
        [...older],
        { model: this.#deps.summariser(), ...limits, tokens },
        signal,
      );
      if (compacted !== undefined && !signal.aborted)
        this.#set([...compacted.messages, ...this.#messages.filter((message) => !older.has(message))]);
    } catch (error) {
      if (!signal.aborted) this.#deps.logger.warn({ err: error }, 'failed to summarise conversation');
    } finally {
      this.#summarising = false;
    }
  }

  /** Without a summary the oldest messages go, and never a tool call without its result. */
  #set(messages: ModelMessage[]): void {
    this.#messages = newestMessages(messages, mostMessages);
    this.#store();
  }

  /** What cannot be stored is remembered as long as the call lasts. */
  #store(): void {
    const { store, logger } = this.#deps;
    try {
      store(this.#messages);
      this.#isStored = true;
    } catch (error) {
      if (this.#isStored) logger.error({ err: error }, 'failed to store conversation');
      this.#isStored = false;
    }
  }
}

interface HistoriesDeps extends Pick<HistoryDeps, 'summariser' | 'logger'> {
  memory: Memory;
}

interface OpenHistory {
  history: History;
  calls: number;
}

/**
 * One history for all calls of a user with a skill: a line that broke is often noticed only when the caller is back on
 * another one, and neither may overwrite what the other has stored.
 */
export class Histories {
  readonly #deps: HistoriesDeps;
  readonly #open = new Map<string, OpenHistory>();

  constructor(deps: HistoriesDeps) {
    this.#deps = deps;
  }

  /** Call `release` once, when the call is over. */
  open(userId: string, skill: string, model?: Model): { history: History; release(): void } {
    const key = JSON.stringify([userId, skill]);
    const shared = this.#open.get(key) ?? { history: this.#recall(userId, skill, model), calls: 0 };
    shared.calls += 1;
    this.#open.set(key, shared);
    return { history: shared.history, release: () => this.#release(key, shared) };
  }

  #release(key: string, shared: OpenHistory): void {
    shared.calls -= 1;
    if (shared.calls > 0) return;
    this.#open.delete(key);
    shared.history.close();
  }

  #recall(userId: string, skill: string, model: Model | undefined): History {
    const { memory, summariser, logger } = this.#deps;
    return new History({
      earlier: memory.recall(userId, skill),
      store: (messages) => memory.store(userId, skill, messages),
      summariser,
      model,
      logger,
    });
  }
}

const mostMemories = 2000;

/** The stored conversations of each user with each skill. */
export class Memory {
  readonly #database: Database;
  readonly #limitBytes: number;

  /** The limit is that of one user; 0: none. */
  constructor(database: Database, limitBytes = 0) {
    this.#database = database;
    this.#limitBytes = limitBytes;
  }

  recall(userId: string, skill: string): ModelMessage[] {
    const row = this.#database
      .prepare<{ messages: string }>('SELECT messages FROM memories WHERE user_id = ? AND skill = ?')
      .get(userId, skill);
    return row === undefined ? [] : (JSON.parse(row.messages) as ModelMessage[]);
  }

  /** Stores a conversation, and drops what is beyond the limits: first the user's own, then of whoever has most. */
  store(userId: string, skill: string, messages: readonly ModelMessage[]): void {
    this.#database
      .prepare(
        `INSERT INTO memories (user_id, skill, messages, updated_at) VALUES (?, ?, ?, ?)
         ON CONFLICT (user_id, skill) DO UPDATE SET messages = excluded.messages, updated_at = excluded.updated_at`,
      )
      .run(userId, skill, this.#fitting(messages), Date.now());
    if (this.#limitBytes > 0) this.#dropOwn(userId, skill);
    const count = this.#database.prepare<{ rows: number }>('SELECT count(*) AS rows FROM memories').get();
    const beyond = (count?.rows ?? 0) - mostMemories;
    if (beyond > 0) this.#dropOldest(beyond, userId, skill);
  }

  /** The newest messages that take no more than the limit, as JSON. */
  #fitting(messages: readonly ModelMessage[]): string {
    const text = JSON.stringify(messages);
    const isTooLong = this.#limitBytes > 0 && Buffer.byteLength(text) > this.#limitBytes;
    if (!isTooLong || messages.length === 0) return text;
    const half = Math.floor(messages.length / 2);
    return this.#fitting(half === 0 ? [] : newestMessages(messages, half));
  }

  /** The conversation that goes on stays; of the others the oldest go. */
  #dropOwn(userId: string, skill: string): void {
    this.#database
      .prepare(
        `DELETE FROM memories WHERE user_id = ?1 AND skill IN (
           SELECT skill FROM (
             SELECT skill, sum(octet_length(messages)) OVER
               (ORDER BY skill = ?2 DESC, updated_at DESC ROWS UNBOUNDED PRECEDING) AS bytes
             FROM memories WHERE user_id = ?1
           ) WHERE bytes > ?3)`,
      )
      .run(userId, skill, this.#limitBytes);
  }

  /** Whoever has many conversations loses their own, not those of others. The one that goes on stays. */
  #dropOldest(count: number, userId: string, skill: string): void {
    this.#database
      .prepare(
        `DELETE FROM memories WHERE (user_id, skill) IN (
           SELECT user_id, skill FROM memories
             JOIN (SELECT user_id AS owner, count(*) AS held FROM memories GROUP BY user_id) ON owner = user_id
             WHERE NOT (user_id = ?1 AND skill = ?2)
             ORDER BY held DESC, updated_at LIMIT ?3)`,
      )
      .run(userId, skill, count);
  }
}
