import { isIP } from 'node:net';
import { httpErrors } from '../errors/http-errors.ts';
import { originMatcher } from './origin-guard.ts';

interface PageRequest {
  readonly method: string;
  header(name: string): string | undefined;
}

/** Names that nobody outside can have: a resolver of the internet does not know them. */
const LOCAL_NAME = /^[^.]+$|\.(localhost|local|internal|lan|home|home\.arpa)$/;
const HARMLESS_METHODS = new Set(['GET', 'HEAD', 'OPTIONS']);

/**
 * For services that ask for no key: throws when a page with a name of the internet wants to change something.
 * Any site can let its name point at this machine, or post to an address in the network of its visitor, and browsers
 * mark neither as coming from elsewhere while the page has no TLS. A page they mark as ours is ours.
 */
export function refuseForeignPage(request: PageRequest, allowedOrigins: readonly string[] = []): void {
  const origin = request.header('origin');
  if (origin === undefined || HARMLESS_METHODS.has(request.method)) return;
  if (request.header('sec-fetch-site') !== undefined || originMatcher(allowedOrigins)(origin)) return;
  if (isForeign(origin)) throw httpErrors.foreign_page({ origin });
}

/** Pages with TLS cannot reach a service without it, but for this machine, and then they are marked. */
function isForeign(origin: string): boolean {
  const url = URL.parse(origin);
  if (url === null) return true;
  const host = url.hostname.replace(/^\[|\]$/g, '').replace(/\.$/, '');
  return url.protocol === 'http:' && isIP(host) === 0 && !LOCAL_NAME.test(host);
}
