import type { Response as UndiciResponse } from 'undici';
import { HttpError } from '../errors/http-error.ts';
import { type AddressPolicyOptions, createAddressPolicy } from './address-policy.ts';
import { decodeText } from './decode-text.ts';
import { fetchErrors } from './errors.ts';
import { parseFetchableUrl } from './public-url.ts';
import { readLimited } from './read-limited.ts';
import { isRedirect, type OutgoingRequest, redirected } from './redirects.ts';

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
    const url = parseFetchableUrl(input);
    const deadline = AbortSignal.timeout(settings.timeoutMs);
    const signal = request.signal === undefined ? deadline : AbortSignal.any([deadline, request.signal]);
    // The client is heavy, and many processes never fetch a page: it is loaded with the first one.
    const { createGuardedAgent, undiciFetch } = await import('./guarded-agent.ts');
    const agent = createGuardedAgent(policy, signal);
    try {
      const outgoing = firstRequest(url, request, settings.userAgent);
      const response = await followRedirects(outgoing, settings.maxRedirects, (next) =>
        undiciFetch(next.url, { ...next.init, redirect: 'manual', dispatcher: agent, signal }),
      );
      return await toGuardedResponse(response, settings);
    } catch (error) {
      throw explain(error, { url, ms: settings.timeoutMs, deadline, given: request.signal });
    } finally {
      await agent.destroy();
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
  maxRedirects: number,
  send: (request: OutgoingRequest) => Promise<UndiciResponse>,
): Promise<UndiciResponse> {
  let request = first;
  for (let count = 0; ; count += 1) {
    const response = await send(request);
    if (maxRedirects === 0 || !isRedirect(response)) return response;
    if (count === maxRedirects) throw fetchErrors.redirects_exceeded({ count: maxRedirects });
    await response.body?.cancel();
    request = redirected(request, response);
  }
}

async function toGuardedResponse(
  response: UndiciResponse,
  limits: { maxBytes: number; overflow: 'refuse' | 'cut' },
): Promise<GuardedResponse> {
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
}

/** Our own refusals come wrapped by the client; a caller's abort stays what it is. */
function explain(error: unknown, { url, ms, deadline, given }: FailureContext): unknown {
  if (given?.aborted) return given.reason;
  const refusal = findHttpError(error);
  if (refusal !== undefined) return refusal;
  const host = url.hostname;
  if (deadline.aborted) return fetchErrors.fetch_timeout({ host, ms });
  return fetchErrors.fetch_failed({ host, reason: reasonOf(error) }, { cause: error });
}

function findHttpError(error: unknown): HttpError | undefined {
  if (error instanceof HttpError) return error;
  return error instanceof Error && error.cause !== undefined ? findHttpError(error.cause) : undefined;
}

function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  if (error.cause instanceof Error) return reasonOf(error.cause);
  return error.message === '' ? error.name : error.message;
}
