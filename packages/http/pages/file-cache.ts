import { createHash } from 'node:crypto';
import { readFile, realpath, stat } from 'node:fs/promises';
import { join, sep } from 'node:path';
import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import { getMimeType } from 'hono/utils/mime';

export interface PageFile {
  readonly type: string;
  readonly body: Uint8Array<ArrayBuffer>;
  readonly hash: string;
  /** Packed once and kept; undefined where packing does not help. */
  gzip(): Promise<Uint8Array<ArrayBuffer> | undefined>;
}

interface CachedFile extends PageFile {
  readonly modifiedAt: number;
}

const compress = promisify(gzip);
const MIN_GZIP_BYTES = 1024;
const PACKABLE = /^(?:text\/|image\/svg|application\/(?:json|manifest\+json|xml|wasm))/;

/** Files of one directory, kept in memory until they change on disk. */
export function createFileCache(directory: string) {
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
    if (isMissing(error)) return undefined;
    throw error;
  }
}

function isMissing(error: unknown): boolean {
  const code = error instanceof Error && 'code' in error ? error.code : undefined;
  return code === 'ENOENT' || code === 'ENOTDIR' || code === 'ENAMETOOLONG';
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
      packed ??= compress(body);
      return packed;
    },
  };
}
