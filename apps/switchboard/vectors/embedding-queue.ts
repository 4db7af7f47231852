import { createHash } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import type { Logger } from '@trunkline/config';
import { ownerKey, type Principal } from '@trunkline/identity';
import { errorMessage, limitBody } from '@trunkline/std';
import { z } from 'zod';
import { uuidOf } from '../core/messages.ts';

const timeoutMs = 15_000;
/** Of an answer of the store: more than a search finds. */
const largestBytes = 32 * 2 ** 20;

const queryAnswer = z.object({
  result: z.object({
    points: z.array(
      z.object({
        score: z.number(),
        payload: z.object({ text: z.string(), origin: z.string(), at: z.number() }),
      }),
    ),
  }),
});

export interface Passage {
  /** The document or conversation, and the part of it. */
  source: string;
  part: number;
  /** Total parts, when an older version may have had more. */
  parts?: number;
  text: string;
  origin: string;
  at: number;
  owner: string;
}

export type Embed = (texts: readonly string[], signal?: AbortSignal) => Promise<number[][]>;

export interface QueueSettings {
  embed: Embed;
  store: Pick<QdrantStore, 'put' | 'trim'>;
  size: number;
  logger: Logger;
  pauseMs: number;
}

export interface QueueStatus {
  waiting: number;
  stored: number;
  /** Dropped after several attempts, or because too many waited. */
  lost: number;
  error: string | null;
}

const mostWaiting = 2000;
const batchSize = 32;
const attempts = 4;

/** Embeds passages in the background; counts those that fail for good. */
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

  /** Drops the oldest when too many wait. */
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
        logger.warn({ passages: batch.length, error: failure }, 'failed to embed passages');
        return;
      }
      await Promise.allSettled([
        delay(pauseMs * 4 ** (attempt - 1), undefined, { signal: this.#closing.signal }),
      ]);
    }
  }

  /** Returns why it failed. */
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

/** Vectors of another size could not be compared. */
export function checked(vector: readonly number[] | undefined, size: number): readonly number[] {
  if (vector?.length === size) return vector;
  throw new Error(
    `EMBED_MODEL gives ${vector?.length ?? 0} numbers for a text; set VECTOR_SIZE to that (it is ${size})`,
  );
}

interface VectorPoint {
  source: string;
  part: number;
  vector: readonly number[];
  text: string;
  /** The source, for a model to read. */
  origin: string;
  at: number;
  owner: string;
}

export interface VectorMatch {
  text: string;
  origin: string;
  at: number;
  /** From 0 to 1. */
  score: number;
}

interface QdrantSettings {
  /** VECTOR_URL. */
  url: string;
  apiKey: string | undefined;
  collection: string;
  /** VECTOR_SIZE. */
  size: number;
}

/** A collection of a Qdrant server; created when missing. */
export class QdrantStore {
  readonly #settings: QdrantSettings;
  #isThere = false;

  constructor(settings: QdrantSettings) {
    this.#settings = settings;
  }

  async put(points: readonly VectorPoint[], signal: AbortSignal): Promise<void> {
    await this.#ensure(signal);
    const body = {
      points: points.map(({ vector, ...payload }) => ({
        // Qdrant takes numbers and UUIDs.
        id: uuidOf(hashOf(`${payload.source} ${payload.part}`), '5', '8'),
        vector,
        payload,
      })),
    };
    await this.#call('PUT', '/points?wait=true', body, signal);
  }

  /** Removes the parts of a source from this one on, when it has become shorter. */
  async trim(source: string, parts: number, signal: AbortSignal): Promise<void> {
    await this.#ensure(signal);
    const must = [
      { key: 'source', match: { value: source } },
      { key: 'part', range: { gte: parts } },
    ];
    await this.#call('POST', '/points/delete?wait=true', { filter: { must } }, signal);
  }

  /** Points that somebody may see; those that were stored before there were owners are for everybody. */
  async search(
    vector: readonly number[],
    { limit, principal }: { limit: number; principal: Principal },
    signal: AbortSignal,
  ): Promise<VectorMatch[]> {
    await this.#ensure(signal);
    const owners = ['anonymous', ownerKey(principal)];
    const should = [{ key: 'owner', match: { any: owners } }, { is_empty: { key: 'owner' } }];
    const filter = principal.kind === 'operator' ? {} : { filter: { should } };
    const body = { query: vector, limit, with_payload: true, ...filter };
    const answer = queryAnswer.parse(await this.#call('POST', '/points/query', body, signal));
    return answer.result.points.map(({ score, payload }) => ({ ...payload, score }));
  }

  async #ensure(signal: AbortSignal): Promise<void> {
    if (this.#isThere) return;
    const found = await this.#request('GET', '', undefined, signal);
    if (found.status === 404) {
      const vectors = { size: this.#settings.size, distance: 'Cosine' };
      await this.#call('PUT', '', { vectors }, signal);
    } else await readAnswer(found);
    this.#isThere = true;
  }

  async #call(method: string, path: string, body: object, signal: AbortSignal): Promise<unknown> {
    const response = await this.#request(method, path, body, signal);
    // The collection was removed; the next call creates it.
    if (response.status === 404) this.#isThere = false;
    return await readAnswer(response);
  }

  #request(method: string, path: string, body: object | undefined, signal: AbortSignal): Promise<Response> {
    const { url, apiKey, collection } = this.#settings;
    return fetch(`${url.replace(/\/+$/, '')}/collections/${encodeURIComponent(collection)}${path}`, {
      method,
      headers: { 'content-type': 'application/json', ...(apiKey !== undefined && { 'api-key': apiKey }) },
      ...(body !== undefined && { body: JSON.stringify(body) }),
      // fetch would carry the key to any host.
      redirect: 'manual',
      signal: AbortSignal.any([signal, AbortSignal.timeout(timeoutMs)]),
    });
  }
}

async function readAnswer(response: Response): Promise<unknown> {
  const text = await limitBody(response, { maxBytes: largestBytes }).text();
  if (response.ok) return JSON.parse(text);
  throw new Error(
    `the vector store answered ${response.status}: ${text.slice(0, 300)} (VECTOR_URL, VECTOR_SIZE)`,
  );
}

function hashOf(id: string): string {
  return createHash('sha256').update(id).digest('hex');
}
