import type { OptionsOf, OptionTable } from '@trunkline/config';
import { braveOptions, createBrave } from './brave.ts';
import { createDuckDuckGo } from './duckduckgo.ts';
import { createSearxng, searxngOptions } from './searxng.ts';
import { createTavily, tavilyOptions } from './tavily.ts';
import type { SearchEngine } from './web-search.ts';

/** Settings that say which engine the tool web_search asks. */
export const searchEngineOptions = { ...searxngOptions, ...braveOptions, ...tavilyOptions };

/** The operator's own SearXNG, else a service with a key, else the one that needs none. */
export function createSearchEngine({
  searxngUrl,
  searxngBasicAuth: basicAuth,
  braveApiKey,
  braveApiUrl,
  tavilyApiKey,
  tavilyApiUrl,
}: OptionsOf<OptionTable<typeof searchEngineOptions>>): SearchEngine {
  if (searxngUrl !== undefined) return createSearxng({ url: searxngUrl, basicAuth });
  if (braveApiKey !== undefined) return createBrave({ apiKey: braveApiKey, url: braveApiUrl });
  if (tavilyApiKey !== undefined) return createTavily({ apiKey: tavilyApiKey, url: tavilyApiUrl });
  return createDuckDuckGo();
}
