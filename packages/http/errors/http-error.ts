import { unescape as percentDecoded } from 'node:querystring';
import { HTTPException } from 'hono/http-exception';
import type { RequestContext } from '../app/context.ts';

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

/** The HttpError that an error is or was caused by: readers of bodies and HTTP clients wrap what stopped them. */
export function findHttpError(error: unknown): HttpError | undefined {
  if (error instanceof HttpError) return error;
  return error instanceof Error && error.cause !== undefined ? findHttpError(error.cause) : undefined;
}

/** Whether it says that somebody may not come in, in contrast to a failure to find out, as of a busy database. */
export function isRefusal(error: unknown): boolean {
  const status = findHttpError(error)?.status;
  return status === 401 || status === 403;
}

/** Status, and the words as a fixed sentence or made from arguments. */
type ErrorEntry = readonly [status: number, words: string | ((args: never) => string)];

/** What the API description needs to know of an error. */
export interface ErrorKind {
  readonly code: string;
  readonly status: number;
}

type ErrorFactory<Entry extends ErrorEntry> = ErrorKind &
  (Entry[1] extends (args: infer Args) => string
    ? (args: Args, options?: HttpErrorOptions) => HttpError
    : (options?: HttpErrorOptions) => HttpError);

type ErrorCatalogue<Table extends Record<string, ErrorEntry>> = {
  readonly [Code in keyof Table]: ErrorFactory<Table[Code]>;
};

/** Turns a table of codes into functions that make the errors: `throw errors.peer_unknown({ id })`. */
export function defineErrors<const Table extends Record<string, ErrorEntry>>(
  table: Table,
): ErrorCatalogue<Table> {
  const entries = Object.entries(table).map(([code, entry]) => [code, factoryOf(code, entry)]);
  return Object.fromEntries(entries) as ErrorCatalogue<Table>;
}

function factoryOf(code: string, [status, words]: ErrorEntry): unknown {
  const make =
    typeof words === 'string'
      ? (options?: HttpErrorOptions) => new HttpError(code, status, words, options)
      : (args: never, options?: HttpErrorOptions) => new HttpError(code, status, words(args), options);
  return Object.assign(make, { code, status });
}

/** The failures the kit itself raises. Services match on the code where their contract asks for other words. */
export const httpErrors = defineErrors({
  route_not_found: [
    404,
    (request: { method: string; path: string }) => `There is nothing at ${request.method} ${request.path}.`,
  ],
  method_not_allowed: [
    405,
    (request: { method: string; path: string; allowed: readonly string[] }) =>
      `${request.path} does not take ${request.method}. Use ${request.allowed.join(' or ')}.`,
  ],
  body_too_large: [
    413,
    (limit: { bytes: number }) => `The body is larger than the ${limit.bytes} bytes allowed here.`,
  ],
  body_type: [
    415,
    (body: { given: string; wanted: string }) =>
      `The body is ${body.given === '' ? 'of no named type' : body.given}. Send it with the header "Content-Type: ${body.wanted}".`,
  ],
  operator_required: [
    403,
    (request: { keyFile: string }) =>
      `This needs the operator's key. In a browser, open the link that "npx trunkline login" prints; in a program, send the key of ${request.keyFile} as "Authorization: Bearer". TRUNKLINE_OPEN=1 turns this off on a throw-away machine.`,
  ],
  operator_code: [401, 'This link was used already or has expired. Run "npx trunkline login" for a new one.'],
  operator_key: [
    401,
    (request: { keyFile: string }) => `This is not the operator's key. It stands in ${request.keyFile}.`,
  ],
  key_attempts: [
    429,
    (pause: { wait: string }) =>
      `Too many wrong keys came from your address, so its keys are not looked at for ${pause.wait}. Wait, then try again with the right key. The operator's key, keys of accounts and browsers that are signed in still work.`,
  ],
  request_limit: [
    429,
    (bound: { limit: number }) =>
      `Too many requests: a caller may make ${bound.limit} a minute. Wait a moment, ask less often, or let the operator raise REQUEST_LIMIT.`,
  ],
  unauthenticated: [401, 'A key is missing or unknown.'],
  forbidden: [403, 'This key does not allow that.'],
  guest: [
    403,
    'Guests may talk to agents here, and nothing else. Ask the operator to make you a member ("npx trunkline users role").',
  ],
  origin_not_allowed: [
    403,
    (request: { origin: string }) =>
      request.origin === ''
        ? 'The request names no Origin, and this address takes only listed ones.'
        : `The origin ${request.origin} is not allowed here.`,
  ],
  foreign_page: [
    403,
    (request: { origin: string }) =>
      `A page of ${request.origin} may not change anything here. Open the page of this service itself; behind a proxy, let it pass the Host header on, or set the public URL of the service.`,
  ],
  foreign_name: [
    403,
    (request: { name: string }) =>
      `While no key is set, this service answers to addresses and names of the local network, not to ${request.name}; set a key, or put the name into ALLOWED_HOSTS.`,
  ],
  client_closed: [499, 'The client went away before the answer was ready.'],
  internal: [
    500,
    (request: { requestId: string }) =>
      `Something failed inside the service. The log has the cause under request id ${request.requestId}.`,
  ],
  pages_not_built: [
    503,
    'The web pages of this service are not built. Build them, or start the service through its own command, which does.',
  ],
});

