import type { Env, Hono } from 'hono';
import { inspectRoutes } from 'hono/dev';
import { TrieRouter } from 'hono/router/trie-router';
import { type HttpError, httpErrors } from '../errors/http-error.ts';

export interface RouteEntry {
  /** `ALL` for a handler that takes every method. */
  method: string;
  path: string;
}

/** Every method and path that a handler answers, middleware left out. */
export function listRoutes<E extends Env>(app: Hono<E>): RouteEntry[] {
  const seen = new Map<string, RouteEntry>();
  for (const { method, path, isMiddleware } of inspectRoutes(app)) {
    if (!isMiddleware || method !== 'ALL') seen.set(`${method} ${path}`, { method, path });
  }
  return [...seen.values()];
}

/** Tells an unknown path (404) from a known one that was asked with the wrong method (405). */
export function createNotFound<E extends Env>(app: Hono<E>): (method: string, path: string) => HttpError {
  let router: TrieRouter<string> | undefined;
  return (method, path) => {
    router ??= methodRouter(listRoutes(app));
    const allowed = allowedMethods(router, path);
    if (allowed.length === 0 || allowed.includes(method)) return httpErrors.route_not_found({ method, path });
    const headers = { allow: allowed.join(', ') };
    return httpErrors.method_not_allowed({ method, path, allowed }, { headers });
  };
}

function methodRouter(routes: readonly RouteEntry[]): TrieRouter<string> {
  const router = new TrieRouter<string>();
  for (const route of routes) router.add('ALL', route.path, route.method);
  return router;
}

function allowedMethods(router: TrieRouter<string>, path: string): string[] {
  const methods = router.match('ALL', path)[0].map(([method]) => method);
  if (methods.includes('ALL')) return [];
  const all = new Set(methods.flatMap((method) => (method === 'GET' ? ['GET', 'HEAD'] : [method])));
  return [...all];
}
