import { httpErrors } from '../errors/http-errors.ts';
import { isA2aPath } from '../origins/page-guard.ts';
import type { RequestCheck } from './request-check.ts';

const JSON_TYPE = /^application\/([\w.!#$&^-]+\+)?json\s*(;|$)/i;
const FORM_TYPE = /^multipart\/form-data\s*(;|$)/i;

/**
 * Refuses bodies that are not JSON, except uploads and signed webhooks at their own paths, and A2A, which has an error
 * of its own for them. A page of another site can send plain text and forms without asking first, and a JSON parser
 * would take them.
 */
export function requireBodyType(
  uploadPaths: readonly string[],
  anyTypePaths: readonly string[],
): RequestCheck {
  return ({ req }) => {
    if (!hasBody(req) || isA2aPath(req.path) || anyTypePaths.includes(req.path)) return undefined;
    const type = req.header('content-type') ?? '';
    if (JSON_TYPE.test(type)) return undefined;
    const isUpload = uploadPaths.includes(req.path);
    if (isUpload && FORM_TYPE.test(type)) return undefined;
    throw httpErrors.body_type({
      given: type,
      wanted: isUpload ? 'multipart/form-data' : 'application/json',
    });
  };
}

function hasBody(req: { method: string; header(name: string): string | undefined }): boolean {
  const { method } = req;
  if (method === 'GET' || method === 'HEAD' || method === 'OPTIONS') return false;
  const length = req.header('content-length');
  return req.header('transfer-encoding') !== undefined || (length !== undefined && length !== '0');
}
