import { httpErrors } from '../errors/http-errors.ts';

interface HeaderReader {
  header(name: string): string | undefined;
}

/** Throws when the Origin of the request is not allowed. */
export type OriginCheck = (request: HeaderReader) => void;

/**
 * For handlers that learn only from the body what is asked.
 * An empty list lets everyone in, and so does `*`; with a list, a missing Origin is no entry of it.
 */
export function createOriginCheck(allowed: readonly string[]): OriginCheck {
  const listed = allowed.filter((origin) => origin.trim() !== '');
  const isAllowed = originMatcher(listed);
  return (request) => {
    const origin = request.header('origin');
    if (listed.length > 0 && !isAllowed(origin))
      throw httpErrors.origin_not_allowed({ origin: origin ?? '' });
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
