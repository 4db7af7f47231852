import { group, url } from '@trunkline/config';
import {
  createCalculator,
  createCurrentTime,
  createDuckDuckGo,
  createFetchUrl,
  createLookUp,
  createSearxng,
  createWebSearch,
} from '@trunkline/tools';
import { defineToolModule } from './tool-module.ts';

export const webTools = defineToolModule({
  name: 'web',
  options: group('Search', {
    searxngUrl: url({
      env: 'SEARXNG_URL',
      doc: 'Address of your SearXNG server for web search. Its settings.yml must list json under search.formats.',
      defaultDoc: 'web search without a key',
    }),
  }),
  tools({ options: { searxngUrl }, fetch }) {
    const engine = searxngUrl === undefined ? createDuckDuckGo() : createSearxng({ url: searxngUrl });
    return [
      createCurrentTime(),
      createCalculator(),
      createLookUp(),
      createWebSearch(engine),
      createFetchUrl(fetch),
    ];
  },
});
