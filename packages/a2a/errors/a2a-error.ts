import type { Logger } from '../protocol/model.ts';

interface ErrorBinding {
  /** The code on the JSON-RPC wire. */
  code: number;
  /** The status on the REST wire. */
  status: number;
  /** The name of that status in the 1.0 error form. */
  statusName: string;
}

const notSupported = { status: 400, statusName: 'FAILED_PRECONDITION' };
const badRequest = { status: 400, statusName: 'INVALID_ARGUMENT' };

/** Every failure a caller can meet, under the name that 1.0 gives as its reason. */
const catalogue = {
  PARSE_ERROR: { code: -32700, ...badRequest },
  INVALID_REQUEST: { code: -32600, ...badRequest },
  METHOD_NOT_FOUND: { code: -32601, status: 404, statusName: 'NOT_FOUND' },
  INVALID_PARAMS: { code: -32602, ...badRequest },
  INTERNAL_ERROR: { code: -32603, status: 500, statusName: 'INTERNAL' },
  OVERLOADED: { code: -32603, status: 503, statusName: 'UNAVAILABLE' },
  QUOTA_EXCEEDED: { code: -32603, status: 429, statusName: 'RESOURCE_EXHAUSTED' },
  TASK_NOT_FOUND: { code: -32001, status: 404, statusName: 'NOT_FOUND' },
  TASK_NOT_CANCELABLE: { code: -32002, ...notSupported },
  PUSH_NOTIFICATION_NOT_SUPPORTED: { code: -32003, ...notSupported },
  UNSUPPORTED_OPERATION: { code: -32004, ...notSupported },
  CONTENT_TYPE_NOT_SUPPORTED: { code: -32005, ...badRequest },
  EXTENSION_SUPPORT_REQUIRED: { code: -32008, ...notSupported },
  VERSION_NOT_SUPPORTED: { code: -32009, ...notSupported },
} as const satisfies Record<string, ErrorBinding>;

export type A2aErrorReason = keyof typeof catalogue;

export function isErrorReason(name: unknown): name is A2aErrorReason {
  return typeof name === 'string' && Object.hasOwn(catalogue, name);
}

/** The first error of a JSON-RPC code: 0.3 names no reasons. */
export function reasonOfCode(code: unknown): A2aErrorReason | undefined {
  return Object.keys(catalogue)
    .filter(isErrorReason)
    .find((reason) => catalogue[reason].code === code);
}

interface A2aErrorOptions extends ErrorOptions {
  /** The parameter that is wrong. */
  field?: string | undefined;
  /** Nothing was accepted: the caller may ask again after so many seconds. */
  retryAfterSeconds?: number;
}

/** A failure whose message goes to the caller as it is. */
export class A2aError extends Error {
  readonly reason: A2aErrorReason;
  readonly retryAfterSeconds: number | undefined;
  readonly field: string | undefined;

  constructor(reason: A2aErrorReason, message: string, options: A2aErrorOptions = {}) {
    super(message, options);
    this.name = 'A2aError';
    this.reason = reason;
    this.retryAfterSeconds = options.retryAfterSeconds;
    this.field = options.field;
  }

  /** For the HTTP answer that carries the error. */
  get headers(): Record<string, string> {
    return this.retryAfterSeconds === undefined ? {} : { 'retry-after': String(this.retryAfterSeconds) };
  }

  get binding(): ErrorBinding {
    return catalogue[this.reason];
  }
}

export function taskNotFound(id: string): A2aError {
  return new A2aError('TASK_NOT_FOUND', `Task not found: ${id}`);
}

/** `field` is the path of the parameter that is wrong, where it is one. */
export function invalidParams(message: string, field?: string): A2aError {
  return new A2aError('INVALID_PARAMS', message, { field });
}

/** A caller must not hold an id that a crash could make us forget, nor take for accepted what was not. */
export async function requireStored(stored: Promise<boolean>): Promise<void> {
  if (await stored) return;
  throw new A2aError('INTERNAL_ERROR', 'Internal error: the task could not be written to disk');
}

/** Hides the details of unexpected failures from callers. */
function toA2aError(error: unknown): A2aError {
  if (error instanceof A2aError) return error;
  return new A2aError('INTERNAL_ERROR', 'Internal error: the server log has the details', { cause: error });
}

/** What 1.0 tells programs about an error beside its code. */
export function errorDetails({ reason, field, message }: A2aError): object[] {
  const info = {
    '@type': 'type.googleapis.com/google.rpc.ErrorInfo',
    reason,
    domain: 'a2a-protocol.org',
  };
  if (field === undefined) return [info];
  const fieldViolations = [{ field, description: message }];
  return [info, { '@type': 'type.googleapis.com/google.rpc.BadRequest', fieldViolations }];
}

/** Logs unexpected failures, whose details callers do not see. */
export function reportError(error: unknown, logger: Logger): A2aError {
  const reported = toA2aError(error);
  if (reported.reason === 'INTERNAL_ERROR') logger.error({ err: error }, 'A2A request failed');
  return reported;
}
