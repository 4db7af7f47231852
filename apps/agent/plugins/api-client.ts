import { createGuardedFetch, type GuardedResponse } from '@trunkline/http';
import type { z } from 'zod';

export interface ApiOptions {
  /** Names the service in error messages. */
  name: string;
  url: string;
  headers: () => Promise<Record<string, string>>;
  timeoutMs?: number;
}

interface ApiRequest {
  method?: string;
  body?: unknown;
  /** In place of a body, where files go with it. */
  form?: FormData;
  headers?: Record<string, string>;
  signal: AbortSignal;
}

export type ApiClient = (path: string, request: ApiRequest) => Promise<GuardedResponse>;

/** Calls one service of the operator's choice; anything but success is an error whose message can be shown. */
export function createApiClient({ name, url, headers, timeoutMs = 20_000 }: ApiOptions): ApiClient {
  const { hostname } = new URL(url);
  const fetch = createGuardedFetch({ allowedHosts: [hostname], timeoutMs, maxRedirects: 0 });
  return async (path, { method = 'GET', body, form, headers: more = {}, signal }) => {
    const encoded = form && new Response(form);
    const content =
      encoded !== undefined
        ? { body: new Uint8Array(await encoded.arrayBuffer()) }
        : body === undefined
          ? {}
          : { body: JSON.stringify(body) };
    const response = await fetch(`${url.replace(/\/+$/, '')}${path}`, {
      method,
      signal,
      ...content,
      headers: {
        ...(body !== undefined && { 'content-type': 'application/json' }),
        ...(encoded && { 'content-type': encoded.headers.get('content-type') ?? '' }),
        ...(await headers()),
        ...more,
      },
    });
    if (response.status >= 300) throw failure(name, response);
    return response;
  };
}

export async function readJson<Schema extends z.ZodType>(
  api: ApiClient,
  path: string,
  schema: Schema,
  signal: AbortSignal,
): Promise<z.output<Schema>> {
  return schema.parse(JSON.parse((await api(path, { signal })).text()));
}

function failure(name: string, response: GuardedResponse): Error {
  const { status } = response;
  if (status === 429) return new Error(`${name} limits the rate: retry_after ${retryAfter(response)}`);
  const said = messageIn(response.text());
  if (status === 401 || status === 403) return new Error(`${name} refuses the credentials${said}.`);
  if (status === 404) return new Error(`${name} knows nothing of the kind${said}.`);
  return new Error(`${name} answered with status ${status}${said}.`);
}

/** Seconds, from the body or the header. */
function retryAfter(response: GuardedResponse): number {
  const inBody = (parsed(response.text()) as { retry_after?: unknown } | undefined)?.retry_after;
  const given = Number(inBody ?? response.headers.get('retry-after') ?? Number.NaN);
  return Number.isFinite(given) ? given : 1;
}

function messageIn(text: string): string {
  const { message } = (parsed(text) ?? {}) as { message?: unknown };
  return typeof message === 'string' ? ` (${message.slice(0, 200)})` : '';
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    if (error instanceof SyntaxError) return undefined;
    throw error;
  }
}