export interface ErrorReply {
  /** Default: the error's own status. */
  status?: number;
  /** Sent as JSON. */
  body: unknown;
}

export interface FailedRequest {
  readonly method: string;
  readonly path: string;
  readonly requestId: string;
}

/** How a service's contract words a failure. */
export type RenderError = (error: HttpError, request: FailedRequest) => ErrorReply;

/** The one place where a failure becomes an answer. */
export async function respondToError(
  thrown: unknown,
  context: RequestContext,
  render: RenderError,
): Promise<Response> {
  const error = toHttpError(thrown, context);
  logServerError(error, thrown, context);
  const { method, path } = context.req;
  const reply = render(error, { method, path, requestId: context.get('requestId') });
  return new Response(JSON.stringify(reply.body, await hiderOf(error, context)), {
    status: reply.status ?? error.status,
    // Pages tell failures apart by it: the bodies have the shapes that the contracts ask for.
    headers: { 'content-type': 'application/json', 'x-error-code': error.code, ...error.headers },
  });
}

/** For what a model server, a program or a file said: it may quote a key. Faults of the client quote only the request. */
async function hiderOf(error: HttpError, context: RequestContext) {
  const logger = context.get('logger');
  if (error.status < 500 || logger.hide === undefined) return undefined;
  const brought = await textOfRequest(context);
  return (_name: string, value: unknown) =>
    typeof value === 'string' ? logger.hide?.(value, brought) : value;
}

/** All that the request brought, as it came and decoded. */
async function textOfRequest(context: RequestContext): Promise<string> {
  const { req } = context;
  const body = Object.keys(req.bodyCache).length === 0 ? '' : await req.text().catch(() => '');
  return [req.url, percentDecoded(req.url), ...Object.values(req.header()), body, decoded(body)].join('\n');
}

function decoded(body: string): string {
  try {
    return JSON.stringify(JSON.parse(body));
  } catch {
    return percentDecoded(body.replaceAll('+', ' '));
  }
}

function toHttpError(thrown: unknown, context: RequestContext): HttpError {
  if (thrown instanceof HttpError) return thrown;
  if (thrown instanceof HTTPException) return new HttpError('http_exception', thrown.status, thrown.message);
  if (context.env?.outgoing?.destroyed) return httpErrors.client_closed({ cause: thrown });
  return httpErrors.internal({ requestId: context.get('requestId') }, { cause: thrown });
}

/** A fault of ours is logged with its cause; a fault of the client is left to the access log. */
function logServerError(error: HttpError, thrown: unknown, context: RequestContext): void {
  if (error.status < 500) return;
  const fields = { err: thrown, code: error.code };
  if (error.code === httpErrors.internal.code) context.get('logger').error(fields, 'request failed');
  else context.get('logger').warn(fields, 'request failed');
}
