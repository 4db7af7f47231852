import { getPath } from 'hono/utils/url';

/** By hand: `/\/+$/` goes over every run of slashes in the path, and this runs before anything is checked. */
export function withoutLastSlashes(path: string): string {
  let end = path.length;
  while (path[end - 1] === '/') end -= 1;
  return path.slice(0, end);
}

/** A REST path of A2A with a tenant in it; `v1` is the older form, `tasks` a resource. */
const tenantPath = /^\/a2a\/(?!v1\/|tasks\/)([^/]+)(\/(?:message:|tasks(?:\/|$)|extendedAgentCard).*)$/;

export function withoutTenant(path: string): string {
  if (!path.startsWith('/a2a/')) return path;
  const [, , rest] = tenantPath.exec(path) ?? [];
  return rest === undefined ? path : `/a2a${rest}`;
}

/** The tenant of A2A that the address of a request names, in the path that routes see. */
export function tenantIn(request: Request): string | undefined {
  const [, tenant] = tenantPath.exec(getPath(request)) ?? [];
  if (tenant === undefined) return undefined;
  // Unlike decodeURIComponent, this takes a wrong escape as it is.
  return (
    new URLSearchParams(`tenant=${tenant.replace(/[+&]/g, encodeURIComponent)}`).get('tenant') ?? undefined
  );
}
