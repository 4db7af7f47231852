import type { getRequestListener } from '@hono/node-server';

interface Adapter {
  getRequestListener: typeof getRequestListener;
  /** What a handler returns that has written its answer to the connection itself. */
  alreadySent: Response;
}

let adapter: Adapter | undefined;

/**
 * Loads Hono's adapter for Node with the first request. It extends Request and Response, which makes Node load all of
 * its fetch: 13 MB and 65 ms of processor time that a start need not wait for.
 */
export async function loadAdapter(): Promise<Adapter> {
  const [{ getRequestListener }, { RESPONSE_ALREADY_SENT: alreadySent }] = await Promise.all([
    import('@hono/node-server'),
    import('@hono/node-server/utils/response'),
  ]);
  adapter = { getRequestListener, alreadySent };
  return adapter;
}

/** For a handler that has written its answer itself, so within a request: the adapter is loaded by then. */
export function alreadySent(): Response {
  if (adapter === undefined) throw new TypeError('an answer was written outside a request of serve()');
  return adapter.alreadySent;
}

export function isAlreadySent(response: Response): boolean {
  return response === adapter?.alreadySent;
}
