import { createHash } from 'node:crypto';
import { z } from 'zod';
import type { VectorMatch, VectorPoint, VectorStore } from './vector-store.ts';

export interface QdrantSettings {
  /** VECTOR_URL. */
  url: string;
  apiKey: string | undefined;
  collection: string;
  /** VECTOR_SIZE. */
  size: number;
}

const timeoutMs = 15_000;

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

/** A collection of a Qdrant server, by its REST API; created when it is not there. */
export class QdrantStore implements VectorStore {
  readonly #settings: QdrantSettings;
  #isThere = false;

  constructor(settings: QdrantSettings) {
    this.#settings = settings;
  }

  async put(points: readonly VectorPoint[], signal: AbortSignal): Promise<void> {
    await this.#ensure(signal);
    const body = {
      points: points.map(({ vector, ...payload }) => ({
        id: uuidOf(`${payload.source} ${payload.part}`),
        vector,
        payload,
      })),
    };
    await this.#call('PUT', '/points?wait=true', body, signal);
  }

  async trim(source: string, parts: number, signal: AbortSignal): Promise<void> {
    await this.#ensure(signal);
    const must = [
      { key: 'source', match: { value: source } },
      { key: 'part', range: { gte: parts } },
    ];
    await this.#call('POST', '/points/delete?wait=true', { filter: { must } }, signal);
  }

  async search(vector: readonly number[], limit: number, signal: AbortSignal): Promise<VectorMatch[]> {
    await this.#ensure(signal);
    const body = { query: vector, limit, with_payload: true };
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
    // Somebody removed the collection: it is made anew with the next call.
    if (response.status === 404) this.#isThere = false;
    return await readAnswer(response);
  }

  #request(method: string, path: string, body: object | undefined, signal: AbortSignal): Promise<Response> {
    const { url, apiKey, collection } = this.#settings;
    return fetch(`${url.replace(/\/+$/, '')}/collections/${encodeURIComponent(collection)}${path}`, {
      method,
      headers: { 'content-type': 'application/json', ...(apiKey !== undefined && { 'api-key': apiKey }) },
      ...(body !== undefined && { body: JSON.stringify(body) }),
      signal: AbortSignal.any([signal, AbortSignal.timeout(timeoutMs)]),
    });
  }
}

async function readAnswer(response: Response): Promise<unknown> {
  const text = await response.text();
  if (response.ok) return JSON.parse(text);
  throw new Error(
    `the vector store answered ${response.status}: ${text.slice(0, 300)} (VECTOR_URL, VECTOR_SIZE)`,
  );
}

/** Qdrant takes numbers and UUIDs as ids. */
function uuidOf(id: string): string {
  const hex = createHash('sha256').update(id).digest('hex');
  return [
    hex.slice(0, 8),
    hex.slice(8, 12),
    `5${hex.slice(13, 16)}`,
    `8${hex.slice(17, 20)}`,
    hex.slice(20, 32),
  ].join('-');
}
