import type { SearxngEngine } from '@trunkline/tools';
import { asSourceError } from './engine-error.ts';
import type { Source } from './source.ts';

/** Searches the web through a SearXNG instance. */
export function createSearxngSource(engine: SearxngEngine): Source {
  return {
    name: 'searxng',
    kind: 'web',
    search: ({ text, limit, categories, timeRange }, signal) =>
      engine.search(text, limit, signal, { categories, timeRange }).catch(asSourceError),
    probe: (signal) => engine.probe(signal).catch(asSourceError),
  };
}
