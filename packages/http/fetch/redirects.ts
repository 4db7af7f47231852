import type { RequestInit, Response } from 'undici';
import { fetchErrors } from './errors.ts';
import { parseFetchableUrl } from './public-url.ts';

export interface OutgoingRequest {
  url: URL;
  init: RequestInit & { method: string; headers: Readonly<Record<string, string>> };
}

const REDIRECTS = new Set([301, 302, 303, 307, 308]);
/** What another host may see of the first request; credentials come in headers of any name. */
const HARMLESS_HEADERS = new Set(['accept', 'accept-language', 'content-type', 'user-agent']);

export function isRedirect(response: Response): boolean {
  return REDIRECTS.has(response.status) && response.headers.has('location');
}

/** The request to send next, as browsers would: 303, and 301 or 302 after a POST, become a GET. */
export function redirected(request: OutgoingRequest, response: Response): OutgoingRequest {
  const url = redirectTarget(request.url, response.headers.get('location') ?? '');
  const { method, headers, ...rest } = request.init;
  const kept = url.origin === request.url.origin ? headers : harmless(headers);
  if (!becomesGet(method, response.status)) return { url, init: { ...rest, method, headers: kept } };
  const { body: _dropped, ...bodiless } = rest;
  return { url, init: { ...bodiless, method: method === 'HEAD' ? 'HEAD' : 'GET', headers: kept } };
}

function redirectTarget(base: URL, location: string): URL {
  const target = URL.parse(location, base);
  if (target === null) throw fetchErrors.redirect_invalid();
  return parseFetchableUrl(target);
}

function harmless(headers: Readonly<Record<string, string>>): Record<string, string> {
  const entries = Object.entries(headers);
  return Object.fromEntries(entries.filter(([name]) => HARMLESS_HEADERS.has(name.toLowerCase())));
}

function becomesGet(method: string, status: number): boolean {
  return status === 303 || ((status === 301 || status === 302) && method === 'POST');
}
