import { text, url } from '@trunkline/config';
import { createSearxng } from '@trunkline/tools';
import { defineSource } from './source.ts';

/** The web through a SearXNG instance of the operator's. */
export const searxng = defineSource({
  name: 'searxng',
  title: 'SearXNG',
  kind: 'web',
  options: {
    searxngUrl: url({
      env: 'SEARXNG_URL',
      doc: 'Address of your SearXNG server for web search. Its settings.yml must list json under search.formats.',
      defaultDoc: 'web search without a key',
    }),
    searxngBasicAuth: text({
      env: 'SEARXNG_BASIC_AUTH',
      secret: true,
      doc: 'User and password for SEARXNG_URL, if it asks for them.',
      check: (given) => given.includes(':'),
      expected: 'user:password',
    }),
  },
  missing: {
    what: 'Search service',
    variable: 'SEARXNG_URL',
    hint: 'Until you set one, the web is searched without a key, which is refused at times.',
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
