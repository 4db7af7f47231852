import { type GuardedFetch, HttpError } from '@trunkline/http';
import { SearchError } from '@trunkline/tools';
import type { FoundResult, SearchAggregator } from '../sources/search-aggregator.ts';
import type { DescribedDocument, DocumentStore } from '../store/documents.ts';
import { ExtractionError } from './extracted.ts';
import type { ExtractionPool } from './extraction-pool.ts';
import type { HostQueue } from './host-queue.ts';

/** A result as it was read, or in words why it could not be. */
export type Reading = { document: DescribedDocument } | { problem: string };

export interface ReaderDeps {
  fetch: GuardedFetch;
  pool: ExtractionPool;
  hosts: HostQueue;
  aggregator: SearchAggregator;
  documents: DocumentStore;
}

const MOST_CHARACTERS = 400_000;

/** Reads what a search found, whatever holds it, and stores the text that citations are checked against. */
export class Reader {
  readonly #deps: ReaderDeps;

  constructor(deps: ReaderDeps) {
    this.#deps = deps;
  }

  /** To be called when pages will soon be read. */
  prepare(): void {
    this.#deps.pool.warm();
  }

  async read(result: FoundResult, signal: AbortSignal): Promise<Reading> {
    try {
      const document =
        this.#stored(result) ??
        (await this.#fromSource(result, signal)) ??
        (await this.#fetched(result, signal));
      return { document };
    } catch (error) {
      signal.throwIfAborted();
      if (error instanceof HttpError || error instanceof SearchError) return { problem: error.message };
      if (error instanceof ExtractionError) return { problem: `${result.url} ${error.message}.` };
      throw error;
    }
  }

  /** A file of the user's is here already. */
  #stored({ documentId }: FoundResult): DescribedDocument | undefined {
    return documentId === undefined ? undefined : this.#deps.documents.describe(documentId);
  }

  async #fromSource(result: FoundResult, signal: AbortSignal): Promise<DescribedDocument | undefined> {
    const given = await this.#deps.aggregator.read(result, signal);
    if (given === undefined) return undefined;
    const { title, url, text } = given;
    return await this.#deps.documents.add({
      kind: 'page',
      url,
      title,
      text: text.slice(0, MOST_CHARACTERS),
      type: 'text/plain',
      bytes: Buffer.byteLength(text),
      published: result.publishedDate,
    });
  }

  async #fetched(result: FoundResult, signal: AbortSignal): Promise<DescribedDocument> {
    const { fetch, pool, hosts, documents } = this.#deps;
    const { hostname } = URL.parse(result.url) ?? {};
    // A file that was removed since it was found, or an address that a search engine garbled.
    if (hostname === undefined) throw new ExtractionError('is not there to be read');
    const response = await hosts.run(hostname, signal, () =>
      fetch(result.url, {
        signal,
        headers: { accept: 'text/html,application/xhtml+xml,application/pdf,text/plain;q=0.8,*/*;q=0.5' },
      }),
    );
    if (response.status !== 200) throw new ExtractionError(`answered with status ${response.status}`);
    const type = response.contentType || 'text/html';
    const isText = type.startsWith('text/') || /xml|json/.test(type);
    const raw = { bytes: response.body, type, name: result.title, ...(isText && { text: response.text() }) };
    const { title, text, published = result.publishedDate } = await pool.extract(raw, signal);
    return await documents.add({
      kind: 'page',
      url: response.url,
      title,
      text: text.slice(0, MOST_CHARACTERS),
      type,
      bytes: response.body.byteLength,
      published,
    });
  }
}
