import type { Env, Hono, HonoRequest } from 'hono';
import { PAGE_POLICY } from '../app/security-headers.ts';
import { httpErrors } from '../errors/http-errors.ts';
import { createFileCache, type PageFile } from './file-cache.ts';
import { isFresh, takesGzip } from './negotiate.ts';
import { safeSegments } from './safe-path.ts';

export interface PagesOptions {
  /** Where the built pages are. */
  directory: string;
  /** The path they are served under; default `/`. */
  base?: string;
  /** The folder of the build whose file names carry a hash of their content; default `assets`. */
  assets?: string;
  /** The page that answers for the path itself; default `index.html`. */
  index?: string;
  /** The page that answers navigation to a path with no file, for pages that route by themselves. */
  fallback?: string;
}

const ONE_YEAR = 'public, max-age=31536000, immutable';

/** Serves a built web client. Add it after the routes of the service: what it does not have goes on to the 404. */
export function servePages<E extends Env>(app: Hono<E>, options: PagesOptions): void {
  const { base = '/', assets = 'assets', index = 'index.html', fallback } = options;
  const prefix = base.replace(/\/+$/, '');
  const cache = createFileCache(options.directory);
  app.use(`${prefix}/*`, async (context, next) => {
    const { req } = context;
    const segments = isRead(req) ? safeSegments(req.path.slice(prefix.length)) : undefined;
    if (segments === undefined) return next();
    const file = await cache.read(segments.length === 0 ? [index] : segments);
    if (file !== undefined) return respond(req, file, segments[0] === assets);
    if (segments.length === 0) throw httpErrors.pages_not_built();
    if (fallback === undefined || !isNavigation(req)) return next();
    const page = await cache.read([fallback]);
    if (page === undefined) throw httpErrors.pages_not_built();
    return respond(req, page, false);
  });
}

function isRead(request: HonoRequest): boolean {
  return request.method === 'GET' || request.method === 'HEAD';
}

/** A person opened an address, as against a script or an image asking for a file. */
function isNavigation(request: HonoRequest): boolean {
  const mode = request.header('sec-fetch-mode');
  const takesHtml = request.header('accept')?.includes('text/html') ?? false;
  return takesHtml && (mode === undefined || mode === 'navigate');
}

async function respond(request: HonoRequest, file: PageFile, immutable: boolean): Promise<Response> {
  const gzip = takesGzip(request.header('accept-encoding')) ? await file.gzip() : undefined;
  const etag = gzip === undefined ? `"${file.hash}"` : `"${file.hash}-gzip"`;
  const headers: Record<string, string> = {
    'cache-control': immutable ? ONE_YEAR : 'no-cache',
    etag,
    vary: 'accept-encoding',
    'content-security-policy': PAGE_POLICY,
  };
  if (isFresh(request.header('if-none-match'), etag)) return new Response(null, { status: 304, headers });
  headers['content-type'] = file.type;
  if (gzip !== undefined) headers['content-encoding'] = 'gzip';
  const body = gzip ?? file.body;
  headers['content-length'] = String(body.byteLength);
  return new Response(body, { headers });
}
