import { createGuardedFetch, type GuardedRequest, type GuardedResponse } from '@trunkline/http';
import { errorMessage } from '@trunkline/std';
import { SearchError } from './search-engine.ts';

export interface EngineAddress {
  name: string;
  url: string;
  timeoutMs: number;
  /** What to do when it cannot be reached. */
  advice?: string;
}

/** Asks an engine that the operator named, so that its host may be private; limits hold all the same. */
export function engineClient({ name, url, timeoutMs, advice }: EngineAddress) {
  const fetch = createGuardedFetch({
    allowedHosts: [new URL(url).hostname],
    timeoutMs,
    userAgent: 'Mozilla/5.0 (compatible; trunkline)',
  });
  return async (address: URL, request: GuardedRequest): Promise<GuardedResponse> => {
    try {
      return await fetch(address, request);
    } catch (error) {
      if (request.signal?.aborted) throw error;
      const reason = errorMessage(error);
      const words = [`${name} cannot be reached: ${reason}`, advice].filter(Boolean).join(' ');
      throw new SearchError('search_unreachable', words, { cause: error });
    }
  };
}
