import type { Logger } from '@trunkline/config';
import { compact, estimateTokens } from '@trunkline/loop';
import type { Database } from '@trunkline/storage';
import type { Model } from '../../turn/model-settings.ts';
import type { ModelMessage, ModelMessages } from '../../turn/run-persona.ts';

export interface HistoryDeps {
  /** What is known from earlier calls. */
  earlier: ModelMessages;
  /** Writes summaries. */
  summariser(): Model;
  /** Called after every change. */
  keep(messages: ModelMessages): void;
  logger: Logger;
}

const limits = { tokens: 3000, keepMessages: 16 };
/** Short sentences fill a conversation long before its tokens do: from here on it is summarised too. */
const manyMessages = 60;
const mostMessages = 80;

/** The conversation as the model is shown it. When it grows, its older part is put into a summary in the background. */
export class History {
  readonly #deps: HistoryDeps;
  readonly #controller = new AbortController();
  #messages: ModelMessage[];
  #summarising = false;
  #isKept = true;

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
    if (this.#isLong) void this.#summarise();
  }

  get #isLong(): boolean {
    return this.#messages.length > manyMessages || estimateTokens(this.#messages) > limits.tokens;
  }

  /** No summary is waited for any longer. */
  close(): void {
    this.#controller.abort();
  }

  /** What is added meanwhile stays behind the summary. */
  async #summarise(): Promise<void> {
    if (this.#summarising) return;
    this.#summarising = true;
    const older = new Set(this.#messages);
    const { signal } = this.#controller;
    try {
      const compacted = await compact([...older], { model: this.#deps.summariser(), ...limits }, signal);
      if (compacted !== undefined && !signal.aborted)
        this.#set([...compacted.messages, ...this.#messages.filter((message) => !older.has(message))]);
    } catch (error) {
      if (!signal.aborted) this.#deps.logger.warn({ err: error }, 'a conversation was not summarised');
    } finally {
      this.#summarising = false;
    }
  }

  /** Should no summary ever come, the oldest messages go; no result of a tool stands without its call. */
  #set(messages: ModelMessage[]): void {
    const newest = messages.slice(-mostMessages);
    const start = newest.length < messages.length ? newest.findIndex(({ role }) => role === 'user') : 0;
    this.#messages = newest.slice(Math.max(0, start));
    this.#keep();
  }

  /** What cannot be written down is remembered as long as the call lasts. */
  #keep(): void {
    const { keep, logger } = this.#deps;
    try {
      keep(this.#messages);
      this.#isKept = true;
    } catch (error) {
      if (this.#isKept) logger.error({ err: error }, 'a conversation was not kept');
      this.#isKept = false;
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
 * another one, and neither may write over what the other has kept.
 */
export class Histories {
  readonly #deps: HistoriesDeps;
  readonly #open = new Map<string, OpenHistory>();

  constructor(deps: HistoriesDeps) {
    this.#deps = deps;
  }

  /** For one call; `release` is to be called once, when it is over. */
  open(userId: string, skill: string): { history: History; release(): void } {
    const key = JSON.stringify([userId, skill]);
    const shared = this.#open.get(key) ?? { history: this.#recall(userId, skill), calls: 0 };
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

  #recall(userId: string, skill: string): History {
    const { memory, summariser, logger } = this.#deps;
    return new History({
      earlier: memory.recall(userId, skill),
      keep: (messages) => memory.keep(userId, skill, messages),
      summariser,
      logger,
    });
  }
}

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
