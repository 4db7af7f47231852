import { randomUUID } from 'node:crypto';
import type { Principal } from '@trunkline/identity';
import type { HeaderReader } from '../callers/credentials.ts';
import { type RenderError, respondToError } from '../errors/http-error.ts';
import type { Metrics } from '../metrics/metrics.ts';
import {
  type KitVariables,
  type Logger,
  type RequestCheck,
  type RequestContext,
  runChecks,
} from './context.ts';

/** What an answer that is no page needs: nothing may be loaded by it or framed. */
const API_POLICY = "default-src 'none'; frame-ancestors 'none'";

/** Everything from the service itself; blobs are recordings and workers that a page makes. */
export const PAGE_POLICY = [
  "default-src 'self'",
  "style-src 'self'",
  "img-src 'self' data: blob:",
  "media-src 'self' blob:",
  "worker-src 'self' blob:",
  "object-src 'none'",
  "base-uri 'self'",
  "form-action 'self'",
  "frame-ancestors 'none'",
].join('; ');

const SECURITY_HEADERS = {
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer',
  'x-frame-options': 'DENY',
  'cross-origin-resource-policy': 'same-origin',
  'content-security-policy': API_POLICY,
} as const;

const SECRET_NAME =
  /(?:key|token|secret|password|passwd|auth|authorization|signature|sig|credentials?|code)$/i;

const METHODS = new Set(['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']);

const SANE_ID = /^[A-Za-z0-9][A-Za-z0-9._:-]{0,127}$/;

export interface FrameOptions {
  logger: Logger;
  metrics: Metrics | undefined;
  renderError: RenderError;
  allowedHosts: readonly string[];
  checks: readonly RequestCheck[];
  identify: (request: HeaderReader) => Principal;
}

/** What goes round every request, whoever finds its route. */
export class RequestFrame {
  readonly #options: FrameOptions;

  constructor(options: FrameOptions) {
    this.#options = options;
  }

  /** What handlers find in their context; the id is the caller's where it gave a sane one. */
  begin(request: HeaderReader): KitVariables {
    const { logger, metrics, allowedHosts, identify } = this.#options;
    const requestId = chooseRequestId(request.header('x-request-id'));
    return {
      requestId,
      logger: new RequestLogger(logger, requestId),
      metrics,
      standardHeaders: standardHeaders(requestId),
      allowedHosts,
      principal: identify(request),
    };
  }

  /** Throws for a request that no route may see, or answers it. */
  check(context: RequestContext): Response | undefined {
    return runChecks(this.#options.checks, context);
  }

  refuse(thrown: unknown, context: RequestContext): Response {
    return respondToError(thrown, context, this.#options.renderError);
  }

  record(context: RequestContext, answered: AnsweredRequest): void {
    recordRequest(context, this.#options.logger, answered);
  }
}

/** Keeps the id a caller or proxy gave when it is harmless in logs and headers, else makes one. */
function chooseRequestId(given: string | undefined): string {
  return given !== undefined && SANE_ID.test(given) ? given : randomUUID();
}

/** A logger that says which request each line belongs to; made only when a line is written, as most requests write none. */
class RequestLogger implements Logger {
  readonly #parent: Logger;
  readonly #requestId: string;
  #own: Logger | undefined;

  constructor(parent: Logger, requestId: string) {
    this.#parent = parent;
    this.#requestId = requestId;
  }

  debug(fields: object, message: string): void {
    this.#logger.debug(fields, message);
  }

  info(fields: object, message: string): void {
    this.#logger.info(fields, message);
  }

  warn(fields: object, message: string): void {
    this.#logger.warn(fields, message);
  }

  error(fields: object, message: string): void {
    this.#logger.error(fields, message);
  }

  child(fields: Record<string, unknown>): Logger {
    return this.#logger.child(fields);
  }

  get #logger(): Logger {
    this.#own ??= this.#parent.child({ requestId: this.#requestId });
    return this.#own;
  }
}

interface AnsweredRequest {
  /** The pattern, never the path: paths are without number and would fill the memory of the metrics. */
  route: string;
  status: number;
  /** With its query. */
  url: string;
  startedAt: number;
}

/** One line and one measurement a request, when its answer begins. */
function recordRequest(context: RequestContext, logger: Logger, answered: AnsweredRequest): void {
  const { route, status, url, startedAt } = answered;
  const seconds = (performance.now() - startedAt) / 1000;
  const { method, path } = context.req;
  context
    .get('metrics')
    ?.http.requestSeconds.observe({ method: knownMethod(method), route, status }, seconds);
  const fields = {
    requestId: context.get('requestId'),
    method,
    path,
    query: safeQuery(url),
    route,
    status,
    ms: round(seconds * 1000),
  };
  if (status < 400) logger.debug(fields, 'request');
  else logger.info(fields, 'request');
}

function knownMethod(method: string): string {
  return METHODS.has(method) ? method : 'other';
}

/** The query string with the values of secrets blotted out. */
function safeQuery(url: string): string | undefined {
  const start = url.indexOf('?');
  if (start === -1) return undefined;
  const query = new URLSearchParams(url.slice(start + 1));
  for (const name of new Set(query.keys())) if (SECRET_NAME.test(name)) query.set(name, 'redacted');
  return query.toString();
}

function round(milliseconds: number): number {
  return Math.round(milliseconds * 10) / 10;
}

/** The headers of every answer; an answer that sets one itself keeps its own. */
function standardHeaders(requestId: string): Record<string, string> {
  return { ...SECURITY_HEADERS, 'x-request-id': requestId };
}

/** A response that came out of fetch cannot be changed and is copied first. */
export function withHeaders(response: Response, headers: Readonly<Record<string, string>>): Response {
  try {
    addMissing(response.headers, headers);
    return response;
  } catch (error) {
    if (!(error instanceof TypeError)) throw error;
    const copy = new Response(response.body, response);
    addMissing(copy.headers, headers);
    return copy;
  }
}

function addMissing(target: Headers, headers: Readonly<Record<string, string>>): void {
  for (const [name, value] of Object.entries(headers)) {
    if (!target.has(name)) target.set(name, value);
  }
}
