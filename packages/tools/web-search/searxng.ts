import { z } from 'zod';
import { engineClient } from './ask-engine.ts';
import { type SearchEngine, SearchError, type SearchResult } from './search-engine.ts';

export interface SearxngOptions {
  /** Base address of the instance. */
  url: string;
  timeoutMs?: number;
}

const answer = z.object({
  results: z.array(
    z.object({ title: z.string().nullish(), url: z.string(), content: z.string().nullish() }).loose(),
  ),
});

/** Searches through a SearXNG instance of the operator's. */
export function createSearxng({ url, timeoutMs = 15_000 }: SearxngOptions): SearchEngine {
  const ask = engineClient({ name: `SearXNG at ${url}`, url, timeoutMs });
  return {
    async search(query, limit, signal) {
      const response = await ask(searchAddress(url, query), {
        signal,
        headers: { accept: 'application/json' },
      });
      if (response.status !== 200) throw refused(url, response.status);
      return resultsOf(url, response.text()).slice(0, limit);
    },
  };
}

function searchAddress(url: string, query: string): URL {
  const address = new URL('search', url.endsWith('/') ? url : `${url}/`);
  address.search = new URLSearchParams({ q: query, format: 'json' }).toString();
  return address;
}

function resultsOf(url: string, text: string): SearchResult[] {
  const parsed = answer.safeParse(parseJson(url, text));
  if (!parsed.success) throw unreadable(url);
  return parsed.data.results.map((result) => ({
    title: (result.title ?? '').trim() || result.url,
    url: result.url,
    snippet: (result.content ?? '').replace(/\s+/g, ' ').trim(),
  }));
}

function parseJson(url: string, text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    throw unreadable(url, error);
  }
}

function refused(url: string, status: number): SearchError {
  if (status === 403) {
    const words = `SearXNG at ${url} refuses JSON answers: add json to search.formats in its settings.`;
    return new SearchError('search_refused', words);
  }
  if (status === 429)
    return new SearchError(
      'search_refused',
      `SearXNG at ${url} limits how often it is asked. Try again later.`,
    );
  return new SearchError('search_unreachable', `SearXNG at ${url} answered with status ${status}.`);
}

function unreadable(url: string, cause?: unknown): SearchError {
  const words = `SearXNG at ${url} did not answer with search results. Check SEARXNG_URL.`;
  return new SearchError('search_unreadable', words, { cause });
}
