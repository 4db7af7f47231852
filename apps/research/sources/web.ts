import { toggle } from '@trunkline/config';
import {
  braveOptions,
  createBrave,
  createDuckDuckGo,
  createSearxng,
  createTavily,
  searxngOptions,
  tavilyOptions,
} from '@trunkline/tools';
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

/** The web through the Brave Search API, with a key of the operator's. */
export const brave = defineSource({
  name: 'brave',
  title: 'Brave Search',
  kind: 'web',
  options: braveOptions,
  create({ braveApiKey: apiKey, braveApiUrl: url }, { timeoutMs }) {
    if (apiKey === undefined) return undefined;
    const engine = createBrave({ apiKey, url, timeoutMs });
    return {
      search: ({ text, limit, categories, timeRange }, signal) =>
        engine.search(text, limit, signal, { categories, timeRange }),
    };
  },
});

/** The web through the Tavily API, with a key of the operator's. */
export const tavily = defineSource({
  name: 'tavily',
  title: 'Tavily',
  kind: 'web',
  options: tavilyOptions,
  create({ tavilyApiKey: apiKey, tavilyApiUrl: url }, { timeoutMs }) {
    if (apiKey === undefined) return undefined;
    const engine = createTavily({ apiKey, url, timeoutMs });
    return {
      search: ({ text, limit, categories, timeRange }, signal) =>
        engine.search(text, limit, signal, { categories, timeRange }),
    };
  },
});

/** The web search that needs no key and no service of one's own. */
export const keyless = defineSource({
  name: 'keyless',
  title: 'Web search without a key',
  kind: 'web',
  isFallback: true,
  restsWhenUnreachable: true,
  options: {
    keylessSearch: toggle({
      env: 'RESEARCH_KEYLESS_SEARCH',
      default: true,
      doc: 'Searches the web without a key while SEARXNG_URL, BRAVE_API_KEY and TAVILY_API_KEY are not set.',
    }),
  },
  create({ keylessSearch }, { timeoutMs }) {
    if (!keylessSearch) return undefined;
    const engine = createDuckDuckGo({ timeoutMs });
    return { search: ({ text, limit }, signal) => engine.search(text, limit, signal) };
  },
});
