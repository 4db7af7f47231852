import type { RequestCheck } from '../app/request-check.ts';
import { httpErrors } from '../errors/http-errors.ts';
import { originMatcher } from './origin-guard.ts';

const HARMLESS_METHODS = new Set(['GET', 'HEAD', 'OPTIONS']);

/**
 * Refuses changes that a browser marks as coming from a page of another site, unless its origin is listed.
 * Programs do not send the mark and are not concerned.
 */
export function refuseCrossSite(allowedOrigins: readonly string[]): RequestCheck {
  const isAllowed = originMatcher(allowedOrigins);
  return ({ req }) => {
    const crossSite = req.header('sec-fetch-site') === 'cross-site';
    if (crossSite && !HARMLESS_METHODS.has(req.method) && !isAllowed(req.header('origin'))) {
      throw httpErrors.cross_site_refused();
    }
    return undefined;
  };
}
