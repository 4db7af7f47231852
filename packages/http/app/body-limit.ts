import { httpErrors } from '../errors/http-errors.ts';
import type { RequestCheck } from './request-check.ts';

export interface BodyLimits {
  /** Bytes allowed where no path says otherwise. */
  default: number;
  /** By path or path prefix; the longest that fits counts. */
  paths: Readonly<Record<string, number>>;
}

/** Refuses a body by its declared length, or, where none is declared, as soon as too much has come. */
export function limitBody(limits: BodyLimits): RequestCheck {
  const paths = Object.entries(limits.paths).sort(([left], [right]) => right.length - left.length);
  const limitOf = (path: string) => paths.find(([prefix]) => isBelow(path, prefix))?.[1] ?? limits.default;
  return ({ req }) => {
    const { raw } = req;
    if (raw.method === 'GET' || raw.method === 'HEAD') return undefined;
    const limit = limitOf(req.path);
    const declared = req.header('content-length');
    if (declared !== undefined && Number(declared) > limit) throw tooLarge(limit);
    if (declared === undefined && req.header('transfer-encoding') !== undefined && raw.body !== null) {
      req.raw = withBody(raw, capped(raw.body, limit));
    }
    return undefined;
  };
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
