import type { MiddlewareHandler } from 'hono';
import { httpErrors } from '../errors/http-errors.ts';
import { originMatcher } from './origin-guard.ts';

const HARMLESS_METHODS = new Set(['GET', 'HEAD', 'OPTIONS']);

/**
 * Refuses changes that a browser marks as coming from a page of another site, unless its origin is listed.
 * Programs do not send the mark and are not concerned.
 */
export function refuseCrossSite(allowedOrigins: readonly string[]): MiddlewareHandler {
  const isAllowed = originMatcher(allowedOrigins);
  return async (context, next) => {
    const crossSite = context.req.header('sec-fetch-site') === 'cross-site';
    if (crossSite && !HARMLESS_METHODS.has(context.req.method) && !isAllowed(context.req.header('origin'))) {
      throw httpErrors.cross_site_refused();
    }
    return next();
  };
}
