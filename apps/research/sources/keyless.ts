import { toggle } from '@trunkline/config';
import { createDuckDuckGo } from '@trunkline/tools';
import { defineSource } from './source.ts';

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
