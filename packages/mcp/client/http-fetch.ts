import type { FetchLike } from '@modelcontextprotocol/sdk/shared/transport.js';
import { fetchOnNewConnection } from '@trunkline/http';
import { limitBody } from '@trunkline/std';

/** One answer, or one event of a stream; results hold at most 20 MiB of files, which are a third longer in base64. */
const MAX_ANSWER_BYTES = 32 * 2 ** 20;

/** The fetch of a client for a server with an address, which may be hostile: it is read up to a limit. */
export function createServerFetch(serverUrl: string): FetchLike {
  const { origin } = new URL(serverUrl);
  return async (target, init) => {
    // A call, an answer to a question, a code and a refresh token must not be sent twice.
    const isOnce = init?.method === 'POST' && new URL(target).origin === origin;
    const answer = await (isOnce ? fetchOnNewConnection(target, init) : fetch(target, init));
    return limitBody(answer, { maxBytes: MAX_ANSWER_BYTES, perEvent: true });
  };
}
