import type { RequestContext } from '@trunkline/http';
import { A2aError } from '../errors/a2a-error.ts';

/**
 * Refuses a body that does not say it is JSON. A page of another site can send plain text, forms and bodies without
 * any type, and no others.
 */
export function requireJson(context: RequestContext): void {
  const declared = context.req.header('content-type') ?? '';
  if (declared === 'application/json') return;
  const type = (declared.split(';')[0] ?? '').trim().toLowerCase();
  if (type === 'application/json' || /^application\/[\w.-]+\+json$/.test(type)) return;
  const words =
    'Incompatible content types: the body must be application/json, another type is not supported';
  throw new A2aError('CONTENT_TYPE_NOT_SUPPORTED', words);
}
