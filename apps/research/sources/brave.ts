import { braveOptions, createBrave } from '@trunkline/tools';
import { defineSource } from './source.ts';

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
