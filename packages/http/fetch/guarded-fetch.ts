import type { IncomingMessage } from 'node:http';
import { connectionFailure, Deadline, errorMessage, systemCode } from '@trunkline/std';
import { findHttpError } from '../errors/http-error.ts';
import {
  type AddressPolicyOptions,
  createAddressPolicy,
  fetchErrors,
  parseFetchableUrl,
} from './address-policy.ts';
import { exchange, isHarmless, type OutgoingRequest, type ReadLimits, readLimited } from './exchange.ts';

const REDIRECTS = new Set([301, 302, 303, 307, 308]);

const SNIFFED_BYTES = 1024;
const MAX_QUOTED_URL = 500;

export interface GuardedFetchOptions extends AddressPolicyOptions {
  /** Bytes of the decoded answer; default 2 MiB. */
  maxBytes?: number;
  /** What happens beyond that: an error (default), or the part that fits. With `cut` and 0 bytes no body is waited for. */
  overflow?: 'refuse' | 'cut';
  /** For the whole exchange, redirects and body included; default 20 seconds. */
  timeoutMs?: number;
  /** Default 5; with 0 a redirect is handed back as it came. */
  maxRedirects?: number;
  userAgent?: string;
}

export interface GuardedRequest {
  method?: string;
  headers?: Readonly<Record<string, string>>;
  body?: string | Uint8Array;
  signal?: AbortSignal;
  /** Whether a redirect to this address may be followed; all may when not given. */
  allowsRedirect?: (target: URL) => boolean;
}

export interface GuardedResponse {
  status: number;
  /** Where the answer came from, after redirects. */
  url: string;
  headers: Headers;
  /** In lower case, without parameters; empty when none was sent. */
  contentType: string;
  body: Uint8Array;
  /** The body was longer than allowed and was cut. */
  truncated: boolean;
  /** The body decoded by the charset it declares, else as UTF-8. */
  text(): string;
}

export type GuardedFetch = (url: string | URL, request?: GuardedRequest) => Promise<GuardedResponse>;

const DEFAULTS = {
  maxBytes: 2 * 1024 * 1024,
  overflow: 'refuse',
  timeoutMs: 20_000,
  maxRedirects: 5,
  userAgent: 'trunkline',
} as const;

/** A fetch for addresses that users, models or pages supply: it reaches public addresses only, within limits. */
export function createGuardedFetch(options: GuardedFetchOptions = {}): GuardedFetch {
  const settings = { ...DEFAULTS, ...options };
  const policy = createAddressPolicy(options);
  return async (input, request = {}) => {
    const url = parseFirst(input);
    const deadline = new Deadline({ timeoutMs: settings.timeoutMs, signal: request.signal });
    let isAnswered = false;
    try {
      const first = firstRequest(url, request, settings.userAgent);
      const follow = { maxRedirects: settings.maxRedirects, allows: request.allowsRedirect };
      const answer = await followRedirects(first, follow, async (outgoing) => {
        const response = await exchange(outgoing, policy, deadline.signal);
        isAnswered = true;
        return response;
      });
      return await toGuardedResponse(answer, settings, deadline.signal);
    } catch (error) {
      throw explain(error, { url, ms: settings.timeoutMs, deadline, given: request.signal, isAnswered });
    } finally {
      deadline.clear();
    }
  };
}

/** What would change the connection itself, or how the request is framed on it. */
const REFUSED_METHODS = new Set(['CONNECT', 'TRACE', 'TRACK']);
const REFUSED_HEADERS = new Set([
  'connection',
  'expect',
  'keep-alive',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
]);

function firstRequest(url: URL, request: GuardedRequest, userAgent: string): OutgoingRequest {
  const { method = 'GET', headers = {}, body } = request;
  if (REFUSED_METHODS.has(method.toUpperCase())) throw new TypeError(`the method ${method} is not allowed`);
  const refused = Object.keys(headers).find((name) => REFUSED_HEADERS.has(name.toLowerCase()));
  if (refused !== undefined) throw new TypeError(`the header ${refused} is not allowed`);
  return {
    url,
    method: method.toUpperCase(),
    headers: { 'user-agent': userAgent, ...headers },
    ...(body === undefined ? {} : { body }),
  };
}

/** An answer and the address that it came from. */
interface Answer {
  url: URL;
  response: IncomingMessage;
}

async function followRedirects(
  first: OutgoingRequest,
  { maxRedirects, allows = () => true }: { maxRedirects: number; allows?: GuardedRequest['allowsRedirect'] },
  send: (request: OutgoingRequest) => Promise<IncomingMessage>,
): Promise<Answer> {
  let request = first;
  for (let count = 0; ; count += 1) {
    const response = await send(request);
    if (maxRedirects === 0 || !isRedirect(response)) return { url: request.url, response };
    response.destroy();
    if (count === maxRedirects) throw fetchErrors.redirects_exceeded({ count: maxRedirects });
    request = redirected(request, response);
    const { url } = request;
    if (!allows(url)) throw fetchErrors.redirect_refused({ url: url.href.slice(0, MAX_QUOTED_URL) });
  }
}

