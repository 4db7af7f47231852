import { connectionFailure, errorMessage, systemCode } from '@trunkline/std';
import type { RequestInit, Response } from 'undici';
import { findHttpError } from '../errors/http-error.ts';
import {
  type AddressPolicyOptions,
  createAddressPolicy,
  fetchErrors,
  parseFetchableUrl,
} from './address-policy.ts';

const REDIRECTS = new Set([301, 302, 303, 307, 308]);

/** What another host may see of the first request; credentials come in headers of any name. */
const HARMLESS_HEADERS = new Set(['accept', 'accept-language', 'content-type', 'user-agent']);

const SNIFFED_BYTES = 1024;
const MAX_QUOTED_URL = 500;

export interface GuardedFetchOptions extends AddressPolicyOptions {
  /** Bytes of the decoded answer; default 2 MiB. */
  maxBytes?: number;
  /** What happens beyond that: an error (default), or the part that fits. */
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
    const deadline = AbortSignal.timeout(settings.timeoutMs);
    const signal = request.signal === undefined ? deadline : AbortSignal.any([deadline, request.signal]);
    // The client is heavy, and many processes never fetch a page: it is loaded with the first one.
    const { createGuardedAgent, exchangeOver, undiciFetch } = await import('./guarded-agent.ts');
    const agent = createGuardedAgent(policy, signal);
    let isAnswered = false;
    try {
      const outgoing = firstRequest(url, request, settings.userAgent);
      const follow = { maxRedirects: settings.maxRedirects, allows: request.allowsRedirect };
      const response = await followRedirects(outgoing, follow, async ({ url, init }) => {
        const answer = await undiciFetch(url, { ...init, redirect: 'manual', dispatcher: agent, signal });
        isAnswered = true;
        return answer;
      });
      return await toGuardedResponse(response, settings);
    } catch (error) {
      throw explain(error, { url, ms: settings.timeoutMs, deadline, given: request.signal, isAnswered });
    } finally {
      await agent.destroy(exchangeOver);
    }
  };
}

function firstRequest(url: URL, request: GuardedRequest, userAgent: string): OutgoingRequest {
  const { method = 'GET', headers = {}, body } = request;
  const init = {
    method,
    headers: { 'user-agent': userAgent, ...headers },
    ...(body === undefined ? {} : { body }),
  };
  return { url, init };
}

async function followRedirects(
  first: OutgoingRequest,
  { maxRedirects, allows = () => true }: { maxRedirects: number; allows?: GuardedRequest['allowsRedirect'] },
  send: (request: OutgoingRequest) => Promise<Response>,
): Promise<Response> {
  let request = first;
  for (let count = 0; ; count += 1) {
    const response = await send(request);
    if (maxRedirects === 0 || !isRedirect(response)) return response;
    if (count === maxRedirects) throw fetchErrors.redirects_exceeded({ count: maxRedirects });
    await response.body?.cancel();
    request = redirected(request, response);
    const { url } = request;
    if (!allows(url)) throw fetchErrors.redirect_refused({ url: url.href.slice(0, MAX_QUOTED_URL) });
  }
}

async function toGuardedResponse(response: Response, limits: ReadLimits): Promise<GuardedResponse> {
  const { body, truncated } = await readLimited(response, limits);
  const declared = response.headers.get('content-type') ?? '';
  return {
    status: response.status,
    url: response.url,
    headers: new Headers([...response.headers]),
    contentType: (declared.split(';')[0] ?? '').trim().toLowerCase(),
    body,
    truncated,
    text: () => decodeText(body, declared),
  };
}

interface FailureContext {
  url: URL;
  ms: number;
  deadline: AbortSignal;
  given: AbortSignal | undefined;
  isAnswered: boolean;
}

/** Our own refusals come wrapped by the client; a caller's abort stays what it is. */
function explain(error: unknown, context: FailureContext): unknown {
  const { url, ms, deadline, given, isAnswered } = context;
  if (given?.aborted) return given.reason;
  const host = url.hostname;
  const ours = findHttpError(error) ?? (deadline.aborted && fetchErrors.fetch_timeout({ host, ms }));
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

interface ReadLimits {
  maxBytes: number;
  overflow: 'refuse' | 'cut';
}

/** Reads the decoded body and stops as soon as it is too long; a small compressed body may unpack to a huge one. */
async function readLimited(
  response: Response,
  { maxBytes, overflow }: ReadLimits,
): Promise<{ body: Uint8Array; truncated: boolean }> {
  if (response.body === null) return { body: new Uint8Array(), truncated: false };
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of response.body as AsyncIterable<Uint8Array>) {
    const room = maxBytes - size;
    chunks.push(chunk.byteLength > room ? chunk.subarray(0, room) : chunk);
    size += chunk.byteLength;
    if (size > maxBytes) break;
  }
  if (size > maxBytes && overflow === 'refuse') throw fetchErrors.response_too_large({ bytes: maxBytes });
  return { body: Buffer.concat(chunks), truncated: size > maxBytes };
}

interface OutgoingRequest {
  url: URL;
  init: RequestInit & { method: string; headers: Readonly<Record<string, string>> };
}

function isRedirect(response: Response): boolean {
  return REDIRECTS.has(response.status) && response.headers.has('location');
}

/** The request to send next, as browsers would: 303, and 301 or 302 after a POST, become a GET. */
function redirected(request: OutgoingRequest, response: Response): OutgoingRequest {
  const url = redirectTarget(request.url, response.headers.get('location') ?? '');
  const { method, headers, ...rest } = request.init;
  const kept = url.origin === request.url.origin ? headers : harmless(headers);
  if (!becomesGet(method, response.status)) return { url, init: { ...rest, method, headers: kept } };
  const { body: _dropped, ...bodiless } = rest;
  return { url, init: { ...bodiless, method: method === 'HEAD' ? 'HEAD' : 'GET', headers: kept } };
}

function redirectTarget(base: URL, location: string): URL {
  const target = URL.parse(location, base);
  if (target === null) throw fetchErrors.redirect_invalid();
  return parseFetchableUrl(target);
}

function harmless(headers: Readonly<Record<string, string>>): Record<string, string> {
  const entries = Object.entries(headers);
  return Object.fromEntries(entries.filter(([name]) => HARMLESS_HEADERS.has(name.toLowerCase())));
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
