import { errorMessage } from '@trunkline/std';
import { OPERATOR_REQUIRED } from '../operator/operatorApi.ts';

const SERVER_FAILED: GeneralWords = {
  code: 'SERVER_FAILED',
  message: 'The service failed at this request.',
  advice: 'Try again; the log of the service says what went wrong.',
};

const FOR_THE_OPERATOR: GeneralWords = {
  code: OPERATOR_REQUIRED,
  message: 'Only the operator may see or do this.',
  advice: 'Sign in as operator, then try again: "npx trunkline login" prints a link.',
};

const REQUEST_REFUSED: GeneralWords = {
  code: 'REQUEST_REFUSED',
  message: 'The service refused this request.',
  advice: 'Check what you entered and try again.',
};

const GENERAL: Record<number, GeneralWords> = {
  401: { code: 'KEY_REFUSED', message: 'The service asks for a key.', advice: 'Enter a key that it knows.' },
  403: {
    code: 'FORBIDDEN',
    message: 'Your key does not allow this.',
    advice: 'Use a key with more rights, or ask who runs the service.',
  },
  404: {
    code: 'NOT_FOUND',
    message: 'This does not exist, or no longer.',
    advice: 'Go back and reload the list.',
  },
  409: { ...REQUEST_REFUSED, advice: 'Reload the page and try again.' },
  413: { code: 'TOO_LARGE', message: 'What you sent is too large.', advice: 'Send less at a time.' },
  429: { code: 'TOO_MANY', message: 'Too many requests at once.', advice: 'Wait a moment, then try again.' },
  503: {
    code: 'NOT_READY',
    message: 'The service is not ready yet.',
    advice: 'Wait a moment, then try again.',
  },
};

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
  /** Something was withheld because the browser is not the operator's. */
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
        // A person who is signed in and still refused would be asked without end.
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

/** A request that failed, in words for the person in front of the page: what failed, why, and what to do. */
export class ApiError extends Error {
  override readonly name = 'ApiError';
  /** The HTTP status; 0 when the service was not reached. */
  readonly status: number;
  readonly code: string;
  /** What to do about it. */
  readonly advice: string;
  /** What the service answered, as far as it could be read. */
  readonly body: unknown;

  constructor(fields: {
    status: number;
    code: string;
    message: string;
    advice: string;
    body?: unknown;
    cause?: unknown;
  }) {
    super(fields.message, { cause: fields.cause });
    this.status = fields.status;
    this.code = fields.code;
    this.advice = fields.advice;
    this.body = fields.body;
  }
}

/** The failure that an HTTP answer tells of. */
export function answerError(status: number, body: unknown, code?: string | null): ApiError {
  if (code === OPERATOR_REQUIRED) return new ApiError({ ...FOR_THE_OPERATOR, status, body });
  const general = GENERAL[status] ?? (status >= 500 ? SERVER_FAILED : REQUEST_REFUSED);
  return new ApiError({
    status,
    code: codeIn(body) ?? code ?? general.code,
    message: wordsIn(body) ?? general.message,
    advice: general.advice,
    body,
  });
}

/** The failure of a request that got no answer. */
export function unreachedError(cause: unknown): ApiError {
  const tooSlow = cause instanceof Error && cause.name === 'TimeoutError';
  return new ApiError({
    status: 0,
    code: tooSlow ? 'TIMEOUT' : 'UNREACHABLE',
    message: tooSlow ? 'The service took too long to answer.' : 'The service does not answer.',
    advice: tooSlow
      ? 'Try again; if it stays slow, look at the log of the service.'
      : 'Check that the service runs and that you are on its network, then try again.',
    cause,
  });
}

/** Any thrown value as an ApiError, so that one view can show it. */
export function asApiError(error: unknown): ApiError {
  if (error instanceof ApiError) return error;
  const message = errorMessage(error);
  return new ApiError({
    status: 0,
    code: 'UNEXPECTED',
    message,
    advice: 'Reload the page and try again.',
    cause: error,
  });
}

interface GeneralWords {
  code: string;
  message: string;
  advice: string;
}

// Services answer {error: {message}}, {error: "..."}, {detail: "..."} or {message: "..."}, as each contract says.
function wordsIn(body: unknown): string | undefined {
  const { error, detail, message } = fieldsOf(body);
  return [fieldsOf(error).message, error, detail, message].find(isText);
}

function codeIn(body: unknown): string | undefined {
  const { error, code } = fieldsOf(body);
  return [fieldsOf(error).code, code].find(isText);
}

function fieldsOf(value: unknown): Record<'error' | 'detail' | 'message' | 'code', unknown> {
  const none = { error: undefined, detail: undefined, message: undefined, code: undefined };
  return typeof value === 'object' && value !== null ? { ...none, ...value } : none;
}

function isText(value: unknown): value is string {
  return typeof value === 'string' && value !== '';
}
