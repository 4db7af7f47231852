import { defineTool, type Tool } from '@trunkline/llm';
import { z } from 'zod';
import { failure } from '../failure.ts';
import { type SearchEngine, SearchError, type SearchResult } from './search-engine.ts';

const MOST_RESULTS = 10;

const input = z.object({
  query: z.string().describe('What to search for.'),
  max_results: z.number().int().default(5).describe('How many results, from 1 to 10.'),
});

/** Searches the web through the given engine. */
export function createWebSearch(engine: SearchEngine): Tool {
  return defineTool({
    name: 'web_search',
    readOnly: true,
    description: 'Searches the web and gives titles, addresses and snippets.',
    input,
    async execute({ query, max_results }, { signal }) {
      const words = query.trim();
      if (words === '') return 'Error: the query is empty.';
      const limit = Math.min(Math.max(max_results, 1), MOST_RESULTS);
      try {
        return listing(words, await engine.search(words, limit, signal));
      } catch (error) {
        if (error instanceof SearchError) return failure(error);
        throw error;
      }
    },
  });
}

function listing(query: string, results: SearchResult[]): string {
  const lines = results.flatMap(({ title, url, snippet }, index) => [
    `${index + 1}. ${title} — ${url}`,
    ...(snippet === '' ? [] : [`   ${snippet}`]),
  ]);
  return [`${results.length} result(s) for '${query}':`, ...lines].join('\n');
}
