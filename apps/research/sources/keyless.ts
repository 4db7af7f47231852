import { type SearchEngine, SearchError } from '@trunkline/tools';
import { type Source, SourceError } from './source.ts';

const CODES = {
  search_refused: 'source_refused',
  search_unreachable: 'source_unreachable',
  search_unreadable: 'source_unreadable',
} as const;

/** The web search that needs no key and no service of one's own. */
export function createKeyless(engine: SearchEngine): Source {
  return {
    name: 'keyless',
    kind: 'web',
    async search({ text, limit }, signal) {
      try {
        return await engine.search(text, limit, signal);
      } catch (error) {
        if (!(error instanceof SearchError)) throw error;
        throw new SourceError(CODES[error.code], error.message, { cause: error });
      }
    },
  };
}
