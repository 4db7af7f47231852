import { secretsInHeaders } from '@trunkline/config';
import { limitBody } from '@trunkline/std';
import { z } from 'zod';
import { fromStatus, type TranslationOptions } from './error-translation.ts';
import { explain } from './limits.ts';
import { ModelError } from './model-error.ts';
import { noteEndpointKind } from './profiles/endpoint-kind.ts';
import { readErrorText } from './wire/error-body.ts';
import { headersAfter, redirectOf } from './wire/post.ts';

/** Where the models are, taken apart so that no secret stands in an address. */
export interface Endpoint {
  baseUrl: string;
  query: Record<string, string>;
  headers: Record<string, string>;
  /** For people: the address without credentials and query. */
  shownUrl: string;
  secrets: string[];
}

const listingLimitMs = 10_000;
// Shorter ones are placeholders such as "none", which would blank out ordinary words.
const shortestSecret = 6;
const mostRedirects = 3;
const longestListing = 16 * 1024 * 1024;

const modelListSchema = z.union([
  z.object({ data: z.array(z.object({ id: z.string() })) }).transform((list) => list.data),
  z.array(z.object({ id: z.string() })),
]);

export function parseEndpoint(
  url: string,
  apiKey: string | undefined,
  more: Readonly<Record<string, string>> = {},
): Endpoint {
  const parsed = URL.canParse(url) ? new URL(url) : undefined;
  if (parsed === undefined || !/^https?:$/.test(parsed.protocol)) {
    throw new ModelError('misconfigured', { detail: 'LLM_GATEWAY_URL must be an http or https address' });
  }
  const path = parsed.pathname.replace(/\/+$/, '').replace(/\/chat\/completions$/, '');
  const baseUrl = `${parsed.origin}${path}`;
  const password = decodeURIComponent(parsed.password);
  const query = Object.fromEntries(parsed.searchParams);
  const secrets = [apiKey ?? '', password, ...Object.values(query), ...secretsInHeaders(more)].filter(
    (secret) => secret.length >= shortestSecret,
  );
  const added = Object.entries(more).map(([name, value]) => [name.toLowerCase(), value]);
  const headers = { ...authorization(parsed, apiKey), ...Object.fromEntries(added) };
  return { baseUrl, query, headers, shownUrl: baseUrl, secrets };
}

/** The names of the models that the endpoint lists. */
export async function listModels(endpoint: Endpoint, caller: AbortSignal | undefined): Promise<string[]> {
  const translation: TranslationOptions = { secrets: endpoint.secrets };
  const limit = AbortSignal.timeout(listingLimitMs);
  try {
    const signal = caller ? AbortSignal.any([caller, limit]) : limit;
    const response = await getFollowing(new URL(listingAddress(endpoint)), endpoint.headers, signal);
    const body = await limitBody(response, { maxBytes: longestListing }).text();
    if (!response.ok) throw refusal(response, body, translation);
    const listing = parseJson(body);
    noteEndpointKind(endpoint.baseUrl, response.headers, listing);
    return namesIn(listing);
  } catch (error) {
    throw explain(error, caller, limit, translation);
  }
}

/** Node's fetch would carry added headers to any host. */
async function getFollowing(
  url: URL,
  headers: Record<string, string>,
  signal: AbortSignal,
): Promise<Response> {
  let [address, sent] = [url, headers];
  for (let redirects = 0; ; redirects += 1) {
    const response = await fetch(address, { headers: sent, signal, redirect: 'manual' });
    const next = redirectOf(response.status, response.headers.get('location'), address);
    if (next === undefined) return response;
    await response.body?.cancel();
    if (redirects === mostRedirects)
      throw new ModelError('bad-answer', { status: response.status, detail: 'too many redirects' });
    sent = headersAfter(sent, address, next);
    address = next;
  }
}

function listingAddress(endpoint: Endpoint): string {
  const query = new URLSearchParams(endpoint.query).toString();
  return `${endpoint.baseUrl}/models${query === '' ? '' : `?${query}`}`;
}

function refusal(response: Response, body: string, translation: TranslationOptions): ModelError {
  return fromStatus(response.status, readErrorText(body), Object.fromEntries(response.headers), translation);
}

function namesIn(listing: unknown): string[] {
  const listed = modelListSchema.safeParse(listing);
  if (!listed.success) throw new ModelError('bad-answer', { detail: 'no list of models at /models' });
  return listed.data.map((model) => model.id);
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** A key goes as a bearer token; credentials in the address, which fetch refuses, as basic ones. */
function authorization(url: URL, apiKey: string | undefined): Record<string, string> {
  if (apiKey) return { authorization: `Bearer ${apiKey}` };
  if (url.username === '' && url.password === '') return {};
  const pair = `${decodeURIComponent(url.username)}:${decodeURIComponent(url.password)}`;
  return { authorization: `Basic ${Buffer.from(pair).toString('base64')}` };
}
