import { randomUUID } from 'node:crypto';
import { type AccountAccess, anonymous, type Principal, type PrincipalCheck } from '@trunkline/identity';
import type { Context, MiddlewareHandler } from 'hono';
import { routePath } from 'hono/route';
import { stillStands } from '../callers/caller-guard.ts';
import type { HeaderReader } from '../callers/credentials.ts';
import type { CallerLimits } from '../callers/limits.ts';
import type { Metrics } from '../metrics/metrics.ts';
import { isAlreadySent } from '../server/adapter.ts';
import { readHeadersOfNode } from '../server/request-headers.ts';
import { type BodyLimit, capBody } from './body-limit.ts';
import type { AppEnv, KitContext, Logger, RequestCheck, RequestContext } from './context.ts';

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

interface FrameOptions {
  logger: Logger;
  metrics: Metrics | undefined;
  allowedHosts: readonly string[];
  checks: readonly RequestCheck[];
  limitOf: BodyLimit;
  identify: (request: HeaderReader) => Principal;
  limits: CallerLimits;
  accounts: AccountAccess | undefined;
  checkPrincipal: ((given: unknown, message: string) => PrincipalCheck) | undefined;
  audit: ((context: RequestContext, route: string, status: number) => void) | undefined;
  respondToError: (thrown: unknown, context: RequestContext) => Promise<Response>;
}

/** Goes round every request: what comes before any route, and what every answer gets, failures included. */
export function frameRequest(options: FrameOptions): MiddlewareHandler {
  const { logger, metrics, allowedHosts, checks, limitOf, identify, limits, audit, respondToError } = options;
  const { accounts, checkPrincipal } = options;
  // One variable, as each of them costs every request its place in a map.
  const kit: KitContext = { metrics, allowedHosts, accounts, checkPrincipal, keyLimits: limits };
  return async (context: Context<AppEnv>, next) => {
    const startedAt = performance.now();
    if (context.env?.received === context.req.raw) readHeadersOfNode(context.req, context.env.incoming);
    const requestId = chooseRequestId(context.req.header('x-request-id'));
    const standardHeaders = { ...SECURITY_HEADERS, 'x-request-id': requestId };
    context.set('requestId', requestId);
    context.set('logger', logger.child({ requestId }));
    context.set('kit', kit);
    context.set('standardHeaders', standardHeaders);
    context.set('principal', anonymous);
    let answered: (() => void) | undefined;
    try {
      try {
        const principal = identify(context.req);
        context.set('principal', principal);
        context.set('stillStands', () => stillStands(context, principal, identify));
        // Asked for each time: a guard may know the caller by more.
        answered = context.env?.streams?.wait({ end: () => context.env.outgoing.destroy() }, () =>
          context.get('stillStands')(),
        );
      } finally {
        // Also for keys that are refused at once.
        limits.check(context);
      }
      for (const check of checks) check(context);
      capBody(context.req, limitOf);
      await next();
    } catch (thrown) {
      // Hono hands only real Error objects to its error handler.
      context.res = await respondToError(thrown, context);
    } finally {
      answered?.();
    }
    if (!isAlreadySent(context.res)) addHeaders(context, standardHeaders);
    record(context, startedAt);
    limits.settle(context, context.res.status);
    audit?.(context, routePath(context), context.res.status);
  };
}

/** Keeps the id a caller or proxy gave when it is harmless in logs and headers, else makes one. */
function chooseRequestId(given: string | undefined): string {
  return given !== undefined && SANE_ID.test(given) ? given : randomUUID();
}

/** Adds the headers that the answer does not set itself. A response that came out of fetch is read-only and copied first. */
function addHeaders(context: Context, headers: Readonly<Record<string, string>>): void {
  const missing = Object.entries(headers).filter(([name]) => !context.res.headers.has(name));
  try {
    for (const [name, value] of missing) context.res.headers.set(name, value);
  } catch (error) {
    if (!(error instanceof TypeError)) throw error;
    const copy = new Response(context.res.body, context.res);
    for (const [name, value] of missing) copy.headers.set(name, value);
    context.res = copy;
  }
}

/** Logs and measures a request when its answer begins. */
function record(context: Context<AppEnv>, startedAt: number): void {
  const seconds = (performance.now() - startedAt) / 1000;
  const { method, path, url } = context.req;
  const { status } = context.res;
  // The pattern, never the path: paths are without number and would fill the memory of the metrics.
  const route = routePath(context);
  const labels = { method: METHODS.has(method) ? method : 'other', route, status };
  context.get('kit')?.metrics?.http.requestSeconds.observe(labels, seconds);
  const fields = {
    method,
    path,
    query: safeQuery(url),
    route,
    status,
    ms: Math.round(seconds * 10_000) / 10,
  };
  if (status < 400) context.get('logger').debug(fields, 'request');
  else context.get('logger').info(fields, 'request');
}

/** The query string with the values of secrets redacted. */
function safeQuery(url: string): string | undefined {
  const start = url.indexOf('?');
  if (start === -1) return undefined;
  const query = new URLSearchParams(url.slice(start + 1));
  for (const name of new Set(query.keys())) if (SECRET_NAME.test(name)) query.set(name, 'redacted');
  return query.toString();
}
