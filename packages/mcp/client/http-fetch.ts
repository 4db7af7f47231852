import type { FetchLike } from '@modelcontextprotocol/sdk/shared/transport.js';
import { fetchOnNewConnection } from '@trunkline/http';
import { limitBody } from '@trunkline/std';

/** One answer, or one event of a stream; results hold at most 20 MiB of files, which are a third longer in base64. */
const MAX_ANSWER_BYTES = 32 * 2 ** 20;
const MAX_REDIRECTS = 3;
/** That send the request itself on. */
const REDIRECTS = new Set([301, 302, 307, 308]);

/**
 * The fetch of a client for a server with an address. The server may be hostile: it is read up to a limit, and leads to no other
 * host, which would get the headers that are set for it, and may be one that only this machine reaches.
 */
export function createServerFetch(serverUrl: string): FetchLike {
  const { origin } = new URL(serverUrl);
  return async (input, init = {}) => {
    let url = new URL(input);
    for (let redirects = 0; ; redirects += 1) {
      const request = { ...init, redirect: 'manual' as const };
      // A call, an answer to a question, a code and a refresh token must not be sent twice.
      const isOnce = init.method === 'POST' && url.origin === origin;
      const answer = await (isOnce ? fetchOnNewConnection(url, request) : fetch(url, request));
      const moved = movedTo(answer, url);
      if (moved === undefined) return limitBody(answer, { maxBytes: MAX_ANSWER_BYTES, perEvent: true });
      await answer.body?.cancel();
      if (redirects === MAX_REDIRECTS) throw new Error('it redirects without an end');
      if (!isSamePlace(url, moved))
        throw new Error(
          `it has moved to ${moved.origin}${moved.pathname}: set its url to that if you trust it`,
        );
      url = moved;
    }
  };
}

function movedTo({ status, headers }: Response, from: URL): URL | undefined {
  const location = headers.get('location');
  return REDIRECTS.has(status) && location !== null ? (URL.parse(location, from) ?? undefined) : undefined;
}

/** Another path there, or the same host by https. */
function isSamePlace(from: URL, to: URL): boolean {
  return to.origin === from.origin || (to.hostname === from.hostname && to.protocol === 'https:');
}