async function toGuardedResponse(
  { url, response }: Answer,
  limits: ReadLimits,
  signal: AbortSignal,
): Promise<GuardedResponse> {
  const { body, truncated } = await readLimited(response, limits, signal);
  const declared = response.headers['content-type'] ?? '';
  return {
    status: response.statusCode ?? 0,
    url: url.href.slice(0, url.href.length - url.hash.length),
    headers: headersOf(response),
    contentType: (declared.split(';')[0] ?? '').trim().toLowerCase(),
    body,
    truncated,
    text: () => decodeText(body, declared),
  };
}

function headersOf({ rawHeaders }: IncomingMessage): Headers {
  const headers = new Headers();
  for (let at = 0; at + 1 < rawHeaders.length; at += 2)
    headers.append(rawHeaders[at] ?? '', rawHeaders[at + 1] ?? '');
  return headers;
}

interface FailureContext {
  url: URL;
  ms: number;
  deadline: Deadline;
  given: AbortSignal | undefined;
  isAnswered: boolean;
}

/** Our own refusals come wrapped by the client; a caller's abort stays what it is. */
function explain(error: unknown, context: FailureContext): unknown {
  const { url, ms, deadline, given, isAnswered } = context;
  if (given?.aborted) return given.reason;
  const host = url.hostname;
  const ours = findHttpError(error) ?? (deadline.isExpired && fetchErrors.fetch_timeout({ host, ms }));
  const explained = ours || fetchErrors.fetch_failed({ host, reason: errorMessage(error) }, { cause: error });
  // Another failure may quote: a certificate says for which names it is.
  if (!isAnswered && (ours || isConnectionFailure(error))) unanswered.add(explained);
  return explained;
}

function isConnectionFailure(error: unknown): boolean {
  const code = systemCode(error instanceof Error ? (error.cause ?? error) : error);
  return code !== undefined && connectionFailure(code) !== code;
}

const unanswered = new WeakSet<object>();

/** Whether a guarded fetch failed before anybody answered, so that its words hold nothing that others wrote. */
export function isUnanswered(error: unknown): boolean {
  return error instanceof Error && unanswered.has(error);
}

function parseFirst(input: string | URL): URL {
  try {
    return parseFetchableUrl(input);
  } catch (error) {
    if (error instanceof Error) unanswered.add(error);
    throw error;
  }
}

/** Decodes by the charset of the header, else of the page's own meta element, else as UTF-8. */
function decodeText(body: Uint8Array, contentType: string): string {
  const label = charsetIn(contentType) ?? charsetIn(openingOf(body)) ?? 'utf-8';
  return decoderFor(label).decode(body);
}

function charsetIn(text: string): string | undefined {
  return /charset\s*=\s*["']?([\w.:-]+)/i.exec(text)?.[1];
}

function openingOf(body: Uint8Array): string {
  const opening = Buffer.from(body.subarray(0, SNIFFED_BYTES)).toString('latin1');
  return opening.match(/<meta[^>]*>/gi)?.find((tag) => /charset/i.test(tag)) ?? '';
}

function decoderFor(label: string): TextDecoder {
  try {
    return new TextDecoder(label);
  } catch (error) {
    if (error instanceof RangeError) return new TextDecoder();
    throw error;
  }
}

function isRedirect({ statusCode = 0, headers }: IncomingMessage): boolean {
  return REDIRECTS.has(statusCode) && headers.location !== undefined;
}

/** The request to send next, as browsers would: 303, and 301 or 302 after a POST, become a GET. */
function redirected(request: OutgoingRequest, response: IncomingMessage): OutgoingRequest {
  const url = redirectTarget(request.url, response.headers.location ?? '');
  const { method, headers, body } = request;
  const kept = url.origin === request.url.origin ? headers : harmless(headers);
  if (becomesGet(method, response.statusCode ?? 0))
    return { url, method: method === 'HEAD' ? 'HEAD' : 'GET', headers: kept };
  return { url, method, headers: kept, ...(body !== undefined && { body }) };
}

function redirectTarget(base: URL, location: string): URL {
  const target = URL.parse(location, base);
  if (target === null) throw fetchErrors.redirect_invalid();
  return parseFetchableUrl(target);
}

function harmless(headers: Readonly<Record<string, string>>): Record<string, string> {
  const entries = Object.entries(headers);
  return Object.fromEntries(entries.filter(([name]) => isHarmless(name)));
}

function becomesGet(method: string, status: number): boolean {
  return status === 303 || ((status === 301 || status === 302) && method === 'POST');
}

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
