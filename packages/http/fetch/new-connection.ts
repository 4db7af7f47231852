import type { Agent, fetch as UndiciFetch } from 'undici';

/** The caller has limits of its own, and an answer may be a stream that is silent for long. */
const settings = { pipelining: 0, headersTimeout: 0, bodyTimeout: 0 };

let loading: Promise<{ agent: Agent; fetch: typeof UndiciFetch }> | undefined;

/**
 * As `fetch`, over a connection that nothing has used before. A server may close an idle connection just as a request is
 * written to it, and then nobody knows whether it got the request: for those that must not be made twice.
 */
export async function fetchOnNewConnection(url: string | URL, init: RequestInit = {}): Promise<Response> {
  loading ??= import('undici').then(({ Agent, fetch }) => ({ agent: new Agent(settings), fetch }));
  const { agent: dispatcher, fetch } = await loading;
  const headers = Object.fromEntries(new Headers(init.headers));
  const answer = await fetch(url, { ...init, headers, dispatcher } as Parameters<typeof fetch>[1]);
  const { body, status, statusText } = answer;
  // Callers may ask whether it is a Response, and the class of the package is another than the global one.
  const response = new Response(body as BodyInit | null, {
    status,
    statusText,
    headers: [...answer.headers],
  });
  // By a function: undici ends the body of an answer that nobody holds any more.
  return Object.defineProperty(response, 'url', { get: () => answer.url });
}
