import { ParserError } from '@trunkline/documents';
import { engineClient } from './ask-engine.ts';
import { parsePage } from './parse-page.ts';
import { type SearchEngine, SearchError, type SearchResult } from './web-search.ts';

export interface DuckDuckGoOptions {
  /** Address of the HTML endpoint. */
  url?: string;
  timeoutMs?: number;
}

const NAME = 'DuckDuckGo';
const ADVICE = 'Check the network, or set SEARXNG_URL to a search service that this machine reaches.';

/** Searches without a key through DuckDuckGo's page for browsers without scripts. */
export function createDuckDuckGo(options: DuckDuckGoOptions = {}): SearchEngine {
  const { url = 'https://html.duckduckgo.com/html/', timeoutMs = 15_000 } = options;
  const ask = engineClient({ name: NAME, url, timeoutMs, advice: ADVICE });
  return {
    async search(query, limit, signal) {
      const response = await ask(new URL(url), {
        method: 'POST',
        headers: { 'content-type': 'application/x-www-form-urlencoded', accept: 'text/html' },
        body: new URLSearchParams({ q: query, kl: 'wt-wt' }).toString(),
        signal,
      });
      return (await resultsOf(response.status, response.text(), signal)).slice(0, limit);
    },
  };
}

async function resultsOf(status: number, html: string, signal: AbortSignal): Promise<SearchResult[]> {
  const page = await parsePage('duckDuckGo', html, signal).catch((error: unknown) => {
    if (error instanceof ParserError) throw unreadable(error);
    throw error;
  });
  if (page.isChallenge || status === 429 || status === 403 || status === 202) throw challenged();
  if (status !== 200)
    throw new SearchError('search_unreachable', `${NAME} answered with status ${status}. Try again later.`);
  if (page.results.length === 0 && !page.saysNone) throw unreadable();
  return page.results;
}

function challenged(): SearchError {
  const words = `${NAME} takes this machine for a robot and refuses to search. Wait a while, or set SEARXNG_URL to a SearXNG instance.`;
  return new SearchError('search_refused', words);
}

function unreadable(cause?: unknown): SearchError {
  const words = `${NAME} answered with a page that holds no results and does not say that there are none.`;
  return new SearchError('search_unreadable', words, { cause });
}
