import { createSearxng, searxngOptions } from '@trunkline/tools';
import { defineSource } from './source.ts';

/** The web through a SearXNG instance of the operator's. */
export const searxng = defineSource({
  name: 'searxng',
  title: 'SearXNG',
  kind: 'web',
  options: searxngOptions,
  missing: {
    what: 'Search service',
    variable: 'SEARXNG_URL',
    hint: 'Until you set one, or BRAVE_API_KEY or TAVILY_API_KEY, the web is searched without a key, which is refused at times.',
  },
  create({ searxngUrl, searxngBasicAuth: basicAuth }, { timeoutMs }) {
    if (searxngUrl === undefined) return undefined;
    const engine = createSearxng({ url: searxngUrl, basicAuth, timeoutMs });
    return {
      search: ({ text: words, limit, categories, timeRange }, signal) =>
        engine.search(words, limit, signal, { categories, timeRange }),
      probe: (signal) => engine.probe(signal),
    };
  },
});
