export interface HttpErrorOptions {
  /** More for the reader of the answer; the service's renderer decides whether it is shown. */
  details?: unknown;
  headers?: Readonly<Record<string, string>>;
  cause?: unknown;
}

/** A failure with a code for programs, a status for HTTP and words for people. */
export class HttpError extends Error {
  readonly code: string;
  readonly status: number;
  readonly details: unknown;
  readonly headers: Readonly<Record<string, string>>;

  constructor(code: string, status: number, message: string, options: HttpErrorOptions = {}) {
    super(message, 'cause' in options ? { cause: options.cause } : undefined);
    this.name = 'HttpError';
    this.code = code;
    this.status = status;
    this.details = options.details;
    this.headers = options.headers ?? {};
  }
}
