import type { RequestContext } from '../app/context.ts';
import type { RequestCheck } from '../app/request-check.ts';
import { originMatcher } from './origin-guard.ts';

const ONE_HOUR_SECONDS = 3600;
const METHODS = 'GET, HEAD, PUT, POST, DELETE, PATCH';

/** Lets pages of the listed origins read answers. Without a list nothing is sent, and browsers refuse. */
export function allowCors(origins: readonly string[]): RequestCheck {
  const isAllowed = originMatcher(origins);
  return (context) => {
    const headers = context.get('standardHeaders');
    headers.vary = 'Origin';
    const origin = context.req.header('origin');
    if (origin !== undefined && isAllowed(origin)) {
      headers['access-control-allow-origin'] = origin;
      headers['access-control-expose-headers'] = 'x-request-id';
      if (context.req.method === 'OPTIONS') allowRequest(context, headers);
    }
    return context.req.method === 'OPTIONS' ? new Response(null, { status: 204 }) : undefined;
  };
}

/** Answers what a browser asks before the request itself. */
function allowRequest(context: RequestContext, headers: Record<string, string>): void {
  headers['access-control-allow-methods'] = METHODS;
  headers['access-control-max-age'] = String(ONE_HOUR_SECONDS);
  const wanted = context.req.header('access-control-request-headers');
  if (wanted !== undefined) headers['access-control-allow-headers'] = wanted;
}
