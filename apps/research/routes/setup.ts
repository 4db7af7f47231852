import { type AppEnv, describeRoute, requireOperator, validate } from '@trunkline/http';
import type { OperatorAccess } from '@trunkline/identity';
import type { SearchTrial } from '@trunkline/std';
import type { Hono } from 'hono';
import { z } from 'zod';
import { createSources } from '../sources/catalogue.ts';
import { type Findings, SearchAggregator } from '../sources/search-aggregator.ts';
import type { SourceDeps } from '../sources/source.ts';
import { brave, searxng, tavily } from '../sources/web.ts';

const MOST_RESULTS = 5;
const MOST_MS = 20_000;

const trial = z.object({
  query: z.string().trim().min(2).max(200),
  /** A SearXNG that is not configured yet. */
  url: z.url({ protocol: /^https?$/ }).optional(),
  basicAuth: z.string().max(500).optional(),
  /** Keys that are not configured yet. */
  braveApiKey: z.string().trim().min(1).max(500).optional(),
  tavilyApiKey: z.string().trim().min(1).max(500).optional(),
});

interface SetupDeps {
  operator: OperatorAccess;
  aggregator: SearchAggregator;
  /** Settings of the sources. */
  sourceOptions: Readonly<Record<string, unknown>>;
}

/** What the step "Search" of the page at /setup needs: a real query, before anything is saved. */
export function mountSetup(app: Hono<AppEnv>, { operator, aggregator, sourceOptions }: SetupDeps): void {
  app.post(
    '/operator/setup/search',
    describeRoute({
      summary: 'Search with a SearXNG or a key that is not saved yet, or with the configured sources',
    }),
    requireOperator(operator),
    validate('json', trial),
    async (context) => {
      const { query, ...given } = context.req.valid('json');
      const signal = AbortSignal.any([context.req.raw.signal, AbortSignal.timeout(MOST_MS)]);
      const tried = await trySearch(query, given, sourceOptions, signal);
      if (tried !== undefined) return context.json(tried);
      const text = { text: query, limit: MOST_RESULTS };
      return context.json(shown(await aggregator.search(text, ['web', 'encyclopedia'], signal)));
    },
  );
}

/** What a trial may name that is not configured yet. */
export type SearchGiven = Omit<z.output<typeof trial>, 'query'>;

/** A query to services that are not configured yet; failures come back as words. Undefined where none is named. */
export async function trySearch(
  query: string,
  { url, basicAuth, ...keys }: SearchGiven,
  options: Readonly<Record<string, unknown>>,
  signal: AbortSignal,
): Promise<SearchTrial | undefined> {
  const given = {
    searxngUrl: url,
    searxngBasicAuth: basicAuth,
    braveApiKey: keys.braveApiKey,
    tavilyApiKey: keys.tavilyApiKey,
  };
  // None of these reads stored documents.
  const deps = { timeoutMs: MOST_MS } as SourceDeps;
  const sources = createSources([searxng, brave, tavily], { ...options, ...given }, deps);
  if (sources.length === 0) return undefined;
  const text = { text: query, limit: MOST_RESULTS };
  return shown(await new SearchAggregator({ sources }).search(text, ['web'], signal));
}

function shown({ results, answered, troubles }: Findings): SearchTrial {
  return {
    results: results
      .slice(0, MOST_RESULTS)
      .map(({ title, url, snippet, source }) => ({ title, url, snippet, source })),
    answered: answered.map(({ title }) => title),
    troubles,
  };
}
