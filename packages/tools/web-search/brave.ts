import { url as address, text } from '@trunkline/config';
import { z } from 'zod';
import { jsonEngineClient, plainResults } from './ask-engine.ts';
import { type FilteredSearchEngine, SearchError } from './web-search.ts';

const API = 'https://api.search.brave.com/res/v1';

/** Settings of the services that can search with it. */
export const braveOptions = {
  braveApiKey: text({
    env: 'BRAVE_API_KEY',
    secret: true,
    doc: 'Key of the Brave Search API for web search, from api-dashboard.search.brave.com.',
  }),
  braveApiUrl: address({
    env: 'BRAVE_API_URL',
    default: API,
    doc: 'Address of the Brave Search API, for a proxy in front of it.',
  }),
};

export interface BraveOptions {
  apiKey: string;
  url?: string;
  timeoutMs?: number;
}

/** The API refuses longer queries. */
const MOST_CHARACTERS = 400;
const MOST_WORDS = 50;
const MOST_RESULTS = 20;
const FRESHNESS = { day: 'pd', month: 'pm', year: 'py' } as const;

const answerSchema = z.object({
  // Left out where nothing was found.
  web: z
    .object({
      results: z.array(
        z.object({
          title: z.string().nullish(),
          url: z.string(),
          description: z.string().nullish(),
          page_age: z.string().nullish(),
        }),
      ),
    })
    .nullish(),
});

const badKey = 'does not take the key: check BRAVE_API_KEY.';

const REFUSALS = {
  401: badKey,
  403: badKey,
  404: 'has no subscription for this key: check BRAVE_API_KEY.',
  // A wrong key and a wrong query have the same status.
  422: (answer: string) => (answer.includes('SUBSCRIPTION_TOKEN') ? badKey : undefined),
  429: (answer: string) =>
    answer.includes('QUOTA_LIMITED')
      ? 'has answered all queries that your plan includes (status 429). Change the plan, or wait until it begins again.'
      : 'limits how often it is asked (status 429).',
};

/** Searches through the Brave Search API. */
export function createBrave({ apiKey, url = API, timeoutMs = 15_000 }: BraveOptions): FilteredSearchEngine {
  const name = 'Brave Search';
  const unreadable = `${name} did not answer in JSON with search results. Check that BRAVE_API_URL names its API.`;
  const ask = jsonEngineClient({
    name,
    url,
    timeoutMs,
    advice: 'Check the network, and BRAVE_API_URL if you set it.',
    headers: { 'x-subscription-token': apiKey },
    refusals: REFUSALS,
    unreadable,
  });
  return {
    async search(query, limit, signal, { timeRange } = {}) {
      const place = new URL('web/search', url.endsWith('/') ? url : `${url}/`);
      const fields = {
        q: query.split(/\s+/).slice(0, MOST_WORDS).join(' ').slice(0, MOST_CHARACTERS),
        count: String(Math.min(limit, MOST_RESULTS)),
        result_filter: 'web',
        text_decorations: 'false',
        ...(timeRange !== undefined && { freshness: FRESHNESS[timeRange] }),
      };
      place.search = new URLSearchParams(fields).toString();
      const parsed = answerSchema.safeParse(await ask(place, signal));
      if (!parsed.success) throw new SearchError('search_unreadable', unreadable);
      const found = (parsed.data.web?.results ?? []).map(({ title, url: link, description, page_age }) => ({
        title,
        url: link,
        snippet: description,
        publishedDate: page_age,
      }));
      return await plainResults(found.slice(0, limit), signal);
    },
  };
}
