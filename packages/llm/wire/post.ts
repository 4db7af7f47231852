import { type ClientRequest, type IncomingMessage, request as plainRequest } from 'node:http';
import { request as secureRequest } from 'node:https';
import { ModelError } from '../model-error.ts';

export interface WireResponse {
  status: number;
  headers: Record<string, string>;
  body: AsyncIterable<Uint8Array>;
  /** Drops the connection. */
  close(): void;
  /** Reads on without waiting, so that the connection can serve the next call; drops it if it has not ended soon. */
  release(): void;
}

export interface PostOptions {
  headers: Record<string, string>;
  body: string;
  signal: AbortSignal | undefined;
}

const mostRedirects = 3;
const longestErrorBody = 64 * 1024;
const releaseMs = 1_000;
const forAnyHost: ReadonlySet<string> = new Set(['accept', 'content-type', 'user-agent']);

/**
 * Posts JSON to a model endpoint. Node's own client, not fetch: fetch gives up after 300 s without a byte, which a model
 * that is being loaded may need, and costs twice the CPU a call. The time limits of a call come with its signal.
 */
export async function postJson(url: URL, options: PostOptions, redirects = 0): Promise<WireResponse> {
  const { response, detach } = await send(url, options);
  const { statusCode: status = 0, headers } = response;
  const moved = redirectOf(status, headers.location, url);
  if (moved !== undefined) {
    response.destroy();
    if (redirects >= mostRedirects)
      throw new ModelError('bad-answer', { status, detail: 'too many redirects' });
    const sent = headersAfter(options.headers, url, moved);
    return await postJson(moved, { ...options, headers: sent }, redirects + 1);
  }
  return {
    status,
    headers: flatHeaders(response),
    body: response.iterator({ destroyOnReturn: false }),
    close: () => void response.destroy(),
    release() {
      // The turn that ends now aborts whatever still runs for it; the connection stays for the next one.
      detach();
      release(response);
    },
  };
}

/** The words of an error response; more than any endpoint says about an error is not read. */
export async function readErrorBody({ body, close }: WireResponse): Promise<string> {
  const pieces: Uint8Array[] = [];
  let length = 0;
  for await (const piece of body) {
    pieces.push(piece);
    length += piece.length;
    if (length >= longestErrorBody) break;
  }
  close();
  return new TextDecoder().decode(Buffer.concat(pieces));
}

interface Sent {
  response: IncomingMessage;
  /** The signal does not concern it any more. */
  detach(): void;
}

async function send(url: URL, { headers, body, signal }: PostOptions): Promise<Sent> {
  if (!/^https?:$/.test(url.protocol))
    throw new ModelError('misconfigured', { detail: 'LLM_GATEWAY_URL must be an http or https address' });
  const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>();
  const open = url.protocol === 'https:' ? secureRequest : plainRequest;
  const length = { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) };
  const request = open(url, { method: 'POST', headers: { ...headers, ...length } });
  let underway: ClientRequest | IncomingMessage = request;
  request.on('error', reject).on('response', (response) => {
    // Once the response is whole, the request's connection may be idle already: an error there would end the process.
    underway = response;
    resolve(response);
  });
  // Node's own option for a signal makes an error with its stack for every call, also when it is over.
  const abort = () => void underway.destroy(new ModelError('aborted'));
  if (signal?.aborted) abort();
  signal?.addEventListener('abort', abort, { once: true });
  const detach = () => signal?.removeEventListener('abort', abort);
  request.once('close', detach);
  request.end(body);
  return { response: await promise, detach };
}

function release(response: IncomingMessage): void {
  if (response.readableEnded || response.destroyed) return;
  const timer = setTimeout(() => response.destroy(), releaseMs).unref();
  // What fails now concerns nobody: the answer is complete.
  response.on('error', () => clearTimeout(timer));
  response.on('end', () => clearTimeout(timer));
  response.resume();
}

/** Where a response sends its request. */
export function redirectOf(status: number, location: string | null | undefined, from: URL): URL | undefined {
  if (![301, 302, 307, 308].includes(status) || !location) return undefined;
  return URL.parse(location, from) ?? undefined;
}

/** Keys and added headers are for the host that they were given for. */
export function headersAfter(headers: Record<string, string>, from: URL, to: URL): Record<string, string> {
  if (from.hostname === to.hostname && !(from.protocol === 'https:' && to.protocol === 'http:'))
    return headers;
  return Object.fromEntries(Object.entries(headers).filter(([name]) => forAnyHost.has(name.toLowerCase())));
}

function flatHeaders({ headers }: IncomingMessage): Record<string, string> {
  const flat: Record<string, string> = {};
  for (const [name, value] of Object.entries(headers))
    if (value !== undefined) flat[name] = Array.isArray(value) ? value.join(', ') : value;
  return flat;
}
