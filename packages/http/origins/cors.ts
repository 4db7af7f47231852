import type { MiddlewareHandler } from 'hono';
import { cors } from 'hono/cors';
import { originMatcher } from './origin-guard.ts';

const ONE_HOUR_SECONDS = 3600;

/** Lets pages of the listed origins read answers. Without a list nothing is sent, and browsers refuse. */
export function allowCors(origins: readonly string[]): MiddlewareHandler {
  const isAllowed = originMatcher(origins);
  return cors({
    origin: (origin) => (isAllowed(origin) ? origin : null),
    exposeHeaders: ['x-request-id'],
    maxAge: ONE_HOUR_SECONDS,
  });
}
