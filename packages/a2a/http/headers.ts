import type { RequestContext, RouteContext } from '@trunkline/http';

/** The version comes in a header, or as a parameter where headers cannot be set. */
export function versionHeader(context: RouteContext): string | undefined {
  return context.req.header('a2a-version') ?? context.req.query('A2A-Version');
}

export function callExtensions(context: RequestContext): string[] {
  const header = context.req.header('a2a-extensions') ?? context.req.header('x-a2a-extensions');
  if (header === undefined) return [];
  return header.split(',').map((uri) => uri.trim());
}
