import { RESPONSE_ALREADY_SENT } from '@hono/node-server/utils/response';
import { anonymous } from '@trunkline/identity';
import { type Context, Hono, type MiddlewareHandler } from 'hono';
import { routePath } from 'hono/route';
import { type AccessOptions, createIdentify } from '../callers/identify.ts';
import { mountOperator } from '../callers/operator-routes.ts';
import type { RenderError } from '../errors/render.ts';
import { type HealthReport, mountHealth } from '../health/mount-health.ts';
import type { Metrics } from '../metrics/metrics.ts';
import { mountMetrics } from '../metrics/mount-metrics.ts';
import { mountDocs } from '../openapi/mount-docs.ts';
import { allowCors } from '../origins/cors.ts';
import { refuseForeignPages } from '../origins/page-guard.ts';
import { listRoutes } from '../routes/list-routes.ts';
import { type BodyLimit, capBody, createBodyLimit, limitBody } from './body-limit.ts';
import { requireBodyType } from './body-type.ts';
import type { AppEnv } from './context.ts';
import { FixedPathRouter } from './fixed-path-router.ts';
import type { Logger } from './logger.ts';
import { createNotFound } from './not-found.ts';
import { RequestFrame } from './request-frame.ts';
import { withHeaders } from './security-headers.ts';

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
