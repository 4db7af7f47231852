import { setTimeout as delay } from 'node:timers/promises';
import type { Logger } from '@trunkline/config';
import { errorMessage } from '@trunkline/std';
import type { VectorStore } from './vector-store.ts';

/** A text that is to be found again. */
export interface Passage {
  /** What it is a part of, and which. */
  source: string;
  part: number;
  /** How many parts there are, where an older version may have had more. */
  parts?: number;
  text: string;
  origin: string;
  at: number;
}

export type Embed = (texts: readonly string[], signal?: AbortSignal) => Promise<number[][]>;

export interface QueueSettings {
  embed: Embed;
  store: VectorStore;
  /** VECTOR_SIZE. */
  size: number;
  logger: Logger;
  /** The first pause before another attempt. */
  pauseMs: number;
}

export interface QueueStatus {
  waiting: number;
  stored: number;
  /** Given up after several attempts, or because too many were waiting. */
  lost: number;
  error: string | null;
}

const mostWaiting = 2000;
const batchSize = 32;
const attempts = 4;

/** Gives passages their vectors in the background: nobody waits for it, and what fails for good is counted. */
export class EmbeddingQueue {
  readonly #settings: QueueSettings;
  readonly #waiting: Passage[] = [];
  readonly #closing = new AbortController();
  #running: Promise<void> | undefined;
  #stored = 0;
  #lost = 0;
  #error: string | null = null;

  constructor(settings: QueueSettings) {
    this.#settings = settings;
  }

  /** When too many wait, the oldest is given up. */
  add(passages: readonly Passage[]): void {
    if (this.#closing.signal.aborted) return;
    this.#waiting.push(...passages);
    const over = this.#waiting.length - mostWaiting;
    if (over > 0) {
      this.#waiting.splice(0, over);
      this.#lost += over;
    }
    this.#running ??= this.#run().finally(() => {
      this.#running = undefined;
    });
  }

  status(): QueueStatus {
    return { waiting: this.#waiting.length, stored: this.#stored, lost: this.#lost, error: this.#error };
  }

  async close(): Promise<void> {
    this.#closing.abort();
    await this.#running;
  }

  async #run(): Promise<void> {
    while (this.#waiting.length > 0 && !this.#closing.signal.aborted)
      await this.#insist(this.#waiting.splice(0, batchSize));
  }

  async #insist(batch: readonly Passage[]): Promise<void> {
    const { logger, pauseMs } = this.#settings;
    for (let attempt = 1; ; attempt++) {
      const failure = await this.#tryOnce(batch);
      if (failure === undefined || this.#closing.signal.aborted) return;
      this.#error = failure;
      if (attempt >= attempts) {
        this.#lost += batch.length;
        logger.warn({ passages: batch.length }, `passages got no vector: ${failure}`);
        return;
      }
      await Promise.allSettled([
        delay(pauseMs * 4 ** (attempt - 1), undefined, { signal: this.#closing.signal }),
      ]);
    }
  }

  /** Words when it failed. */
  async #tryOnce(batch: readonly Passage[]): Promise<string | undefined> {
    const { embed, store, size } = this.#settings;
    const { signal } = this.#closing;
    try {
      const vectors = await embed(
        batch.map(({ text }) => text),
        signal,
      );
      const points = batch.map(({ parts: _, ...passage }, index) => ({
        ...passage,
        vector: checked(vectors[index], size),
      }));
      await store.put(points, signal);
      for (const { source, part, parts } of batch)
        if (part + 1 === parts) await store.trim(source, parts, signal);
      this.#stored += batch.length;
      this.#error = null;
      return undefined;
    } catch (error) {
      return errorMessage(error);
    }
  }
}

/** A model of another size would fill the store with what cannot be compared. */
export function checked(vector: readonly number[] | undefined, size: number): readonly number[] {
  if (vector?.length === size) return vector;
  throw new Error(
    `EMBED_MODEL gives ${vector?.length ?? 0} numbers for a text; set VECTOR_SIZE to that (it is ${size})`,
  );
}
