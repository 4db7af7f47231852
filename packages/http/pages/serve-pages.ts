import { createHash } from 'node:crypto';
import { readFile, realpath, stat } from 'node:fs/promises';
import { join, sep } from 'node:path';
import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import { systemCode } from '@trunkline/std';
import type { Env, Hono, HonoRequest } from 'hono';
import { getMimeType } from 'hono/utils/mime';
import { PAGE_POLICY } from '../app/request-frame.ts';
import { httpErrors } from '../errors/http-error.ts';

const MIN_GZIP_BYTES = 1024;

const PACKABLE = /^(?:text\/|image\/svg|application\/(?:json|manifest\+json|xml|wasm))/;

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

/** Whether the client unpacks gzip: named, or covered by `*`, and not given the weight 0. */
export function takesGzip(acceptEncoding: string | undefined): boolean {
  const weights = new Map((acceptEncoding ?? '').split(',').map(toWeight));
  return (weights.get('gzip') ?? weights.get('*') ?? 0) > 0;
}

function toWeight(entry: string): [name: string, weight: number] {
  const [name = '', ...parameters] = entry.split(';').map((part) => part.trim().toLowerCase());
  const quality = parameters.find((parameter) => parameter.startsWith('q='));
  return [name, quality === undefined ? 1 : Number(quality.slice(2))];
}

/** Whether the client's copy is the current one. */
function isFresh(ifNoneMatch: string | undefined, etag: string): boolean {
  if (ifNoneMatch === undefined) return false;
  const tags = ifNoneMatch.split(',').map((tag) => tag.trim().replace(/^W\//, ''));
  return tags.includes('*') || tags.includes(etag);
}

/** The parts of a path below the page directory; undefined when it tries to leave it or names a hidden file. */
function safeSegments(path: string): string[] | undefined {
  const decoded = decode(path);
  if (decoded === undefined || /[\\\0]/.test(decoded)) return undefined;
  const segments = decoded.split('/').filter((segment) => segment !== '');
  return segments.some((segment) => segment.startsWith('.')) ? undefined : segments;
}

function decode(path: string): string | undefined {
  try {
    return decodeURIComponent(path);
  } catch (error) {
    if (error instanceof URIError) return undefined;
    throw error;
  }
}

interface PageFile {
  readonly type: string;
  readonly body: Uint8Array<ArrayBuffer>;
  readonly hash: string;
  /** Compressed once and cached; undefined where compression does not help. */
  gzip(): Promise<Uint8Array<ArrayBuffer> | undefined>;
}

interface CachedFile extends PageFile {
  readonly modifiedAt: number;
}

/** Files of one directory, kept in memory until they change on disk. */
function createFileCache(directory: string) {
  const files = new Map<string, CachedFile>();
  return {
    async read(segments: readonly string[]): Promise<PageFile | undefined> {
      const path = await realFile(directory, segments);
      if (path === undefined) return undefined;
      const { mtimeMs } = await stat(path);
      const known = files.get(path);
      if (known?.modifiedAt === mtimeMs) return known;
      const file = await loadFile(path, mtimeMs);
      files.set(path, file);
      return file;
    },
  };
}

/** The file behind the path, links resolved; undefined when there is none or it lies outside the directory. */
async function realFile(directory: string, segments: readonly string[]): Promise<string | undefined> {
  try {
    const root = await realpath(directory);
    const path = await realpath(join(root, ...segments));
    if (!path.startsWith(root + sep)) return undefined;
    return (await stat(path)).isFile() ? path : undefined;
  } catch (error) {
    if (['ENOENT', 'ENOTDIR', 'ENAMETOOLONG'].includes(systemCode(error) ?? '')) return undefined;
    throw error;
  }
}

async function loadFile(path: string, modifiedAt: number): Promise<CachedFile> {
  const body = await readFile(path);
  const type = getMimeType(path) ?? 'application/octet-stream';
  let packed: Promise<Uint8Array<ArrayBuffer>> | undefined;
  const isPackable = PACKABLE.test(type) && body.byteLength >= MIN_GZIP_BYTES;
  return {
    type,
    body,
    modifiedAt,
    hash: createHash('sha256').update(body).digest('base64url').slice(0, 22),
    async gzip() {
      if (!isPackable) return undefined;
      packed ??= promisify(gzip)(body);
      return packed;
    },
  };
}
