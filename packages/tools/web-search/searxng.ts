import { url as address, text } from '@trunkline/config';
import { z } from 'zod';
import { jsonEngineClient } from './ask-engine.ts';
import {
  type DatedResult,
  type FilteredSearchEngine,
  SearchError,
  type SearchFilters,
} from './web-search.ts';

/** Settings of the services that can search with it. */
export const searxngOptions = {
  searxngUrl: address({
    env: 'SEARXNG_URL',
    doc: 'Address of your SearXNG server for web search. Its settings.yml must list json under search.formats.',
    defaultDoc: 'web search with BRAVE_API_KEY or TAVILY_API_KEY, else without a key',
  }),
  searxngBasicAuth: text({
    env: 'SEARXNG_BASIC_AUTH',
    secret: true,
    doc: 'User and password for SEARXNG_URL, if it asks for them.',
    check: (given) => given.includes(':'),
    expected: 'user:password',
  }),
};

export interface SearxngOptions {
  /** Base address of the instance. */
  url: string;
  timeoutMs?: number;
  /** User and password in front of it, as user:password. */
  basicAuth?: string | undefined;
}

interface SearxngResult extends DatedResult {
  engines?: string[];
}

export interface SearxngEngine extends FilteredSearchEngine {
  search(
    query: string,
    limit: number,
    signal: AbortSignal,
    filters?: SearchFilters,
  ): Promise<SearxngResult[]>;
  /** Fails when the instance does not answer. */
  probe(signal: AbortSignal): Promise<void>;
}

const answerSchema = z.object({
  results: z.array(
    z.object({
      url: z.string(),
      title: z.string().nullish(),
      content: z.string().nullish(),
      engines: z.array(z.string()).nullish(),
      publishedDate: z.string().nullish(),
    }),
  ),
  unresponsive_engines: z.array(z.array(z.unknown())).nullish(),
});

const ADVICE = 'Check that it runs and that SEARXNG_URL names it.';

const REFUSALS: Record<number, string> = {
  401: 'asks for a password (status 401): set SEARXNG_BASIC_AUTH to user:password.',
  403: 'refuses JSON answers (status 403): add json to search.formats in its settings.yml.',
  429: 'limits how often it is asked (status 429). Wait a while, or raise the limit of its bot detection.',
};

/** Searches through the JSON API of a SearXNG instance of the operator's. */
export function createSearxng({ url, timeoutMs = 15_000, basicAuth }: SearxngOptions): SearxngEngine {
  const name = `SearXNG at ${shown(url)}`;
  const base = url.endsWith('/') ? url : `${url}/`;
  const unreadable = `${name} did not answer in JSON with search results. Check that SEARXNG_URL names it and not a page in front of it.`;
  const headers = passwordHeader(basicAuth);
  const ask = jsonEngineClient({
    name,
    url,
    timeoutMs,
    advice: ADVICE,
    headers,
    refusals: REFUSALS,
    unreadable,
  });
  return {
    async search(query, limit, signal, filters = {}) {
      return resultsOf(name, unreadable, await ask(searchAddress(base, query, filters), signal)).slice(
        0,
        limit,
      );
    },
    async probe(signal) {
      await ask(new URL('config', base), signal);
    },
  };
}

function passwordHeader(basicAuth: string | undefined): Record<string, string> {
  if (basicAuth === undefined) return {};
  return { authorization: `Basic ${Buffer.from(basicAuth).toString('base64')}` };
}

function searchAddress(base: string, query: string, { categories, timeRange }: SearchFilters): URL {
  const address = new URL('search', base);
  const fields = {
    q: query,
    format: 'json',
    pageno: '1',
    ...(categories !== undefined && { categories }),
    ...(timeRange !== undefined && { time_range: timeRange }),
  };
  address.search = new URLSearchParams(fields).toString();
  return address;
}

function resultsOf(name: string, unreadable: string, body: unknown): SearxngResult[] {
  const parsed = answerSchema.safeParse(body);
  if (!parsed.success) throw new SearchError('search_unreadable', unreadable);
  const { results, unresponsive_engines } = parsed.data;
  if (results.length === 0 && unresponsive_engines && unresponsive_engines.length > 0) {
    const words = `${name} gave no results because its engines do not respond: ${engineWords(unresponsive_engines)}.`;
    throw new SearchError('search_unreachable', words);
  }
  return results.filter(({ url }) => /^https?:\/\//.test(url)).map(toResult);
}

function engineWords(engines: readonly unknown[][]): string {
  return engines.map(([engine, reason]) => `${String(engine)} (${String(reason)})`).join(', ');
}

function toResult({
  url,
  title,
  content,
  engines,
  publishedDate,
}: z.infer<typeof answerSchema>['results'][number]): SearxngResult {
  return {
    title: (title ?? '').trim() || url,
    url,
    snippet: (content ?? '').replace(/\s+/g, ' ').trim(),
    ...(engines && engines.length > 0 && { engines }),
    ...(publishedDate && { publishedDate }),
  };
}

/** The address without a password that may stand in it. */
function shown(url: string): string {
  const { origin, pathname } = new URL(url);
  return `${origin}${pathname}`.replace(/\/$/, '');
}
