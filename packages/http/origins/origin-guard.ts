import { isIP } from 'node:net';
import { BoundedMap } from '@trunkline/std';
import type { RequestCheck, RequestContext } from '../app/context.ts';
import { type HeaderReader, hasCredentials } from '../callers/credentials.ts';
import { httpErrors } from '../errors/http-error.ts';

const SAFE_METHODS = new Set(['GET', 'HEAD', 'OPTIONS']);

const A2A_PATH = /^\/(v1\/)?(a2a(\/|$)|message:|tasks(\/|$))/;

/** Names that nobody outside can have: a resolver of the internet does not know them. */
const LOCAL_NAME = /^[^.]+$|\.(localhost|local|internal|lan|home|home\.arpa)$/;

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
function originMatcher(allowed: readonly string[]): (origin: string | undefined) => boolean {
  const entries = new Set(allowed.map(normalise));
  entries.delete('');
  return (origin) => entries.has('*') || (origin !== undefined && entries.has(normalise(origin)));
}

function normalise(origin: string): string {
  return origin.trim().toLowerCase();
}

/** Whether only this machine reaches a server that listens on the host, or that the host of an address is this machine. */
export function isLoopbackHost(host: string): boolean {
  const name = host.replace(/^\[|\]$/g, '').toLowerCase();
  return name === 'localhost' || name.endsWith('.localhost') || name === '::1' || /^127\.[\d.]+$/.test(name);
}

interface PageGuardOptions {
  /** Origins whose pages may send changes to A2A routes; `*` stands for all. A2A_ALLOWED_ORIGINS. */
  a2aOrigins?: readonly string[] | undefined;
  /** The address by which people reach the service, behind a proxy for instance. */
  publicUrl?: string | undefined;
}

/** A2A has its own rules for origins and content types: other agents may name any Origin unless a list is set. */
export function isA2aPath(path: string): boolean {
  return A2A_PATH.test(path) && path !== '/a2a/callback';
}

/**
 * Refuses changes that a page of another origin sends, which any page can make a browser do. Another port of the same
 * host is another origin. Requests with a key in a header are not concerned: a browser adds such a header for a
 * foreign page only after a preflight, which this service does not answer.
 */
export function refuseForeignPages(options: PageGuardOptions): RequestCheck {
  const isAllowed = originMatcher(originOf(options.publicUrl));
  const isA2aOrigin = originMatcher(options.a2aOrigins ?? []);
  return ({ req }) => {
    if (SAFE_METHODS.has(req.method) || hasCredentials(req)) return;
    const origin = req.header('origin');
    const isA2a = isA2aPath(req.path);
    if (isAllowed(origin) || (isA2a && isA2aOrigin(origin))) return;
    if (isForeignSite(req.header('sec-fetch-site')) || !(isA2a || isOwn(origin, req.header('host'))))
      throw httpErrors.foreign_page({ origin: origin ?? 'another origin' });
  };
}

/** Browsers say `same-origin` for our own pages and `none` for what the user typed. */
function isForeignSite(site: string | undefined): boolean {
  return site === 'cross-site' || site === 'same-site';
}

/** Programs send no Origin; a page is ours when it came from the host and port that it asks. */
function isOwn(origin: string | undefined, host: string | undefined): boolean {
  if (origin === undefined) return true;
  const url = URL.parse(origin);
  return (
    url !== null && host !== undefined && /^https?:$/.test(url.protocol) && url.host === hostOf(host, url)
  );
}

/** Without the default port of the scheme, as browsers write origins. */
function hostOf(host: string, { protocol }: URL): string | undefined {
  return URL.parse(`${protocol}//${host}`)?.host;
}

function originOf(publicUrl: string | undefined): string[] {
  return publicUrl === undefined ? [] : [new URL(publicUrl).origin];
}

/**
 * For services that ask for no key: a page that reached us by a name of the internet may have made that name point
 * here itself (DNS rebinding), so only addresses, names of the local network and listed names are answered.
 */
export function refuseForeignName(context: Pick<RequestContext, 'get' | 'req'>): void {
  const host = context.req.header('host');
  if (host === undefined || localHosts.has(host)) return;
  const name = nameOf(host);
  if (isIP(name) !== 0 || LOCAL_NAME.test(name)) {
    if (host.length <= LONGEST_HOST) localHosts.set(host, true);
    return;
  }
  if (!(context.get('kit')?.allowedHosts ?? []).includes(name)) throw httpErrors.foreign_name({ name });
}

/** Hosts that are local by their name, as they come again with every request. */
const localHosts = new BoundedMap<string, true>(1000);
const LONGEST_HOST = 100;

/** Without port, brackets and the dot at the end. */
function nameOf(host: string): string {
  return host
    .toLowerCase()
    .replace(/:\d*$/, '')
    .replace(/^\[|\]$/g, '')
    .replace(/\.$/, '');
}
