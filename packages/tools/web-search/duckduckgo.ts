import type { CheerioAPI } from 'cheerio/slim';
import { engineClient } from './ask-engine.ts';
import { type SearchEngine, SearchError, type SearchResult } from './search-engine.ts';

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
      return (await resultsOf(response.status, response.text())).slice(0, limit);
    },
  };
}

async function resultsOf(status: number, html: string): Promise<SearchResult[]> {
  const { load } = await import('cheerio/slim');
  const page = load(html);
  if (page('.anomaly-modal__title, #challenge-form').length > 0) throw challenged();
  if (status === 429 || status === 403 || status === 202) throw challenged();
  if (status !== 200)
    throw new SearchError('search_unreachable', `${NAME} answered with status ${status}. Try again later.`);
  const results = page('.result')
    .toArray()
    .flatMap((element) => resultOf(page, element));
  if (results.length === 0 && page('.no-results, .result--no-result').length === 0) throw unreadable();
  return results;
}

/** Advertisements and empty rows give nothing. */
function resultOf(page: CheerioAPI, element: Parameters<CheerioAPI>[0]): SearchResult[] {
  const row = page(element as string);
  if (row.is('.result--ad, .result--no-result')) return [];
  const link = row.find('.result__a').first();
  const url = targetOf(link.attr('href') ?? '');
  if (url === undefined) return [];
  return [{ title: plain(link.text()), url, snippet: plain(row.find('.result__snippet').first().text()) }];
}

/** Links lead through a redirect that carries the real address in `uddg`. */
function targetOf(href: string): string | undefined {
  const link = URL.parse(href, 'https://duckduckgo.com');
  const target = URL.parse(link?.searchParams.get('uddg') ?? link?.href ?? '');
  if (target === null || !/^https?:$/.test(target.protocol)) return undefined;
  return target.hostname.endsWith('duckduckgo.com') && target.pathname === '/y.js' ? undefined : target.href;
}

function plain(text: string): string {
  return text.replace(/\s+/g, ' ').trim();
}

function challenged(): SearchError {
  const words = `${NAME} takes this machine for a robot and refuses to search. Wait a while, or set SEARXNG_URL to a SearXNG instance.`;
  return new SearchError('search_refused', words);
}

function unreadable(): SearchError {
  const words = `${NAME} answered with a page that holds no results and does not say that there are none.`;
  return new SearchError('search_unreadable', words);
}
