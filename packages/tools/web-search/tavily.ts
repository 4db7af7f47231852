import { url as address, text } from '@trunkline/config';
import { z } from 'zod';
import { jsonEngineClient, plainResults } from './ask-engine.ts';
import { type FilteredSearchEngine, SearchError } from './web-search.ts';

const API = 'https://api.tavily.com';

/** Settings of the services that can search with it. */
export const tavilyOptions = {
  tavilyApiKey: text({
    env: 'TAVILY_API_KEY',
    secret: true,
    doc: 'Key of the Tavily search API for web search, from app.tavily.com.',
  }),
  tavilyApiUrl: address({
    env: 'TAVILY_API_URL',
    default: API,
    doc: 'Address of the Tavily API, for a proxy in front of it.',
  }),
};

export interface TavilyOptions {
  apiKey: string;
  url?: string;
  timeoutMs?: number;
}

/** The API refuses longer queries. */
const MOST_CHARACTERS = 400;
const MOST_RESULTS = 20;

const answerSchema = z.object({
  results: z.array(
    z.object({
      title: z.string().nullish(),
      url: z.string(),
      content: z.string().nullish(),
      published_date: z.string().nullish(),
    }),
  ),
});

const REFUSALS = {
  401: 'does not take the key: check TAVILY_API_KEY.',
  403: 'does not take the key: check TAVILY_API_KEY.',
  429: 'limits how often it is asked (status 429).',
  432: 'has answered all queries that your plan includes (status 432). Change the plan, or wait until it begins again.',
  433: 'has reached the pay-as-you-go limit of your plan (status 433). Raise it, or wait until it begins again.',
};

/** Searches through the Tavily API. */
export function createTavily({ apiKey, url = API, timeoutMs = 15_000 }: TavilyOptions): FilteredSearchEngine {
  const name = 'Tavily';
  const unreadable = `${name} did not answer in JSON with search results. Check that TAVILY_API_URL names its API.`;
  const ask = jsonEngineClient({
    name,
    url,
    timeoutMs,
    advice: 'Check the network, and TAVILY_API_URL if you set it.',
    headers: { authorization: `Bearer ${apiKey}`, 'content-type': 'application/json' },
    refusals: REFUSALS,
    unreadable,
  });
  return {
    async search(query, limit, signal, { categories, timeRange } = {}) {
      const place = new URL('search', url.endsWith('/') ? url : `${url}/`);
      const body = {
        query: query.slice(0, MOST_CHARACTERS),
        max_results: Math.min(limit, MOST_RESULTS),
        search_depth: 'basic',
        topic: categories === 'news' ? 'news' : 'general',
        ...(timeRange !== undefined && { time_range: timeRange }),
      };
      const parsed = answerSchema.safeParse(
        await ask(place, signal, { method: 'POST', body: JSON.stringify(body) }),
      );
      if (!parsed.success) throw new SearchError('search_unreadable', unreadable);
      const found = parsed.data.results.map(({ title, url: link, content, published_date }) => ({
        title,
        url: link,
        snippet: content,
        publishedDate: published_date,
      }));
      return await plainResults(found.slice(0, limit), signal);
    },
  };
}
