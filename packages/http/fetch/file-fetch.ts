import { createGuardedFetch, type GuardedFetch } from './guarded-fetch.ts';

const mostRedirects = 5;

/**
 * Fetches files that another service names: from public addresses, and from that service itself (`origin`: scheme, host and
 * port), which may be private. A redirect leaves that origin for public addresses alone.
 */
export function createFileFetch(maxBytes: number, origin?: string): GuardedFetch {
  const anywhere = createGuardedFetch({ maxBytes });
  if (origin === undefined) return anywhere;
  const there = createGuardedFetch({ allowedHosts: [new URL(origin).hostname], maxBytes, maxRedirects: 0 });
  return async (input, request) => {
    let url = String(input);
    for (let count = 0; count <= mostRedirects && URL.parse(url)?.origin === origin; count += 1) {
      const answer = await there(url, request);
      const location = answer.headers.get('location');
      if (location === null || answer.status < 300 || answer.status > 399) return answer;
      const target = URL.parse(location, url);
      if (target !== null && request?.allowsRedirect?.(target) === false) return answer;
      url = target?.href ?? location;
    }
    return await anywhere(url, request);
  };
}
