import { OPERATOR_REQUIRED } from '../operator/operatorApi.ts';
import { ApiError, answerError, unreachedError } from './apiError.ts';

const TIME_LIMIT_MS = 30_000;
/** Of one request; each one more than the first had a new key or a new session. */
const MAX_ATTEMPTS = 10;

/** How a key is sent: the header X-API-Key, or Authorization: Bearer. */
export type KeyScheme = 'api-key' | 'bearer';

export interface ApiOptions {
  scheme: KeyScheme;
  readKey(): string | null;
  /**
   * Asks the person for a key; null when they would rather not. Empty when they signed in as operator instead.
   * `refused` says that the last key was not accepted; `reason` is what the service says about it.
   */
  askKey(refused: boolean, reason?: string): Promise<string | null>;
  /** Asks the person to sign in as operator; gives whether they did. */
  askOperator?(): Promise<boolean>;
  /** Something was kept back because the browser is not the operator's. */
  onOperatorMissed?(): void;
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
      for (let attempt = 1; ; attempt += 1) {
        const key = options.readKey();
        const response = await send(url, request, keyHeaders());
        const body = await readBody(response);
        if (response.ok || request.accept?.includes(response.status)) return body as Body;
        const error = answerError(response.status, body, response.headers.get('x-error-code'));
        // Whoever is signed in and refused all the same would be asked for ever.
        if (attempt > MAX_ATTEMPTS || !(await mayRetry(options, error, request, key))) throw error;
      }
    },
  };
}

function headersFor(scheme: KeyScheme, key: string | null): Record<string, string> {
  if (key === null) return {};
  return scheme === 'bearer' ? { authorization: `Bearer ${key}` } : { 'x-api-key': key };
}

/** What the person does can wait for them to sign in; what the page loads by itself must not ask them each time. */
async function mayRetry(
  options: ApiOptions,
  error: ApiError,
  request: ApiRequest,
  usedKey: string | null,
): Promise<boolean> {
  if (error.status === 401) return await hasNewKey(options, usedKey, error);
  if (error.code !== OPERATOR_REQUIRED) return false;
  if ((request.method ?? 'GET') !== 'GET' || request.body !== undefined)
    return (await options.askOperator?.()) ?? false;
  options.onOperatorMissed?.();
  return false;
}

const PLAIN_REFUSALS = new Set(['KEY_REFUSED', 'unauthenticated', 'unknown_key']);

// Another request may have got a new key in the meantime.
async function hasNewKey(
  { readKey, askKey }: ApiOptions,
  usedKey: string | null,
  { code, message }: ApiError,
): Promise<boolean> {
  const present = readKey();
  if (present !== null && present !== usedKey) return true;
  const reason = PLAIN_REFUSALS.has(code) ? undefined : message;
  return (await askKey(usedKey !== null, reason)) !== null;
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
