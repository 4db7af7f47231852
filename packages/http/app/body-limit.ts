import type { HonoRequest } from 'hono';
import { httpErrors } from '../errors/http-error.ts';
import { isA2aPath } from '../origins/origin-guard.ts';
import type { RequestCheck } from './context.ts';

const JSON_TYPE = /^application\/([\w.!#$&^-]+\+)?json\s*(;|$)/i;

const FORM_TYPE = /^multipart\/form-data\s*(;|$)/i;

/** How many bytes a body may have at a path. */
export type BodyLimit = (path: string) => number;

/** Of the paths and path prefixes with a limit of their own, the longest that fits counts. */
export function createBodyLimit(defaultLimit: number, limits: Readonly<Record<string, number>>): BodyLimit {
  const paths = Object.entries(limits).sort(([left], [right]) => right.length - left.length);
  return (path) => paths.find(([prefix]) => isBelow(path, prefix))?.[1] ?? defaultLimit;
}

/** Refuses a body by its declared length. */
export function limitBody(limitOf: BodyLimit): RequestCheck {
  return ({ req }) => {
    const declared = req.header('content-length');
    if (declared === undefined || isBodiless(req.method)) return;
    const limit = limitOf(req.path);
    if (Number(declared) > limit) throw tooLarge(limit);
  };
}

/** Where no length is declared, the body breaks off as soon as too much has come. */
export function capBody(req: HonoRequest, limitOf: BodyLimit): void {
  if (isBodiless(req.method) || req.header('content-length') !== undefined) return;
  if (req.header('transfer-encoding') === undefined) return;
  const { raw } = req;
  req.raw = withBody(
    raw,
    capped(() => raw.body, limitOf(req.path)),
  );
}

function isBodiless(method: string): boolean {
  return method === 'GET' || method === 'HEAD';
}

export function isBelow(path: string, prefix: string): boolean {
  return path === prefix || path.startsWith(prefix.endsWith('/') ? prefix : `${prefix}/`);
}

/** Made from parts, because the adaptor's request object is not one that the constructor can copy. */
function withBody(request: Request, body: ReadableStream<Uint8Array>): Request {
  const { method, headers, signal } = request;
  const init: RequestInit & { duplex: 'half' } = { method, headers, signal, body, duplex: 'half' };
  return new Request(request.url, init);
}

/** Opens the body with the first read: nobody asks for the body of a caller that is refused. */
function capped(open: () => ReadableStream<Uint8Array> | null, limit: number): ReadableStream<Uint8Array> {
  let reader: ReadableStreamDefaultReader<Uint8Array> | undefined;
  let seen = 0;
  return new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        reader ??= open()?.getReader();
        const { done = true, value } = (await reader?.read()) ?? {};
        if (done || value === undefined) return controller.close();
        seen += value.byteLength;
        if (seen <= limit) return controller.enqueue(value);
        const error = tooLarge(limit);
        controller.error(error);
        await reader?.cancel(error);
      },
      cancel: (reason) => reader?.cancel(reason),
    },
    { highWaterMark: 0 },
  );
}

/**
 * The connection is not closed with the answer: a caller that is still sending would get a reset in its place. The adapter
 * drops what comes for half a second and 64 MB, and then closes.
 */
function tooLarge(bytes: number) {
  return httpErrors.body_too_large({ bytes });
}

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
    if (!hasBody(req) || isA2aPath(req.path) || anyTypePaths.includes(req.path)) return;
    const type = req.header('content-type') ?? '';
    if (JSON_TYPE.test(type)) return;
    const isUpload = uploadPaths.includes(req.path);
    if (isUpload && FORM_TYPE.test(type)) return;
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
