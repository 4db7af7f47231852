import { isIP } from 'node:net';
import { httpErrors } from '../errors/http-errors.ts';
import { originMatcher } from './origin-guard.ts';

interface PageContext {
  get(name: 'allowedHosts'): readonly string[] | undefined;
  readonly req: { readonly method: string; header(name: string): string | undefined };
}

/** Names that nobody outside can have: a resolver of the internet does not know them. */
const LOCAL_NAME = /^[^.]+$|\.(localhost|local|internal|lan|home|home\.arpa)$/;
const HARMLESS_METHODS = new Set(['GET', 'HEAD', 'OPTIONS']);

/**
 * For services that ask for no key: throws when a page with a name of the internet wants to read or change something.
 * Any site can let its name point at this machine, or post to an address in the network of its visitor, and browsers
 * mark neither as coming from elsewhere while the page has no TLS. A page they mark as ours is ours.
 */
export function refuseForeignPage(context: PageContext, allowedOrigins: readonly string[] = []): void {
  const { req } = context;
  if (req.header('sec-fetch-site') !== undefined) return;
  const origin = req.header('origin');
  if (allowedOrigins.length > 0 && originMatcher(allowedOrigins)(origin)) return;
  refuseForeignName(req.header('host'), context.get('allowedHosts') ?? []);
  if (origin === undefined || HARMLESS_METHODS.has(req.method)) return;
  if (isForeign(origin)) throw httpErrors.foreign_page({ origin });
}

/** A page that reached us by a name of the internet may have made that name point here itself. */
function refuseForeignName(host: string | undefined, allowedHosts: readonly string[]): void {
  if (host === undefined) return;
  const name = nameOf(host);
  if (!isLocal(name) && !allowedHosts.includes(name)) throw httpErrors.foreign_name({ name });
}

/** Pages with TLS cannot reach a service without it, but for this machine, and then they are marked. */
function isForeign(origin: string): boolean {
  const url = URL.parse(origin);
  return url === null || (url.protocol === 'http:' && !isLocal(nameOf(url.host)));
}

function isLocal(name: string): boolean {
  return isIP(name) !== 0 || LOCAL_NAME.test(name);
}

/** Without port, brackets and the dot at the end. */
function nameOf(host: string): string {
  return host
    .toLowerCase()
    .replace(/:\d*$/, '')
    .replace(/^\[|\]$/g, '')
    .replace(/\.$/, '');
}
