import { RESPONSE_ALREADY_SENT } from '@hono/node-server/utils/response';
import { anonymous } from '@trunkline/identity';
import { type Context, type Env, Hono, type MiddlewareHandler } from 'hono';
import { inspectRoutes } from 'hono/dev';
import { routePath } from 'hono/route';
import type { Result, Router } from 'hono/router';
import { TrieRouter } from 'hono/router/trie-router';
import { type AccessOptions, createIdentify } from '../callers/caller-guard.ts';
import { mountOperator } from '../callers/operator-routes.ts';
import { type HttpError, httpErrors, type RenderError } from '../errors/http-error.ts';
import type { Metrics } from '../metrics/metrics.ts';
import { describeRoute } from '../openapi/describe-route.ts';
import { mountDocs } from '../openapi/page.ts';
import { allowCors, refuseForeignPages } from '../origins/origin-guard.ts';
import { type BodyLimit, capBody, createBodyLimit, limitBody, requireBodyType } from './body-limit.ts';
import type { AppEnv, Logger } from './context.ts';
import { RequestFrame, withHeaders } from './request-frame.ts';

export interface AppOptions {
  service: string;
  version: string;
  /** One sentence for the page at `/docs`. */
  description?: string;
  logger: Logger;
  /** The shape of error answers that the service's contract asks for. */
  renderError: RenderError;
  health: () => HealthReport | Promise<HealthReport>;
  /** Served at `/metrics` when given. */
  metrics?: Metrics;
  /** Asked before metrics and documentation are given out; `/healthz` stays open. */
  guard?: MiddlewareHandler;
  /** Bytes a body may have; default 1 MiB. */
  bodyLimit?: number;
  /** Other limits by path or path prefix; the longest that fits counts. */
  bodyLimits?: Readonly<Record<string, number>>;
  /** Origins whose pages may read answers and send changes; default none. */
  corsOrigins?: readonly string[];
  /** Names of the internet under which it answers while it has no key; those of the local network need not be listed. */
  allowedHosts?: readonly string[];
  /** Its host is allowed too, and pages of its origin may send changes. */
  publicUrl?: string | undefined;
  /** Origins whose pages may send changes to the A2A routes; `*` stands for all. */
  a2aOrigins?: readonly string[] | undefined;
  /** Paths that take `multipart/form-data` beside JSON. */
  uploadPaths?: readonly string[];
  /** Paths of signed webhooks, which come in whatever type the sender chose; true for a server that has nothing else. */
  anyBodyType?: boolean | readonly string[];
  /** Who the operator and our own services are; without it nobody is either, and there are no routes to sign in. */
  access?: AccessOptions;
  /** The page that a browser sees after signing in; default `/`. */
  homePath?: string;
}

const DEFAULT_BODY_LIMIT = 1024 * 1024;
const OWN_PATHS = ['/metrics', '/openapi.json', '/docs', '/docs/*'];

export type App<Caller = unknown> = Hono<AppEnv<Caller>>;

/** An app that has ids, logs, limits, errors, health, metrics and documentation; the service adds its routes. */
export function createApp<Caller = unknown>(options: AppOptions): App<Caller> {
  const limitOf = createBodyLimit({
    default: options.bodyLimit ?? DEFAULT_BODY_LIMIT,
    paths: options.bodyLimits ?? {},
  });
  const frame = createFrame(options, limitOf);
  const app: App<Caller> = new Hono();
  app.router = new FixedPathRouter(app.router);
  const notFound = createNotFound(() => listRoutes(app));
  app.onError((error, context) => frame.refuse(error, context));
  app.notFound((context) => frame.refuse(notFound(context.req.method, context.req.path), context));
  app.use(frameRequest(frame, limitOf));
  mountHealth(app, options.health);
  if (options.guard !== undefined) for (const path of OWN_PATHS) app.use(path, options.guard);
  if (options.metrics !== undefined) mountMetrics(app, options.metrics);
  mountDocs(app, options);
  if (options.access !== undefined) {
    mountOperator(app as unknown as Hono<AppEnv>, options.access.operator, options.homePath ?? '/');
  }
  return app;
}

function createFrame(options: AppOptions, limitOf: BodyLimit): RequestFrame {
  const { logger, metrics, renderError, corsOrigins, access, anyBodyType = [], uploadPaths = [] } = options;
  return new RequestFrame({
    logger,
    metrics,
    renderError,
    allowedHosts: namesOf(options),
    checks: [
      ...(corsOrigins === undefined ? [] : [allowCors(corsOrigins)]),
      refuseForeignPages({ ...options, allowedOrigins: corsOrigins }),
      ...(anyBodyType === true ? [] : [requireBodyType(uploadPaths, anyBodyType || [])]),
      limitBody(limitOf),
    ],
    identify: access === undefined ? () => anonymous : createIdentify(access),
  });
}

