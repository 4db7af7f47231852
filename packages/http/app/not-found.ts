import { TrieRouter } from 'hono/router/trie-router';
import type { HttpError } from '../errors/http-error.ts';
import { httpErrors } from '../errors/http-errors.ts';
import type { RouteEntry } from '../routes/list-routes.ts';

/** Tells an unknown path (404) from a known one that was asked with the wrong method (405). */
export function createNotFound(routes: () => readonly RouteEntry[]) {
  let router: TrieRouter<string> | undefined;
  return (method: string, path: string): HttpError => {
    router ??= methodRouter(routes());
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
