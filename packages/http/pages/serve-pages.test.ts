import { mkdir, mkdtemp, rm, symlink, utimes, writeFile } from 'node:fs/promises';
import { request } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { describe, expect, it, onTestFinished } from 'vitest';
import { startApp } from '../fixtures/test-kit.ts';
import { type PagesOptions, servePages, takesGzip } from './serve-pages.ts';

const HTML = `<!doctype html><title>page</title>${'<p>text</p>'.repeat(200)}`;
const SCRIPT = 'console.log(1);'.repeat(200);

async function build(): Promise<string> {
  const parent = await mkdtemp(join(tmpdir(), 'pages-'));
  onTestFinished(() => rm(parent, { recursive: true }));
  const directory = join(parent, 'dist');
  await mkdir(join(directory, 'assets'), { recursive: true });
  await writeFile(join(directory, 'index.html'), HTML);
  await writeFile(join(directory, 'favicon.svg'), '<svg/>');
  await writeFile(join(directory, 'assets', 'main-AbCd1234.js'), SCRIPT);
  await writeFile(join(directory, 'assets', 'font.woff2'), Buffer.alloc(3000, 1));
  await writeFile(join(directory, '.hidden'), 'secret');
  await writeFile(join(parent, 'outside.txt'), 'secret');
  await symlink(join(parent, 'outside.txt'), join(directory, 'link.txt'));
  return directory;
}

async function start(options: Partial<PagesOptions> = {}) {
  const directory = options.directory ?? (await build());
  const server = await startApp((app) => {
    app.get('/api/thing', (c) => c.json({ thing: true }));
    servePages(app, { ...options, directory });
  });
  return { ...server, directory };
}

interface Answer {
  status: number | undefined;
  headers: Record<string, string | string[] | undefined>;
  body: Buffer;
}

/** Sends the path as it stands; fetch would tidy it first, and unpack the answer. */
function get(
  url: string,
  path: string,
  headers: Record<string, string> = {},
  method = 'GET',
): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const { hostname, port } = new URL(url);
    const sent = request({ hostname, port, path, headers, method }, (response) => {
      const chunks: Buffer[] = [];
      response.on('data', (chunk: Buffer) => chunks.push(chunk));
      response.on('end', () =>
        resolve({ status: response.statusCode, headers: response.headers, body: Buffer.concat(chunks) }),
      );
    });
    sent.on('error', reject).end();
  });
}

const navigation = { accept: 'text/html,*/*', 'sec-fetch-mode': 'navigate' };

