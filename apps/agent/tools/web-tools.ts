import { group } from '@trunkline/config';
import {
  createCalculator,
  createCurrentTime,
  createFetchUrl,
  createLookUp,
  createSearchEngine,
  createWebSearch,
  searchEngineOptions,
} from '@trunkline/tools';
import { defineToolModule } from './tool-module.ts';

export const webTools = defineToolModule({
  name: 'web',
  options: group('Search', searchEngineOptions),
  tools({ options, fetch }) {
    return [
      createCurrentTime(),
      createCalculator(),
      createLookUp(),
      createWebSearch(createSearchEngine(options)),
      createFetchUrl(fetch),
    ];
  },
});
