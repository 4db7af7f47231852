import { createGuardedFetch, type GuardedRequest, type GuardedResponse } from '@trunkline/http';
import { errorMessage } from '@trunkline/std';
import { SearchError } from './web-search.ts';

export interface EngineAddress {
  /** How errors call the service, such as `SearXNG at http://...`. */
  name: string;
  url: string;
  timeoutMs: number;
  maxBytes?: number;
  /** What to do when it cannot be reached. */
  advice?: string;
}

/** Asks an engine that the operator named, so that its host may be private; limits hold all the same. */
export function engineClient({ name, url, advice, ...limits }: EngineAddress) {
  const fetch = createGuardedFetch({
    allowedHosts: [new URL(url).hostname],
    userAgent: 'Mozilla/5.0 (compatible; trunkline)',
    ...limits,
  });
  return async (address: URL, request: GuardedRequest): Promise<GuardedResponse> => {
    try {
      return await fetch(address, request);
    } catch (error) {
      if (request.signal?.aborted) throw error;
      const words = [`${name} cannot be reached: ${errorMessage(error)}`, advice].filter(Boolean).join(' ');
      throw new SearchError('search_unreachable', words, { cause: error });
    }
  };
}

export interface JsonEngineAddress extends EngineAddress {
  headers?: Readonly<Record<string, string>>;
  /** What a status means that needs more than its number, after the name of the engine. */
  refusals?: Readonly<Record<number, string>>;
  /** What is wrong when the answer is no JSON. */
  unreadable: string;
}

/** Asks an engine of the operator's for JSON. */
export function jsonEngineClient({ headers, refusals = {}, unreadable, ...address }: JsonEngineAddress) {
  const ask = engineClient(address);
  const { name } = address;
  return async (url: URL, signal: AbortSignal): Promise<unknown> => {
    const response = await ask(url, { signal, headers: { accept: 'application/json', ...headers } });
    const { status } = response;
    if (status !== 200) {
      const words = refusals[status] ?? `answered with status ${status}.`;
      throw new SearchError(status < 500 ? 'search_refused' : 'search_unreachable', `${name} ${words}`);
    }
    try {
      return JSON.parse(response.text());
    } catch (error) {
      throw new SearchError('search_unreadable', unreadable, { cause: error });
    }
  };
}