describe('servePages', () => {
  it('serves the index with a policy that allows only the service itself', async () => {
    const { url } = await start();
    const answer = await get(url, '/');
    expect(answer.status).toBe(200);
    expect(answer.body.toString()).toBe(HTML);
    expect(answer.headers).toMatchObject({
      'content-type': 'text/html; charset=utf-8',
      'cache-control': 'no-cache',
      'content-security-policy': expect.stringContaining("default-src 'self'"),
      'x-content-type-options': 'nosniff',
    });
  });

  it('lets hashed assets be kept for a year, and nothing else', async () => {
    const { url } = await start();
    const asset = await get(url, '/assets/main-AbCd1234.js');
    expect(asset.headers['cache-control']).toBe('public, max-age=31536000, immutable');
    expect(asset.headers['content-type']).toBe('text/javascript; charset=utf-8');
    expect((await get(url, '/favicon.svg')).headers['cache-control']).toBe('no-cache');
    const other = await start({ assets: 'static' });
    expect((await get(other.url, '/assets/main-AbCd1234.js')).headers['cache-control']).toBe('no-cache');
  });

  it('answers 304 to a client whose copy is current', async () => {
    const { url, directory } = await start();
    const { headers } = await get(url, '/');
    const etag = String(headers.etag);
    const again = await get(url, '/', { 'if-none-match': `"other", W/${etag}` });
    expect([again.status, again.body.length]).toEqual([304, 0]);
    await writeFile(join(directory, 'index.html'), 'new');
    await utimes(join(directory, 'index.html'), new Date(), new Date(Date.now() + 5000));
    const changed = await get(url, '/', { 'if-none-match': etag });
    expect([changed.status, changed.body.toString()]).toEqual([200, 'new']);
  });

  it('packs text for clients that unpack, under a tag of its own', async () => {
    const { url } = await start();
    const plain = await get(url, '/');
    const packed = await get(url, '/', { 'accept-encoding': 'br, gzip' });
    expect(packed.headers['content-encoding']).toBe('gzip');
    expect(packed.headers.vary).toBe('accept-encoding');
    expect(packed.headers.etag).not.toBe(plain.headers.etag);
    expect(packed.body.length).toBeLessThan(plain.body.length);
    expect(gunzipSync(packed.body).toString()).toBe(HTML);
    expect(
      (await get(url, '/', { 'if-none-match': String(packed.headers.etag), 'accept-encoding': 'gzip' }))
        .status,
    ).toBe(304);
  });

  it('does not pack what is packed already, or small', async () => {
    const { url } = await start();
    for (const path of ['/assets/font.woff2', '/favicon.svg']) {
      const answer = await get(url, path, { 'accept-encoding': 'gzip' });
      expect(answer.headers['content-encoding'], path).toBeUndefined();
    }
    expect((await get(url, '/assets/font.woff2')).headers['content-type']).toBe('font/woff2');
  });

  it('answers HEAD with the headers alone', async () => {
    const { url } = await start();
    const answer = await get(url, '/', {}, 'HEAD');
    expect([answer.status, answer.body.length]).toEqual([200, 0]);
    expect(answer.headers['content-length']).toBe(String(HTML.length));
  });

  it.each([
    '/../outside.txt',
    '/assets/../../outside.txt',
    '/%2e%2e/outside.txt',
    '/..%2foutside.txt',
    '/%252e%252e/outside.txt',
    '/assets/..%5c..%5coutside.txt',
    '/..\\outside.txt',
    '/link.txt',
    '/.hidden',
    '/%2ehidden',
    '/index.html%00.js',
    '/%ff',
    '/assets',
    '//etc/passwd',
  ])('has nothing at %s', async (path) => {
    const { url } = await start();
    const answer = await get(url, path);
    expect([400, 404]).toContain(answer.status);
    expect(answer.body.toString()).not.toContain('secret');
  });

  it('leaves the routes of the service and other methods alone', async () => {
    const { url } = await start({ fallback: 'index.html' });
    expect(JSON.parse((await get(url, '/api/thing', navigation)).body.toString())).toEqual({ thing: true });
    expect((await get(url, '/', {}, 'POST')).status).toBe(404);
    expect((await get(url, '/api/unknown')).status).toBe(404);
  });

  it('answers navigation, and only that, with the fallback', async () => {
    const { url } = await start({ fallback: 'index.html' });
    expect((await get(url, '/settings/voice', navigation)).body.toString()).toBe(HTML);
    expect((await get(url, '/settings', { accept: 'text/html' })).status).toBe(200);
    expect((await get(url, '/gone.js', { accept: '*/*', 'sec-fetch-mode': 'no-cors' })).status).toBe(404);
    expect((await get(url, '/gone', { accept: 'text/html', 'sec-fetch-mode': 'cors' })).status).toBe(404);
    expect((await get((await start()).url, '/settings', navigation)).status).toBe(404);
  });

  it('answers for the path itself with the page that is named', async () => {
    const directory = await build();
    await writeFile(join(directory, 'console.html'), 'the console');
    const { url } = await start({ directory, base: '/app', index: 'console.html' });
    for (const path of ['/app', '/app/']) expect((await get(url, path)).body.toString()).toBe('the console');
    expect((await get(url, '/app/index.html')).body.toString()).toBe(HTML);
  });

  it('serves under a base path, with and without the slash', async () => {
    const { url } = await start({ base: '/app', fallback: 'index.html' });
    for (const path of ['/app', '/app/', '/app/index.html']) {
      expect((await get(url, path)).body.toString(), path).toBe(HTML);
    }
    expect((await get(url, '/app/deep/link', navigation)).status).toBe(200);
    expect((await get(url, '/application')).status).toBe(404);
    expect((await get(url, '/', navigation)).status).toBe(404);
  });

  it('says in words when the pages are not built, and serves them once they are', async () => {
    const parent = await mkdtemp(join(tmpdir(), 'pages-'));
    onTestFinished(() => rm(parent, { recursive: true }));
    const directory = join(parent, 'dist');
    const { url } = await start({ directory, fallback: 'index.html' });
    const missing = await get(url, '/');
    expect(missing.status).toBe(503);
    expect(JSON.parse(missing.body.toString())).toMatchObject({ code: 'pages_not_built' });
    expect((await get(url, '/deep', navigation)).status).toBe(503);
    expect((await get(url, '/gone.js')).status).toBe(404);
    await mkdir(directory);
    await writeFile(join(directory, 'index.html'), 'built');
    expect((await get(url, '/')).body.toString()).toBe('built');
  });
});

describe('takesGzip', () => {
  it.each([
    [undefined, false],
    ['', false],
    ['gzip', true],
    ['br;q=1.0, GZIP;q=0.5', true],
    ['gzip;q=0', false],
    ['gzip; q=0.0, *', false],
    ['*', true],
    ['*;q=0', false],
    ['gzipped', false],
  ])('%j: %s', (header, expected) => {
    expect(takesGzip(header)).toBe(expected);
  });
});