/** Goes round every request: what comes before, and what every answer gets, failures included. */
function frameRequest(frame: RequestFrame, limitOf: BodyLimit): MiddlewareHandler {
  return async (context: Context<AppEnv>, next) => {
    const startedAt = performance.now();
    const variables = frame.begin(context.req);
    context.set('requestId', variables.requestId);
    context.set('logger', variables.logger);
    context.set('metrics', variables.metrics);
    context.set('standardHeaders', variables.standardHeaders);
    context.set('allowedHosts', variables.allowedHosts);
    context.set('principal', variables.principal);
    try {
      const answer = frame.check(context);
      if (answer === undefined) {
        capBody(context.req, limitOf);
        await next();
      } else context.res = answer;
    } catch (thrown) {
      // Hono hands only real Error objects to its error handler.
      context.res = frame.refuse(thrown, context);
    }
    if (context.res !== RESPONSE_ALREADY_SENT) addHeaders(context, variables.standardHeaders);
    const { status } = context.res;
    frame.record(context, { route: routePath(context), status, url: context.req.url, startedAt });
  };
}

function namesOf({ allowedHosts = [], publicUrl }: AppOptions): string[] {
  const own = publicUrl === undefined ? [] : [new URL(publicUrl).hostname];
  return [...allowedHosts, ...own].map((host) => host.toLowerCase());
}

function addHeaders(context: Context<AppEnv>, headers: Readonly<Record<string, string>>): void {
  const response = withHeaders(context.res, headers);
  if (response !== context.res) context.res = response;
}

/** Tells an unknown path (404) from a known one that was asked with the wrong method (405). */
function createNotFound(routes: () => readonly RouteEntry[]) {
  let router: TrieRouter<string> | undefined;
  return (method: string, path: string): HttpError => {
    router ??= methodRouter(routes());
    const allowed = allowedMethods(router, path);
    if (allowed.length === 0 || allowed.includes(method)) return httpErrors.route_not_found({ method, path });
    const headers = { allow: allowed.join(', ') };
    return httpErrors.method_not_allowed({ method, path, allowed }, { headers });
  };
}

function methodRouter(routes: readonly RouteEntry[]): TrieRouter<string> {
  const router = new TrieRouter<string>();
  for (const route of routes) router.add('ALL', route.path, route.method);
  return router;
}

function allowedMethods(router: TrieRouter<string>, path: string): string[] {
  const methods = router.match('ALL', path)[0].map(([method]) => method);
  if (methods.includes('ALL')) return [];
  const all = new Set(methods.flatMap((method) => (method === 'GET' ? ['GET', 'HEAD'] : [method])));
  return [...all];
}

/** Remembers what another router found for each path without parameters: the same path always leads to the same handlers. */
class FixedPathRouter<T> implements Router<T> {
  readonly name = 'FixedPathRouter';
  readonly #router: Router<T>;
  /** By path, then by method; only paths that were added, so their number has a bound. */
  readonly #known = new Map<string, Map<string, Result<T>>>();

  constructor(router: Router<T>) {
    this.#router = router;
  }

  add(method: string, path: string, handler: T): void {
    this.#router.add(method, path, handler);
    if (!/[:*]/.test(path)) this.#known.set(path, new Map());
  }

  match(method: string, path: string): Result<T> {
    const results = this.#known.get(path);
    const known = results?.get(method);
    if (known !== undefined) return known;
    const found = this.#router.match(method, path);
    results?.set(method, found);
    return found;
  }
}

export interface HealthReport {
  /** 503 while the service cannot do its work. */
  status: 200 | 503;
  body: unknown;
}

/** `/healthz`, for people, load balancers and `trunkline doctor`; never cached. */
function mountHealth<E extends Env>(app: Hono<E>, health: () => HealthReport | Promise<HealthReport>): void {
  app.get('/healthz', describeRoute({ summary: 'Whether the service can do its work' }), async () => {
    const { status, body } = await health();
    return Response.json(body, { status, headers: { 'cache-control': 'no-store' } });
  });
}

/** `/metrics` in the text format of Prometheus. */
function mountMetrics<E extends Env>(app: Hono<E>, metrics: Metrics): void {
  const description = describeRoute({ summary: 'Figures for Prometheus', mediaType: 'text/plain' });
  app.get('/metrics', description, async () => {
    return new Response(await metrics.render(), { headers: { 'content-type': metrics.contentType } });
  });
}

export interface RouteEntry {
  /** `ALL` for a handler that takes every method. */
  method: string;
  path: string;
}

/** Every method and path that a handler answers, middleware left out. */
export function listRoutes<E extends Env>(app: Hono<E>): RouteEntry[] {
  const seen = new Map<string, RouteEntry>();
  for (const { method, path, isMiddleware } of inspectRoutes(app)) {
    if (!isMiddleware || method !== 'ALL') seen.set(`${method} ${path}`, { method, path });
  }
  return [...seen.values()];
}
