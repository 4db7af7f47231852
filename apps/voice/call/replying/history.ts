import type { Logger } from '@trunkline/config';
import { compact, estimateTokens } from '@trunkline/loop';
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
