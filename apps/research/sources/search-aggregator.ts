import { seenText } from '@trunkline/documents';
import { SearchError } from '@trunkline/tools';
import type { SourceHealth, SourceKind } from '../api-types.ts';
import type { SearchQuery, SearchResult, SourceClient, SourceDefinition, SourceText } from './source.ts';

/** A source that is configured. */
export interface Source {
  definition: SourceDefinition;
  client: SourceClient;
}

/** What a search over several sources gave: results, which sources answered, and in words what went wrong with the others. */
export interface Findings {
  results: FoundResult[];
  answered: SourceDefinition[];
  troubles: string[];
}

export interface FoundResult extends SearchResult {
  source: string;
}

interface Entry extends Source {
  health: SourceHealth;
  /** Not asked before this time, as it was unreachable a moment ago. */
  restUntil: number;
}

export interface SearchAggregatorOptions {
  sources: readonly Source[];
  /** How long a source that could not be reached is left alone. */
  restMs?: number;
  now?: () => number;
}

/** Searches all configured sources at once and knows the health of each. */
export class SearchAggregator {
  readonly #entries: readonly Entry[];
  readonly #restMs: number;
  readonly #now: () => number;

  constructor({ sources, restMs = 30_000, now = Date.now }: SearchAggregatorOptions) {
    this.#entries = sources.map((source) => ({
      ...source,
      health: untried(source.definition),
      restUntil: 0,
    }));
    this.#restMs = restMs;
    this.#now = now;
  }

  health(): SourceHealth[] {
    return this.#entries.map(({ health }) => ({ ...health }));
  }

  has(kind: SourceKind): boolean {
    return this.#entries.some(({ definition }) => definition.kind === kind);
  }

  /** Asks every source of these kinds; each address comes once, results of the sources in turn. */
  async search(query: SearchQuery, kinds: readonly SourceKind[], signal: AbortSignal): Promise<Findings> {
    const asked = this.#entries.filter(({ definition }) => kinds.includes(definition.kind));
    const answers = await Promise.all(asked.map((entry) => this.#ask(entry, query, signal)));
    const troubles = answers.flatMap(({ trouble }) => trouble ?? []);
    const answered = asked.flatMap(({ definition }, index) =>
      answers[index]?.trouble === undefined ? [definition] : [],
    );
    return { results: interleave(answers.map(({ results }) => results)), answered, troubles };
  }

  /** The text of a result that its source hands out itself. */
  async read(result: FoundResult, signal: AbortSignal): Promise<SourceText | undefined> {
    const entry = this.#entries.find(({ definition }) => definition.name === result.source);
    return await entry?.client.read?.(result, signal);
  }

  /** Whether the publisher behind a source is trusted more than an unknown page. */
  isReference(name: string): boolean {
    return this.#entries.some(
      ({ definition }) => definition.name === name && definition.isReference === true,
    );
  }

  /** Finds out about the sources that can be probed, for the health page. */
  async probe(signal: AbortSignal): Promise<void> {
    await Promise.all(
      this.#entries.map(async (entry) => {
        if (entry.client.probe === undefined) return;
        try {
          await entry.client.probe(signal);
          this.#record(entry, 'ok', 'answers');
        } catch (error) {
          if (!(error instanceof SearchError)) return;
          this.#record(entry, 'failing', error.message);
        }
      }),
    );
  }

  async #ask(
    entry: Entry,
    query: SearchQuery,
    signal: AbortSignal,
  ): Promise<{ results: FoundResult[]; trouble?: string }> {
    const { definition, client } = entry;
    if (this.#now() < entry.restUntil) return { results: [], trouble: entry.health.words };
    try {
      const results = await client.search(query, signal);
      this.#record(entry, 'ok', 'answers');
      return {
        results: results.map((result) => ({
          ...result,
          title: seenText(result.title),
          snippet: seenText(result.snippet),
          source: definition.name,
        })),
      };
    } catch (error) {
      if (!(error instanceof SearchError)) throw error;
      this.#record(entry, 'failing', error.message);
      if (error.code === 'search_unreachable' && definition.restsWhenUnreachable === true)
        entry.restUntil = this.#now() + this.#restMs;
      return { results: [], trouble: error.message };
    }
  }

  #record(entry: Entry, state: SourceHealth['state'], words: string): void {
    Object.assign(entry.health, { state, words, at: new Date(this.#now()).toISOString() });
  }
}

function untried({ name, title, kind }: SourceDefinition): SourceHealth {
  return { name, title, kind, state: 'unknown', words: 'not asked yet' };
}

/** The first of each list, then the second of each, and so on; an address that came before is left out. */
function interleave(lists: readonly FoundResult[][]): FoundResult[] {
  const merged = new Map<string, FoundResult>();
  const longest = Math.max(0, ...lists.map((list) => list.length));
  for (let index = 0; index < longest; index += 1) {
    for (const list of lists) {
      const result = list[index];
      if (result !== undefined && !merged.has(result.url)) merged.set(result.url, result);
    }
  }
  return [...merged.values()];
}
