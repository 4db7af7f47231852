import { ApiError, answerError, unreachedError } from './apiError.ts';

const TIME_LIMIT_MS = 30_000;

/** How a key is sent: the header X-API-Key, or Authorization: Bearer. */
export type KeyScheme = 'api-key' | 'bearer';

export interface ApiOptions {
  scheme: KeyScheme;
  readKey(): string | null;
  /** Asks the person for a key; null when they would rather not. `refused` says that the last one was not accepted. */
  askKey(refused: boolean): Promise<string | null>;
  /** Where relative addresses lead; in a browser the page's own. */
  origin?: string;
}

export interface ApiRequest {
  method?: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  /** Sent as JSON; FormData and text go as they are. */
  body?: unknown;
  signal?: AbortSignal;
  timeLimitMs?: number;
  /** Statuses besides 2xx whose body is an answer, not a failure. */
  accept?: readonly number[];
}

export interface Api {
  /** The body of the answer; fails with an ApiError. A 401 asks for a key and tries again. */
  request<Body>(path: string, request?: ApiRequest): Promise<Body>;
  /** What a stream needs to be let in. */
  keyHeaders(): Record<string, string>;
  askKey(refused: boolean): Promise<string | null>;
}

export function createApi(options: ApiOptions): Api {
  const keyHeaders = () => headersFor(options.scheme, options.readKey());
  return {
    keyHeaders,
    askKey: (refused) => options.askKey(refused),
    async request<Body>(path: string, request: ApiRequest = {}): Promise<Body> {
      const url = options.origin === undefined ? path : new URL(path, options.origin).href;
      for (;;) {
        const key = options.readKey();
        const response = await send(url, request, keyHeaders());
        const body = await readBody(response);
        if (response.ok || request.accept?.includes(response.status)) return body as Body;
        const mayRetry = response.status === 401 && (await hasNewKey(options, key));
        if (!mayRetry) throw answerError(response.status, body);
      }
    },
  };
}

function headersFor(scheme: KeyScheme, key: string | null): Record<string, string> {
  if (key === null) return {};
  return scheme === 'bearer' ? { authorization: `Bearer ${key}` } : { 'x-api-key': key };
}

// Another request may have got a new key in the meantime.
async function hasNewKey({ readKey, askKey }: ApiOptions, usedKey: string | null): Promise<boolean> {
  const present = readKey();
  if (present !== null && present !== usedKey) return true;
  return (await askKey(usedKey !== null)) !== null;
}

async function send(url: string, request: ApiRequest, keyHeaders: Record<string, string>): Promise<Response> {
  const limit = AbortSignal.timeout(request.timeLimitMs ?? TIME_LIMIT_MS);
  const { type, body } = encodeBody(request.body);
  try {
    return await fetch(url, {
      method: request.method ?? (body === undefined ? 'GET' : 'POST'),
      headers: { accept: 'application/json', ...type, ...keyHeaders },
      ...(body !== undefined && { body }),
      signal: request.signal === undefined ? limit : AbortSignal.any([limit, request.signal]),
    });
  } catch (error) {
    if (request.signal?.aborted) throw error;
    throw unreachedError(error);
  }
}

function encodeBody(body: unknown): { type: Record<string, string>; body?: BodyInit } {
  if (body === undefined) return { type: {} };
  if (typeof body === 'string' || body instanceof FormData || body instanceof Blob) return { type: {}, body };
  return { type: { 'content-type': 'application/json' }, body: JSON.stringify(body) };
}

async function readBody(response: Response): Promise<unknown> {
  const text = await response.text();
  if (!response.headers.get('content-type')?.includes('json')) return text;
  try {
    return text === '' ? undefined : JSON.parse(text);
  } catch (cause) {
    throw new ApiError({
      status: response.status,
      code: 'UNREADABLE',
      message: 'The service answered with broken JSON.',
      advice: 'Reload the page; if it stays, the log of the service says more.',
      cause,
    });
  }
}
