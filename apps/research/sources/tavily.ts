import { createTavily, tavilyOptions } from '@trunkline/tools';
import { defineSource } from './source.ts';

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
