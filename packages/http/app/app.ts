import { type AuditRecorder, anonymous, createPrincipalCheck, type Principal } from '@trunkline/identity';
import { BoundedMap } from '@trunkline/std';
import { type Env, Hono, type MiddlewareHandler } from 'hono';
import type { Result, Router } from 'hono/router';
import { getPath } from 'hono/utils/url';
import { type AccessOptions, createIdentify, sessionsOf } from '../callers/caller-guard.ts';
import { CallerLimits, type LimitOptions } from '../callers/limits.ts';
import { mountOperator } from '../callers/operator-routes.ts';
import { type RenderError, respondToError } from '../errors/http-error.ts';
import { mountHelp } from '../help/help.ts';
import type { Metrics } from '../metrics/metrics.ts';
import { describeRoute, isRouteDescription } from '../openapi/describe-route.ts';
import { mountDocs } from '../openapi/page.ts';
import { isA2aPath, refuseForeignPages } from '../origins/origin-guard.ts';
import { createNotFound } from '../routes/list-routes.ts';
import { type BodyLimit, createBodyLimit, limitBody, requireBodyType } from './body-limit.ts';
import {
  type AppEnv,
  type Logger,
  type RequestCheck,
  type RequestContext,
  withoutLastSlashes,
  withoutTenant,
} from './context.ts';
import { frameRequest } from './request-frame.ts';

export interface AppOptions {
  service: string;
  version: string;
  /** One sentence for the page at `/docs`. */
  description?: string;
  /** A JSON file with an example of each route, for `/openapi.json` and `/docs`. */
  examples?: string;
  logger: Logger;
  /** The shape of error answers that the service's contract asks for. */
  renderError: RenderError;
  /** Tells everybody; `asker` is anonymous for those who showed no key of the installation. */
  health: (asker: Principal) => HealthReport | Promise<HealthReport>;
  /** Served at `/metrics` when given. */
  metrics?: Metrics;
  /** Asked before metrics and documentation are given out; `/healthz` stays open. */
  guard?: MiddlewareHandler;
  /** Bytes a body may have; default 1 MiB. */
  bodyLimit?: number;
  /** Other limits by path or path prefix; the longest that fits counts. */
  bodyLimits?: Readonly<Record<string, number>>;
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
  limits?: LimitOptions;
  /** The page that a browser sees after signing in; default `/`. */
  homePath?: string;
}

const DEFAULT_BODY_LIMIT = 1024 * 1024;
const OWN_PATHS = ['/metrics', '/openapi.json', '/docs', '/docs/*', '/help', '/help/*'];

export type App<Caller = unknown> = Hono<AppEnv<Caller>>;

/** An app that has ids, logs, limits, errors, health, metrics and documentation; the service adds its routes. */
export function createApp<Caller = unknown>(options: AppOptions): App<Caller> {
  const { access, guard, logger, metrics } = options;
  const respond = (thrown: unknown, context: RequestContext) =>
    respondToError(thrown, context, options.renderError);
  const limitOf = createBodyLimit(options.bodyLimit ?? DEFAULT_BODY_LIMIT, options.bodyLimits ?? {});
  const limits = new CallerLimits(options.limits, metrics);
  const app: App<Caller> = new Hono({ getPath: pathOf });
  app.router = cacheMatches(app.router);
  const notFound = createNotFound(app);
  app.onError(respond);
  app.notFound((context) => respond(notFound(context.req.method, context.req.path), context));
  app.use(
    frameRequest({
      logger,
      metrics,
      allowedHosts: namesOf(options),
      checks: checksOf(options, limitOf),
      limitOf,
      identify: access === undefined ? () => anonymous : createIdentify(access),
      limits,
      accounts: access?.accounts,
      checkPrincipal: principalCheckOf(options),
      audit: access?.audit && createRequestAudit(options.service, access.audit),
      respondToError: respond,
    }),
  );
  mountHealth(app, options.health);
  if (guard !== undefined) for (const path of OWN_PATHS) app.use(path, guard);
  if (metrics !== undefined) mountMetrics(app, metrics);
  mountDocs(app, options);
  mountHelp(app);
  const { service, homePath = '/', publicUrl } = options;
  if (access !== undefined)
    mountOperator(app as unknown as Hono<AppEnv>, access, { service, homePath, publicUrl, limits });
  access?.provider?.mount(app as unknown as Hono<AppEnv>, { homePath, publicUrl, logger });
  return app;
}

/** Callers see only that they were refused; the log says why, as with clocks that differ. */
function principalCheckOf({ access, service, logger }: Pick<AppOptions, 'access' | 'service' | 'logger'>) {
  if (!access?.serviceToken) return undefined;
  const check = createPrincipalCheck(access.serviceToken, service);
  return (given: unknown, message: string) => {
    const checked = check(given, message);
    if ('refusal' in checked) logger.warn({ reason: checked.refusal }, 'signed principal does not count');
    return checked;
  };
}

/**
 * The path that guards and routes see. Some A2A clients append a slash to the address that a card gives: it names the
 * same route. Elsewhere a slash means a folder, as with pages. A tenant of A2A in the path names no route of its own.
 */
