import { errorMessage } from '@trunkline/std';
import { OPERATOR_REQUIRED } from '../operator/operatorApi.ts';

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
