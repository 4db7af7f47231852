import { connect } from 'node:net';
import { connectionFailure, errorMessage, systemCode } from '@trunkline/std';
import type { Dispatcher, fetch as UndiciFetch } from 'undici';

/** The caller has limits of its own, and an answer may be a stream that is silent for long. */
const settings = { pipelining: 0, headersTimeout: 0, bodyTimeout: 0 };

let loading: Promise<{ dispatcher: Dispatcher; fetch: typeof UndiciFetch }> | undefined;

/**
 * As `fetch`, over a connection that nothing has used before. A server may close an idle connection just as a request is
 * written to it, and then nobody knows whether it got the request: for those that must not be made twice.
 */
export async function fetchOnNewConnection(url: string | URL, init: RequestInit = {}): Promise<Response> {
  loading ??= import('undici').then(({ Agent, EnvHttpProxyAgent, fetch, getGlobalDispatcher }) => {
    // Node has one of its own where it was told to use the proxy that HTTP_PROXY, HTTPS_PROXY and NO_PROXY name.
    const usesProxy = getGlobalDispatcher().constructor.name === EnvHttpProxyAgent.name;
    return { dispatcher: usesProxy ? new EnvHttpProxyAgent(settings) : new Agent(settings), fetch };
  });
  const { dispatcher, fetch } = await loading;
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

const PORTS: Readonly<Record<string, number>> = { 'https:': 443, 'wss:': 443, 'nats:': 4222, 'tls:': 4222 };
const HTTP_PORT = 80;

/** Why nothing takes a connection at an address that the operator set; undefined where something does. Nothing is sent. */
export function whyUnreachable(url: string, timeoutMs: number): Promise<string | undefined> {
  const { hostname, port, protocol } = new URL(url);
  return new Promise((resolve) => {
    const socket = connect({
      host: hostname.replace(/^\[|\]$/g, ''),
      port: port === '' ? (PORTS[protocol] ?? HTTP_PORT) : Number(port),
      timeout: timeoutMs,
    });
    const end = (reason: string | undefined) => {
      socket.destroy();
      resolve(reason);
    };
    socket.once('connect', () => end(undefined));
    socket.once('timeout', () => end(connectionFailure('ETIMEDOUT')));
    socket.once('error', (error) => end(connectionFailure(codeOf(error))));
  });
}

/** An address with several records fails with one error for each. */
function codeOf(error: Error): string {
  const first: unknown = error instanceof AggregateError ? error.errors[0] : error;
  return systemCode(first) ?? errorMessage(first);
}
