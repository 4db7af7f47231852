import type { RequestContext } from '@trunkline/http';

/** The extensions that a caller wants to be active: 0.3 has another name for the header. */
export function declaredExtensions({ req }: Pick<RequestContext, 'req'>): string[] {
  const declared = req.header('a2a-extensions') ?? req.header('x-a2a-extensions');
  return declared === undefined ? [] : declared.split(',').map((uri) => uri.trim());
}
