import { setTimeout as delay } from 'node:timers/promises';
import { ExtractionError, type ExtractionPool } from '@trunkline/documents';
import { type GuardedFetch, HttpError } from '@trunkline/http';
import { ConcurrencyLimiter } from '@trunkline/std';
import { SearchError } from '@trunkline/tools';
import type { FoundResult, SearchAggregator } from '../sources/search-aggregator.ts';
import type { DescribedDocument, DocumentStore } from '../store/documents.ts';

const MOST_HOSTS = 2000;

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

  async read(result: FoundResult, owner: string, signal: AbortSignal): Promise<Reading> {
    try {
      const document =
        this.#stored(result) ??
        (await this.#fromSource(result, owner, signal)) ??
        (await this.#fetched(result, owner, signal));
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

  async #fromSource(
    result: FoundResult,
    owner: string,
    signal: AbortSignal,
  ): Promise<DescribedDocument | undefined> {
    const given = await this.#deps.aggregator.read(result, signal);
    if (given === undefined) return undefined;
    const { title, url, text, mainLength, isWhole = true } = given;
    return await this.#deps.documents.add({
      owner,
      kind: 'page',
      url,
      title,
      text: text.slice(0, MOST_CHARACTERS),
      ...(mainLength !== undefined && { mainLength }),
      isWhole: isWhole && text.length <= MOST_CHARACTERS,
      type: 'text/plain',
      bytes: Buffer.byteLength(text),
      published: result.publishedDate,
    });
  }

  async #fetched(result: FoundResult, owner: string, signal: AbortSignal): Promise<DescribedDocument> {
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
    const type = response.contentType;
    const charset = /charset\s*=\s*["']?([\w.:-]+)/i.exec(response.headers.get('content-type') ?? '')?.[1];
    const raw = {
      bytes: response.body,
      type,
      charset,
      name: result.title,
      address: response.url,
      isCut: response.truncated,
    };
    const read = await pool.extract(raw, { signal, owner, isFromWeb: true });
    const { title, text, mainLength, published = result.publishedDate } = read;
    return await documents.add({
      owner,
      kind: 'page',
      url: response.url,
      title,
      text: text.slice(0, MOST_CHARACTERS),
      mainLength,
      isWhole: read.isWhole && text.length <= MOST_CHARACTERS,
      hidden: read.hidden,
      type: type || 'text/html',
      bytes: response.body.byteLength,
      published,
    });
  }
}

interface HostQueueOptions {
  /** Requests to one host at once. */
  perHost: number;
  /** Milliseconds between the starts of two requests to one host. */
  pauseMs: number;
  /** Requests to all hosts together. */
  total: number;
  /** Waits that many milliseconds; the system's timer when not given. */
  wait?: (milliseconds: number, signal: AbortSignal) => Promise<unknown>;
}

interface Host {
  limiter: ConcurrencyLimiter;
  /** By the clock that is never set. */
  nextStart: number;
}

/** Keeps the number and pace of requests to each host polite. */
export class HostQueue {
  readonly #options: HostQueueOptions;
  readonly #hosts = new Map<string, Host>();
  readonly #all: ConcurrencyLimiter;

  constructor(options: HostQueueOptions) {
    this.#options = options;
    this.#all = new ConcurrencyLimiter({ limit: options.total });
  }

  run<Value>(name: string, signal: AbortSignal, work: () => Promise<Value>): Promise<Value> {
    const host = this.#host(name);
    return host.limiter.run(
      async () => {
        await this.#pace(host, signal);
        return await this.#all.run(work, { signal });
      },
      { signal },
    );
  }

  #host(name: string): Host {
    const host = this.#hosts.get(name) ?? {
      limiter: new ConcurrencyLimiter({ limit: this.#options.perHost }),
      nextStart: 0,
    };
    this.#hosts.set(name, host);
    if (this.#hosts.size > MOST_HOSTS) this.#forgetIdle(name);
    return host;
  }

  #forgetIdle(except: string): void {
    for (const [name, { limiter, nextStart }] of this.#hosts)
      if (name !== except && limiter.isIdle && performance.now() >= nextStart) this.#hosts.delete(name);
  }

  async #pace(host: Host, signal: AbortSignal): Promise<void> {
    const now = performance.now();
    const start = Math.max(now, host.nextStart);
    host.nextStart = start + this.#options.pauseMs;
    if (start > now) await (this.#options.wait ?? sleep)(start - now, signal);
  }
}

function sleep(milliseconds: number, signal: AbortSignal): Promise<unknown> {
  return delay(milliseconds, undefined, { signal });
}
