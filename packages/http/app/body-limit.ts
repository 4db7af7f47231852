import type { HonoRequest } from 'hono';
import { httpErrors } from '../errors/http-errors.ts';
import type { RequestCheck } from './request-check.ts';

export interface BodyLimits {
  /** Bytes allowed where no path says otherwise. */
  default: number;
  /** By path or path prefix; the longest that fits counts. */
  paths: Readonly<Record<string, number>>;
}

/** How many bytes a body may have at a path. */
export type BodyLimit = (path: string) => number;

export function createBodyLimit(limits: BodyLimits): BodyLimit {
  const paths = Object.entries(limits.paths).sort(([left], [right]) => right.length - left.length);
  return (path) => paths.find(([prefix]) => isBelow(path, prefix))?.[1] ?? limits.default;
}

/** Refuses a body by its declared length. */
export function limitBody(limitOf: BodyLimit): RequestCheck {
  return ({ req }) => {
    const declared = req.header('content-length');
    if (declared === undefined || isBodiless(req.method)) return undefined;
    const limit = limitOf(req.path);
    if (Number(declared) > limit) throw tooLarge(limit);
    return undefined;
  };
}

/** Where no length is declared, the body breaks off as soon as too much has come. */
export function capBody(req: HonoRequest, limitOf: BodyLimit): void {
  if (isBodiless(req.method) || req.header('content-length') !== undefined) return;
  const { raw } = req;
  if (req.header('transfer-encoding') === undefined || raw.body === null) return;
  req.raw = withBody(raw, capped(raw.body, limitOf(req.path)));
}

function isBodiless(method: string): boolean {
  return method === 'GET' || method === 'HEAD';
}

function isBelow(path: string, prefix: string): boolean {
  return path === prefix || path.startsWith(prefix.endsWith('/') ? prefix : `${prefix}/`);
}

/** Made from parts, because the adaptor's request object is not one that the constructor can copy. */
function withBody(request: Request, body: ReadableStream<Uint8Array>): Request {
  const { method, headers, signal } = request;
  const init: RequestInit & { duplex: 'half' } = { method, headers, signal, body, duplex: 'half' };
  return new Request(request.url, init);
}

function capped(body: ReadableStream<Uint8Array>, limit: number): ReadableStream<Uint8Array> {
  let seen = 0;
  const counter = new TransformStream<Uint8Array, Uint8Array>({
    transform(chunk, controller) {
      seen += chunk.byteLength;
      if (seen > limit) controller.error(tooLarge(limit));
      else controller.enqueue(chunk);
    },
  });
  return body.pipeThrough(counter);
}

/** The rest of the body is not read, so the connection cannot be used again. */
function tooLarge(bytes: number) {
  return httpErrors.body_too_large({ bytes }, { headers: { connection: 'close' } });
}
