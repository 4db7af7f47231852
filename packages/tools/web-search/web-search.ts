import { isUnanswered } from '@trunkline/http';
import { defineTool, type Tool } from '@trunkline/llm';
import { CodedError } from '@trunkline/std';
import { z } from 'zod';
import { failure } from '../failure.ts';

const MOST_RESULTS = 10;

const input = z.object({
  query: z.string().describe('What to search for.'),
  max_results: z.number().int().default(5).describe('How many results, from 1 to 10.'),
});

/** Searches the web through the given engine. */
export function createWebSearch(engine: SearchEngine): Tool {
  return defineTool({
    name: 'web_search',
    effects: ['reads'],
    external: true,
    description: 'Looks something up on the web: gives titles, addresses and snippets of what it finds.',
    input,
    async execute({ query, max_results }, { signal, ownWords }) {
      const words = query.trim();
      const limit = Math.min(Math.max(max_results, 1), MOST_RESULTS);
      try {
        if (words === '') throw new SearchError('search_refused', 'the query is empty.');
        const results = await engine.search(words, limit, signal);
        if (results.length === 0) ownWords?.();
        return listing(words, results);
      } catch (error) {
        if (!(error instanceof SearchError)) throw error;
        // Other failures may quote what the engine sent.
        if (error.code === 'search_refused' || isUnanswered(error.cause)) ownWords?.();
        return failure(error);
      }
    },
  });
}

function listing(query: string, results: SearchResult[]): string {
  const lines = results.flatMap(({ title, url, snippet }, index) => [
    `${index + 1}. ${title} — ${url}`,
    ...(snippet === '' ? [] : [`   ${snippet}`]),
  ]);
  // An address that the model searched for must not come back as one that a text from outside held.
  const shown = query.replace(/https?:\S+/gi, '[address]');
  return [`${results.length} result(s) for '${shown}':`, ...lines].join('\n');
}

export interface SearchResult {
  title: string;
  url: string;
  snippet: string;
}

/** A result whose page says when it was written. */
export interface DatedResult extends SearchResult {
  publishedDate?: string;
}

/** What a search may be narrowed to, where an engine can. */
export interface SearchFilters {
  categories?: string | undefined;
  /** How old results may be. */
  timeRange?: 'day' | 'month' | 'year' | undefined;
}

/** Where results come from. A failure is thrown as a `SearchError` whose words name the engine. */
export interface SearchEngine {
  search(query: string, limit: number, signal: AbortSignal): Promise<SearchResult[]>;
}

export interface FilteredSearchEngine extends SearchEngine {
  search(query: string, limit: number, signal: AbortSignal, filters?: SearchFilters): Promise<DatedResult[]>;
}

export type SearchErrorCode = 'search_refused' | 'search_unreachable' | 'search_unreadable';

/** Why a search gave nothing; the words say what to do. */
export class SearchError extends CodedError<SearchErrorCode> {
  override readonly name = 'SearchError';
}
