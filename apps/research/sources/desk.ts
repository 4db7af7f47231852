import type { SearchQuery, SearchResult, Source, SourceKind, SourceText } from './source.ts';
import { SourceError } from './source.ts';

export interface SourceHealth {
  name: string;
  kind: SourceKind;
  /** `unknown` until it was asked. */
  state: 'ok' | 'failing' | 'unknown';
  words: string;
  at?: string;
}

/** What a search over several sources gave: results, which sources answered, and in words what went wrong with the others. */
export interface Findings {
  results: FoundResult[];
  answered: string[];
  troubles: string[];
}

export interface FoundResult extends SearchResult {
  source: string;
}

interface Entry {
  source: Source;
  health: SourceHealth;
  /** Not asked before this time, as it was unreachable a moment ago. */
  restUntil: number;
}

export interface DeskOptions {
  sources: readonly Source[];
  /** How long a source that could not be reached is left alone. */
  restMs?: number;
  now?: () => number;
}

/** Every source there is, asked side by side, with what is known of the health of each. */
export class SearchDesk {
  readonly #entries: readonly Entry[];
  readonly #restMs: number;
  readonly #now: () => number;

  constructor({ sources, restMs = 30_000, now = Date.now }: DeskOptions) {
    this.#entries = sources.map((source) => ({ source, health: untried(source), restUntil: 0 }));
    this.#restMs = restMs;
    this.#now = now;
  }

  health(): SourceHealth[] {
    return this.#entries.map(({ health }) => ({ ...health }));
  }

  has(kind: SourceKind): boolean {
    return this.#entries.some(({ source }) => source.kind === kind);
  }

  /** Asks every source of these kinds; each address comes once, results of the sources in turn. */
  async search(query: SearchQuery, kinds: readonly SourceKind[], signal: AbortSignal): Promise<Findings> {
    const asked = this.#entries.filter(({ source }) => kinds.includes(source.kind));
    const answers = await Promise.all(asked.map((entry) => this.#ask(entry, query, signal)));
    const troubles = answers.flatMap(({ trouble }) => trouble ?? []);
    const answered = asked.flatMap(({ source }, index) =>
      answers[index]?.trouble === undefined ? [source.name] : [],
    );
    return { results: inTurn(answers.map(({ results }) => results)), answered, troubles };
  }

  /** The text of a result that its source hands out itself. */
  async read(result: FoundResult, signal: AbortSignal): Promise<SourceText | undefined> {
    const entry = this.#entries.find(({ source }) => source.name === result.source);
    return await entry?.source.read?.(result, signal);
  }

  /** Finds out about the sources that can be probed, for the health page. */
  async probe(signal: AbortSignal): Promise<void> {
    await Promise.all(
      this.#entries.map(async (entry) => {
        const { probe } = entry.source;
        if (probe === undefined) return;
        try {
          await probe(signal);
          this.#note(entry, 'ok', 'answers');
        } catch (error) {
          if (!(error instanceof SourceError)) return;
          this.#note(entry, 'failing', error.message);
        }
      }),
    );
  }

  async #ask(
    entry: Entry,
    query: SearchQuery,
    signal: AbortSignal,
  ): Promise<{ results: FoundResult[]; trouble?: string }> {
    const { source } = entry;
    if (this.#now() < entry.restUntil) return { results: [], trouble: entry.health.words };
    try {
      const results = await source.search(query, signal);
      this.#note(entry, 'ok', 'answers');
      return { results: results.map((result) => ({ ...result, source: source.name })) };
    } catch (error) {
      if (!(error instanceof SourceError)) throw error;
      this.#note(entry, 'failing', error.message);
      if (error.code === 'source_unreachable' && source.name === 'keyless')
        entry.restUntil = this.#now() + this.#restMs;
      return { results: [], trouble: error.message };
    }
  }

  #note(entry: Entry, state: SourceHealth['state'], words: string): void {
    Object.assign(entry.health, { state, words, at: new Date(this.#now()).toISOString() });
  }
}

function untried({ name, kind }: Source): SourceHealth {
  return { name, kind, state: 'unknown', words: 'not asked yet' };
}

/** The first of each list, then the second of each, and so on; an address that came before is left out. */
function inTurn(lists: readonly FoundResult[][]): FoundResult[] {
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
