import type { MiddlewareHandler } from 'hono';
import { httpErrors } from '../errors/http-errors.ts';

/** Lets only listed origins in. An empty list lets everyone in, and so does `*`; with a list, no Origin is no entry. */
export function originGuard(allowed: readonly string[]): MiddlewareHandler {
  const listed = allowed.filter((origin) => origin.trim() !== '');
  const isAllowed = originMatcher(listed);
  return async (context, next) => {
    const origin = context.req.header('origin');
    if (listed.length > 0 && !isAllowed(origin))
      throw httpErrors.origin_not_allowed({ origin: origin ?? '' });
    return next();
  };
}

/** Compares without regard to case and blanks around; `*` matches everything. */
export function originMatcher(allowed: readonly string[]): (origin: string | undefined) => boolean {
  const entries = new Set(allowed.map(normalise));
  entries.delete('');
  return (origin) => entries.has('*') || (origin !== undefined && entries.has(normalise(origin)));
}

function normalise(origin: string): string {
  return origin.trim().toLowerCase();
}
