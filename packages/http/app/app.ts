import { RESPONSE_ALREADY_SENT } from '@hono/node-server/utils/response';
import { type Context, Hono, type MiddlewareHandler } from 'hono';
import { type RenderError, respondToError } from '../errors/render.ts';
import { type HealthReport, mountHealth } from '../health/mount-health.ts';
import type { Metrics } from '../metrics/metrics.ts';
import { mountMetrics } from '../metrics/mount-metrics.ts';
import { mountDocs } from '../openapi/mount-docs.ts';
import { allowCors } from '../origins/cors.ts';
import { refuseCrossSite } from '../origins/cross-site.ts';
import { listRoutes } from '../routes/list-routes.ts';
import { recordRequest } from './access-log.ts';
import { limitBody } from './body-limit.ts';
import type { AppEnv } from './context.ts';
import { FixedPathRouter } from './fixed-path-router.ts';
import type { Logger } from './logger.ts';
import { createNotFound } from './not-found.ts';
import { type RequestCheck, runChecks } from './request-check.ts';
import { chooseRequestId } from './request-id.ts';
import { standardHeaders, withHeaders } from './security-headers.ts';

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
  /** Its host is allowed too. */
  publicUrl?: string | undefined;
}

const DEFAULT_BODY_LIMIT = 1024 * 1024;
const OWN_PATHS = ['/metrics', '/openapi.json', '/docs', '/docs/*'];

/** A Hono app that has ids, logs, limits, errors, health, metrics and documentation; the service adds its routes. */
export function createApp<Caller = unknown>(options: AppOptions): Hono<AppEnv<Caller>> {
  const app = new Hono<AppEnv<Caller>>();
  app.router = new FixedPathRouter(app.router);
  const notFound = createNotFound(() => listRoutes(app));
  app.onError((error, context) => respondToError(error, context, options.renderError));
  app.notFound((context) => {
    const error = notFound(context.req.method, context.req.path);
    return respondToError(error, context, options.renderError);
  });
  app.use(frameRequest(options));
  mountHealth(app, options.health);
  if (options.guard !== undefined) for (const path of OWN_PATHS) app.use(path, options.guard);
  if (options.metrics !== undefined) mountMetrics(app, options.metrics);
  mountDocs(app, options);
  return app;
}

/** Goes round every request: what comes before, and what every answer gets, failures included. */
function frameRequest(options: AppOptions): MiddlewareHandler {
  const allowedHosts = namesOf(options);
  const checks = requestChecks(options);
  return async (context: Context<AppEnv>, next) => {
    const startedAt = performance.now();
    const requestId = chooseRequestId(context.req.header('x-request-id'));
    const headers = standardHeaders(requestId);
    context.set('requestId', requestId);
    context.set('logger', options.logger.child({ requestId }));
    context.set('metrics', options.metrics);
    context.set('standardHeaders', headers);
    context.set('allowedHosts', allowedHosts);
    try {
      const answer = runChecks(checks, context);
      if (answer === undefined) await next();
      else context.res = answer;
    } catch (thrown) {
      // Hono hands only real Error objects to its error handler.
      context.res = respondToError(thrown, context, options.renderError);
    }
    if (context.res !== RESPONSE_ALREADY_SENT) addHeaders(context, headers);
    recordRequest(context, startedAt);
  };
}

function requestChecks({ corsOrigins, bodyLimit, bodyLimits }: AppOptions): RequestCheck[] {
  const limits = { default: bodyLimit ?? DEFAULT_BODY_LIMIT, paths: bodyLimits ?? {} };
  return [
    ...(corsOrigins === undefined ? [] : [allowCors(corsOrigins)]),
    refuseCrossSite(corsOrigins ?? []),
    limitBody(limits),
  ];
}

function namesOf({ allowedHosts = [], publicUrl }: AppOptions): string[] {
  const own = publicUrl === undefined ? [] : [new URL(publicUrl).hostname];
  return [...allowedHosts, ...own].map((host) => host.toLowerCase());
}

function addHeaders(context: Context<AppEnv>, headers: Readonly<Record<string, string>>): void {
  const response = withHeaders(context.res, headers);
  if (response !== context.res) context.res = response;
}
