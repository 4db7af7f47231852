import type { SearchEngine } from '@trunkline/tools';
import { asSourceError } from './engine-error.ts';
import type { Source } from './source.ts';

/** The web search that needs no key and no service of one's own. */
export function createKeyless(engine: SearchEngine): Source {
  return {
    name: 'keyless',
    kind: 'web',
    search: ({ text, limit }, signal) => engine.search(text, limit, signal).catch(asSourceError),
  };
}
