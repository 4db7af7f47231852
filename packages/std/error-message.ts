const maxDepth = 5;

/**
 * The message of anything that was thrown; `fallback` if it has none. Errors that only wrap others (an AggregateError without a message,
 * fetch's "fetch failed") give the message of what they wrap. Other fields stay out: they may hold secrets.
 */
export function errorMessage(error: unknown, fallback = 'unknown error'): string {
  return messageOf(error, 0) || fallback;
}

/** The thrown value as an Error; anything else becomes the cause of one. */
export function toError(error: unknown): Error {
  return error instanceof Error ? error : new Error(errorMessage(error), { cause: error });
}

function messageOf(error: unknown, depth: number): string {
  if (error === undefined || error === null || depth > maxDepth) return '';
  if (typeof error !== 'object') return String(error);
  const { message, cause, errors, code, name } = error as {
    [Key in 'message' | 'cause' | 'errors' | 'code' | 'name']?: unknown;
  };
  const own = typeof message === 'string' ? message : '';
  if (own !== '' && own !== 'fetch failed') return own;
  const wrapped = (Array.isArray(errors) ? [cause, ...errors] : [cause])
    .map((inner) => messageOf(inner, depth + 1))
    .filter((text) => text !== '');
  if (wrapped.length > 0) return [...new Set(wrapped)].join('; ');
  if (own !== '') return own;
  if (typeof code === 'string' && code !== '') return code;
  if (typeof name === 'string' && name !== 'Error') return name;
  return '';
}

/** The system's code of a failure (`ENOENT` and the like), if it has one. */
export function systemCode(error: unknown): string | undefined {
  if (!(error instanceof Error) || !('code' in error)) return undefined;
  return error.code === undefined ? undefined : String(error.code);
}

/** Whether fetch failed on a connection that was cut: a server may close an idle one just as it is used again. */
export function isCutConnection(error: unknown): boolean {
  const code = error instanceof Error ? systemCode(error.cause) : undefined;
  return code !== undefined && ['ECONNRESET', 'EPIPE', 'UND_ERR_SOCKET'].includes(code);
}

const connectionFailures: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'connection refused',
  ECONNRESET: 'the connection broke off',
  EPIPE: 'the connection broke off',
  UND_ERR_SOCKET: 'the connection broke off',
  ENOTFOUND: 'there is no such host',
  EAI_AGAIN: 'the name of the host cannot be looked up',
  EHOSTUNREACH: 'no way to the host',
  ENETUNREACH: 'no way to its network',
  ETIMEDOUT: 'no answer in time',
  UND_ERR_CONNECT_TIMEOUT: 'no answer in time',
};

/** The system's code of a connection that failed, for people; an unknown code as it is. */
export function connectionFailure(code: string): string {
  return connectionFailures[code] ?? code;
}

/** An error with a code for programs and a message for people. */
export class CodedError<Code extends string> extends Error {
  readonly code: Code;

  constructor(code: Code, message: string, options?: ErrorOptions) {
    super(message, options);
    this.code = code;
  }
}