function pathOf(request: Request): string {
  const path = withoutTenant(getPath(request));
  const isRoute = path.endsWith('/') && (isA2aPath(path) || CARD_PATH.test(path));
  return isRoute ? withoutLastSlashes(path) : path;
}

/** Paths without parameters that are remembered; a longer path is looked up each time, so that they take little memory. */
const CACHED_PATHS = 1000;
const CACHED_PATH_LENGTH = 200;

/** Remembers which handlers serve a path: the search takes longer with every route, and most paths come again and again. */
function cacheMatches<Handler>(router: Router<Handler>): Router<Handler> {
  const known = new BoundedMap<string, Result<Handler>>(CACHED_PATHS);
  return {
    name: router.name,
    // The document reads descriptions from the list of routes; on the way of a request they would do nothing.
    add(method, path, handler) {
      if (!isDescription(handler)) router.add(method, path, handler);
    },
    match(method, path) {
      const key = `${method} ${path}`;
      const cached = known.get(key);
      if (cached !== undefined) return cached;
      const found = router.match(method, path);
      if (key.length <= CACHED_PATH_LENGTH && !hasParameters(found)) known.set(key, found);
      return found;
    },
  };
}

/** Hono hands each handler to its router together with its route. */
function isDescription(entry: unknown): boolean {
  return Array.isArray(entry) && isRouteDescription(entry[0]);
}

function hasParameters<Handler>([handlers, stash]: Result<Handler>): boolean {
  return stash !== undefined || handlers.some(([, parameters]) => Object.keys(parameters).length > 0);
}

const CARD_PATH =
  /^\/(?:\.well-known\/(?:agent-card|agent|jwks)\.json|extendedAgentCard|v1\/(?:card|extendedAgentCard))\/+$/;

function checksOf(options: AppOptions, limitOf: BodyLimit): RequestCheck[] {
  const { anyBodyType = [], uploadPaths = [] } = options;
  return [
    refuseForeignPages(options),
    ...(anyBodyType === true ? [] : [requireBodyType(uploadPaths, anyBodyType || [])]),
    limitBody(limitOf),
  ];
}

function namesOf({ allowedHosts = [], publicUrl }: AppOptions): string[] {
  const own = publicUrl === undefined ? [] : [new URL(publicUrl).hostname];
  return [...allowedHosts, ...own].map((host) => host.toLowerCase());
}

export interface HealthReport {
  /** 503 while the service cannot do its work. */
  status: 200 | 503;
  body: unknown;
}

/** `/healthz`, for people, load balancers and `trunkline doctor`; never cached. */
function mountHealth<Caller>(app: App<Caller>, health: AppOptions['health']): void {
  const description = describeRoute({ summary: 'Tell whether the service can do its work' });
  app.get('/healthz', description, async (context) => {
    const { status, body } = await health(context.get('principal'));
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

const SAFE_METHODS = new Set(['GET', 'HEAD', 'OPTIONS']);
const SIGN_IN = new Set(['POST /operator', 'GET /operator/enter', 'GET /operator/oidc/callback']);

/** Refusals and failed sign-ins that are recorded one by one within a minute; the rest of the minute is counted, so that guessing fills no disk. */
const MAX_REFUSALS = 60;
const WINDOW_MS = 60_000;

/** Reports what matters of a finished request: changes on operator routes and named ones, sign-ins, and refused callers. */
function createRequestAudit(service: string, audit: AuditRecorder, now: () => number = Date.now) {
  const refusals = { since: 0, recorded: 0, left: 0 };
  return (context: RequestContext, route: string, status: number): void => {
    const action = actionOf(context, route, status);
    if (action === undefined) return;
    const principal = context.get('principal');
    if (status >= 400 && action !== 'http.change') {
      if (now() - refusals.since >= WINDOW_MS) {
        const result = `${refusals.left} more within a minute`;
        if (refusals.left > 0)
          audit.record({ service, action: 'http.refused', subject: 'refused requests', principal, result });
        Object.assign(refusals, { since: now(), recorded: 0, left: 0 });
      }
      if (refusals.recorded >= MAX_REFUSALS) {
        refusals.left += 1;
        return;
      }
      refusals.recorded += 1;
    }
    const change = status < 400 ? context.get('change') : undefined;
    const subject = `${context.req.method} ${route}`;
    const result = change === undefined ? String(status) : `${status}: ${change}`;
    audit.record({ service, action, subject, principal, result });
  };
}

function actionOf(context: RequestContext, route: string, status: number): string | undefined {
  const { method } = context.req;
  if (SIGN_IN.has(`${method} ${route}`)) return 'operator.sign-in';
  if (method === 'DELETE' && route === '/operator' && hasSession(context)) return 'operator.sign-out';
  if (status === 401 || status === 403 || status === 429) return 'http.refused';
  const isChange = context.get('operatorRoute') || context.get('change') !== undefined;
  return isChange && !SAFE_METHODS.has(method) ? 'http.change' : undefined;
}

function hasSession(context: RequestContext): boolean {
  return context.get('principal').kind !== 'anonymous' && sessionsOf(context.req).length > 0;
}
