import { type AppEnv, describeRoute, requireOperator, validate } from '@trunkline/http';
import type { OperatorAccess } from '@trunkline/identity';
import type { SearchTrial } from '@trunkline/std';
import { createSearxng, SearchError } from '@trunkline/tools';
import type { Hono } from 'hono';
import { z } from 'zod';
import type { SearchAggregator } from '../sources/search-aggregator.ts';
import { searxng } from '../sources/searxng.ts';

const MOST_RESULTS = 5;
const MOST_MS = 20_000;

const trial = z.object({
  query: z.string().trim().min(2).max(200),
  /** A SearXNG that is not configured yet. */
  url: z.url({ protocol: /^https?$/ }).optional(),
  basicAuth: z.string().max(500).optional(),
});

/** What the step "Search" of the page at /setup needs: a real query, before anything is saved. */
export function mountSetup(
  app: Hono<AppEnv>,
  { operator, aggregator }: { operator: OperatorAccess; aggregator: SearchAggregator },
): void {
  app.post(
    '/operator/setup/search',
    describeRoute({ summary: 'Search with a SearXNG that is not saved yet, or with the configured sources' }),
    requireOperator(operator),
    validate('json', trial),
    async (context) => {
      const { query, url, basicAuth } = context.req.valid('json');
      const signal = AbortSignal.any([context.req.raw.signal, AbortSignal.timeout(MOST_MS)]);
      if (url !== undefined) return context.json(await trySearxng(query, { url, basicAuth }, signal));
      const found = await aggregator.search(
        { text: query, limit: MOST_RESULTS },
        ['web', 'encyclopedia'],
        signal,
      );
      return context.json<SearchTrial>({
        results: found.results
          .slice(0, MOST_RESULTS)
          .map(({ title, url: address, snippet, source }) => ({ title, url: address, snippet, source })),
        answered: found.answered.map(({ title }) => title),
        troubles: found.troubles,
      });
    },
  );
}

/** A query to a SearXNG that is not configured yet; failures come back as words. */
export async function trySearxng(
  query: string,
  place: { url: string; basicAuth: string | undefined },
  signal: AbortSignal,
): Promise<SearchTrial> {
  try {
    const found = await createSearxng({ ...place, timeoutMs: MOST_MS }).search(query, MOST_RESULTS, signal);
    return {
      results: found
        .slice(0, MOST_RESULTS)
        .map(({ title, url, snippet }) => ({ title, url, snippet, source: searxng.name })),
      answered: [searxng.title],
      troubles: [],
    };
  } catch (error) {
    if (!(error instanceof SearchError)) throw error;
    return { results: [], answered: [], troubles: [error.message] };
  }
}
