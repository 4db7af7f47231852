import { defineTool, type Tool } from '@trunkline/llm';
import { z } from 'zod';
import type { SourceKind } from '../api-types.ts';
import type { SearchAggregator } from '../sources/search-aggregator.ts';
import { CATEGORIES, type SearchResult, TIME_RANGES } from '../sources/source.ts';
import { chartTool, type TurnCharts } from './charts.ts';

const RESULTS = 8;

export interface ChatToolDeps {
  aggregator: SearchAggregator;
  /** Whose files are searched. */
  owner: string;
  /** Numbers the results, so that the answer can cite them. */
  sources: TurnSources;
  /** Where charts are put; without it none are drawn. */
  charts?: TurnCharts | undefined;
  /** True once the turn has made all the tool-call steps it may. */
  isOver(): boolean;
}

/** What the chat agent may call: two searches, a chart where it can be shown, and a question to the user that ends the turn. */
export function createChatTools(deps: ChatToolDeps): Tool[] {
  const { charts, isOver } = deps;
  return [
    searchWeb(deps),
    searchEncyclopedia(deps),
    ...(charts === undefined ? [] : [chartTool(charts, isOver)]),
    askClarification,
  ];
}

function searchWeb(deps: ChatToolDeps): Tool {
  return defineTool({
    name: 'searchWeb',
    effects: ['reads'],
    external: true,
    description:
      "Searches the web and the user's own files. Gives a JSON list of results with number, title, url and snippet.",
    input: z.object({
      query: z.string().min(1),
      categories: z.enum(CATEGORIES).optional(),
      timeRange: z.enum(TIME_RANGES).optional().describe('How old results may be'),
    }),
    execute: ({ query, ...settings }, { signal }) =>
      search(deps, { text: query, limit: RESULTS, ...settings }, ['web', 'files', 'offline'], signal),
  }) as Tool;
}

function searchEncyclopedia(deps: ChatToolDeps): Tool {
  return defineTool({
    name: 'searchEncyclopedia',
    effects: ['reads'],
    external: true,
    description:
      'Searches the encyclopedia. Gives a JSON list of results with number, title, url and snippet.',
    input: z.object({ query: z.string().min(1) }),
    execute: ({ query }, { signal }) =>
      search(
        deps,
        { text: query, limit: RESULTS },
        deps.aggregator.has('encyclopedia') ? ['encyclopedia', 'offline'] : ['web', 'files', 'offline'],
        signal,
      ),
  }) as Tool;
}

const askClarification: Tool = defineTool({
  name: 'askClarification',
  effects: ['reads'],
  description: 'Asks the user one question when the request cannot be answered without it.',
  input: z.object({ question: z.string().min(1) }),
  pause: true,
}) as Tool;

/** Results as JSON; when there are none and services fail, where nothing was found and the words of the failures. */
async function search(
  { aggregator, owner, sources, isOver }: ChatToolDeps,
  query: Parameters<SearchAggregator['search']>[0],
  kinds: readonly SourceKind[],
  signal: AbortSignal,
): Promise<string> {
  if (isOver()) return 'Error: no more searches in this turn. Answer with what you have.';
  const { results, answered, troubles } = await aggregator.search({ ...query, owner }, kinds, signal);
  sources.addTroubles(troubles);
  if (results.length === 0 && troubles.length > 0)
    return `Error: ${[...nothingIn(answered), ...troubles].join(' ')}`;
  return JSON.stringify(
    results
      .slice(0, query.limit)
      .map(({ source: _source, documentId, ...result }) => sources.number(result, documentId)),
  );
}

function nothingIn(answered: readonly { place?: string }[]): string[] {
  const places = answered.flatMap(({ place }) => place ?? []);
  return places.length === 0 ? [] : [`Nothing was found in ${places.join(' and ')}.`];
}

/** A result with the number by which the answer cites it. */
export interface NumberedResult extends SearchResult {
  number: number;
}

/** What the searches of one turn found, numbered in the order of finding, and what they could not search. */
export class TurnSources {
  readonly #numbered = new Map<string, NumberedResult>();
  readonly #documents = new Map<number, number>();
  readonly #troubles = new Set<string>();

  /** An address keeps its number. The id of its stored text is for the check of the answer alone. */
  number(result: SearchResult, documentId?: number): NumberedResult {
    const numbered = this.#numbered.get(result.url) ?? { number: this.#numbered.size + 1, ...result };
    this.#numbered.set(result.url, numbered);
    if (documentId !== undefined) this.#documents.set(numbered.number, documentId);
    return numbered;
  }

  /** Notes in words which services could not be asked. */
  addTroubles(troubles: readonly string[]): void {
    for (const trouble of troubles) this.#troubles.add(trouble);
  }

  troubles(): string[] {
    return [...this.#troubles];
  }

  all(): NumberedResult[] {
    return [...this.#numbered.values()];
  }

  /** All with the stored text where there is one. */
  stored(): NumberedResult[] {
    return this.all().map((result) => {
      const documentId = this.#documents.get(result.number);
      return documentId === undefined ? result : { ...result, documentId };
    });
  }

  /** Those that the text cites; none when it cites nothing. */
  citedIn(text: string): NumberedResult[] {
    const cited = new Set([...text.matchAll(/\[(\d{1,3})\??\]/g)].map(([, number]) => Number(number)));
    return this.all().filter(({ number }) => cited.has(number));
  }
}
