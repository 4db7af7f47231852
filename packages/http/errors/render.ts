import { HTTPException } from 'hono/http-exception';
import type { RequestContext } from '../app/context.ts';
import { HttpError } from './http-error.ts';
import { httpErrors } from './http-errors.ts';

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
export function respondToError(thrown: unknown, context: RequestContext, render: RenderError): Response {
  const error = toHttpError(thrown, context);
  logServerError(error, thrown, context);
  const { method, path } = context.req;
  const reply = render(error, { method, path, requestId: context.get('requestId') });
  return new Response(JSON.stringify(reply.body), {
    status: reply.status ?? error.status,
    // Pages tell failures apart by it: the bodies have the shapes that the contracts ask for.
    headers: { 'content-type': 'application/json', 'x-error-code': error.code, ...error.headers },
  });
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
