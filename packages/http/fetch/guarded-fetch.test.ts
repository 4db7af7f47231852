import { createServer, type IncomingMessage, type RequestListener, type ServerResponse } from 'node:http';
import { type AddressInfo, createServer as createTcpServer } from 'node:net';
import { brotliCompressSync, constants, deflateRawSync, deflateSync, gzipSync } from 'node:zlib';
import { describe, expect, it, onTestFinished } from 'vitest';
import { eventually } from '../fixtures/test-kit.ts';
import { assertPublicUrl, type Lookup } from './address-policy.ts';
import { code, failure, open, startWeb, text } from './fixtures/test-web.ts';
import { createGuardedFetch } from './guarded-fetch.ts';

describe('size', () => {
  it('lets exactly the limit through and refuses more', async () => {
    const web = await startWeb(
      (request, response) => void response.end('x'.repeat(Number(request.url?.slice(1)))),
    );
    expect((await open({ maxBytes: 1000 })(`${web.url}/1000`)).body.byteLength).toBe(1000);
    expect(await code(open({ maxBytes: 1000 })(`${web.url}/1001`))).toBe('response_too_large');
  });

  it('cuts instead where that is asked for', async () => {
    const web = await startWeb(text('abcdef'.repeat(1000)));
    const answer = await open({ maxBytes: 10, overflow: 'cut' })(web.url);
    expect([answer.text(), answer.truncated]).toEqual(['abcdefabcd', true]);
    expect((await open({ maxBytes: 6000, overflow: 'cut' })(web.url)).truncated).toBe(false);
  });

  it('stops an endless body, and lets go of the connection', async () => {
    let closed = false;
    const web = await startWeb((_request, response) => {
      const timer = setInterval(() => response.write('x'.repeat(10_000)), 1);
      response.on('close', () => {
        clearInterval(timer);
        closed = true;
      });
    });
    expect(await code(open({ maxBytes: 50_000 })(web.url))).toBe('response_too_large');
    await eventually(() => expect(closed).toBe(true));
  });

  it.each([
    ['gzip', gzipSync],
    ['br', brotliCompressSync],
    ['deflate', deflateSync],
  ])('counts what %s unpacks to, not what was sent', async (encoding, pack) => {
    const bomb = pack(Buffer.alloc(20 * 1024 * 1024));
    expect(bomb.byteLength).toBeLessThan(100_000);
    const web = await startWeb(
      (_request, response) => void response.setHeader('content-encoding', encoding).end(bomb),
    );
    expect(await code(open({ maxBytes: 1_000_000 })(web.url))).toBe('response_too_large');
    const cut = await open({ maxBytes: 1_000_000, overflow: 'cut' })(web.url);
    expect(cut.body.byteLength).toBe(1_000_000);
  });
});

describe('time', () => {
  it.each([
    ['never answers', (_request: IncomingMessage, _response: ServerResponse) => undefined],
    [
      'never ends its answer',
      (_request: IncomingMessage, response: ServerResponse) => void response.write('begun'),
    ],
  ])('runs out for a server that %s', async (_name, listener) => {
    const web = await startWeb(listener);
    const error = await failure(open({ timeoutMs: 100 })(web.url));
    expect(error).toMatchObject({
      code: 'fetch_timeout',
      status: 504,
      message: expect.stringContaining('100 ms'),
    });
  });

  it('runs out for a resolver that never answers', async () => {
    const lookup: Lookup = () => new Promise(() => undefined);
    expect(await code(createGuardedFetch({ lookup, timeoutMs: 50 })('http://slow.example/'))).toBe(
      'fetch_timeout',
    );
    expect(await code(assertPublicUrl('http://slow.example/', { lookup, timeoutMs: 50 }))).toBe(
      'fetch_timeout',
    );
  });

  it('ends early by the signal of the caller, with the reason of the caller', async () => {
    const web = await startWeb(() => undefined);
    const controller = new AbortController();
    const pending = open()(web.url, { signal: controller.signal });
    await eventually(() => expect(web.requests).toHaveLength(1));
    controller.abort(new Error('turn was cancelled'));
    await expect(pending).rejects.toThrow('turn was cancelled');
    await expect(open()(web.url, { signal: AbortSignal.abort(new Error('before')) })).rejects.toThrow(
      'before',
    );
    const lookup: Lookup = () => new Promise(() => undefined);
    const signal = AbortSignal.abort(new Error('gone'));
    await expect(assertPublicUrl('http://slow.example/', { lookup, signal })).rejects.toThrow('gone');
  });
});

describe('answers', () => {
  it('carry status, headers and content type', async () => {
    const web = await startWeb(
      (_request, response) =>
        void response
          .writeHead(404, { 'content-type': 'Text/HTML; charset=utf-8', 'x-more': '1' })
          .end('<p>gone'),
    );
    const answer = await open()(web.url);
    expect(answer).toMatchObject({ status: 404, contentType: 'text/html', truncated: false });
    expect(answer.headers.get('x-more')).toBe('1');
  });

  it.each<[string, (bytes: Buffer) => Buffer]>([
    ['gzip', gzipSync],
    ['X-GZIP', gzipSync],
    ['br', brotliCompressSync],
    ['deflate', deflateSync],
    // With bytes behind its end.
    ['deflate', (bytes) => Buffer.concat([deflateSync(bytes), Buffer.alloc(100_000, 1)])],
    ['gzip', (bytes) => Buffer.concat([gzipSync(bytes), Buffer.alloc(100_000)])],
    // Without the header that the standard asks for.
    ['deflate', deflateRawSync],
    ['gzip, br', (bytes) => brotliCompressSync(gzipSync(bytes))],
    // Cut before its checksum, as some servers send it.
    ['gzip', (bytes) => gzipSync(bytes).subarray(0, -8)],
    // Nobody knows how to unpack it, so it comes as it is.
    ['constructor', (bytes) => bytes],
  ])('are unpacked from %s', async (encoding, pack) => {
    const body = Buffer.from('tidal '.repeat(20_000));
    const web = await startWeb((_request, response) => {
      response.setHeader('content-encoding', encoding);
      // In pieces, so that a decoder gets more than one.
      const packed = pack(body);
      response.write(packed.subarray(0, 10));
      setImmediate(() => response.end(packed.subarray(10)));
    });
    expect((await open()(web.url)).text()).toBe(body.toString());
  });

  it.each([
    ['a body that is not what its encoding says', 'gzip'],
    ['more encodings than anybody needs', 'gzip, gzip, gzip, gzip, gzip, gzip'],
  ])('fail for %s', async (_name, encoding) => {
    const web = await startWeb(
      (_request, response) => void response.setHeader('content-encoding', encoding).end('plain words'),
    );
    expect(await code(open()(web.url))).toBe('fetch_failed');
  });

  it.each([
    ['bytes follow its packed body', 'gzip', 200, 'cat'],
    ['it names too many encodings', 'gzip, gzip, gzip', 'fetch_failed', undefined],
  ])('let the connection go where %s', async (_name, encoding, expected, body) => {
    const { promise: closed, resolve: close } = Promise.withResolvers<void>();
    const web = await startWeb((_request, response) => {
      response.on('close', () => close());
      response.setHeader('content-encoding', encoding).write(gzipSync('cat'));
      // It never ends.
      response.write(Buffer.alloc(10));
    });
    const answer = open()(web.url);
    if (body === undefined) expect(await code(answer)).toBe(expected);
    else expect([(await answer).status, (await answer).text()]).toEqual([expected, body]);
    await closed;
  });

  it('are given up while they are unpacked, however long that takes', async () => {
    // Ten million times nothing.
    const params = { [constants.BROTLI_PARAM_QUALITY]: 2 };
    const packed = brotliCompressSync(Buffer.alloc(200_000_000, gzipSync('')), { params });
    const controller = new AbortController();
    const web = await startWeb((_request, response) => {
      response.on('finish', () => setTimeout(() => controller.abort(new Error('enough')), 20));
      response.setHeader('content-encoding', 'gzip, br').end(packed);
    });
    await expect(open()(web.url, { signal: controller.signal })).rejects.toThrow('enough');
  });

  it.each([
    { method: 'trace' },
    { method: 'CONNECT' },
    { headers: { 'Transfer-Encoding': 'chunked' } },
    { headers: { upgrade: 'websocket' } },
  ])('come to no request that changes the connection: %o', async (request) => {
    const web = await startWeb(text('x'));
    expect(await code(open()(web.url, request))).toBe('fetch_failed');
    expect(web.requests).toHaveLength(0);
  });

  it('without a body may name an encoding', async () => {
    const web = await startWeb((_request, response) => {
      response.setHeader('content-encoding', 'gzip').end();
    });
    const answer = await open()(web.url, { method: 'HEAD' });
    expect([answer.status, answer.body.byteLength]).toEqual([200, 0]);
  });

  it('keep every value of a header, and the address without its fragment', async () => {
    const web = await startWeb((_request, response) => {
      response.setHeader('set-cookie', ['a=1', 'b=2']).end('x');
    });
    const answer = await open()(`${web.url}/page?q=1#part`);
    expect(answer.headers.getSetCookie()).toEqual(['a=1', 'b=2']);
    expect(answer.url).toBe(`${web.url}/page?q=1`);
  });

  it('have no body after HEAD', async () => {
    const web = await startWeb(text('body'));
    const answer = await open()(web.url, { method: 'HEAD' });
    expect([answer.status, answer.body.byteLength, answer.contentType]).toEqual([200, 0, '']);
  });

  it.each([
    ['the header', 'text/html; charset="ISO-8859-1"', Buffer.from('caf\xe9', 'latin1'), 'café'],
    [
      'the page',
      'text/html',
      Buffer.from('<meta charset="windows-1252">\x93caf\xe9\x94', 'latin1'),
      '<meta charset="windows-1252">“café”',
    ],
    ['UTF-8 by default', 'text/plain', Buffer.from('café'), 'café'],
    ['UTF-8 for a charset nobody knows', 'text/plain; charset=klingon', Buffer.from('café'), 'café'],
  ])('are decoded by %s', async (_name, type, body, expected) => {
    const web = await startWeb(
      (_request, response) => void response.setHeader('content-type', type).end(body),
    );
    expect((await open()(web.url)).text()).toBe(expected);
  });

  it('send what they were given', async () => {
    const web = await startWeb((request, response) => void response.end(request.headers['user-agent']));
    expect((await open({ userAgent: 'sample/1.0' })(web.url)).text()).toBe('sample/1.0');
    expect((await open()(web.url, { headers: { 'User-Agent': 'own' } })).text()).toBe('own');
  });

  it.each(['GET', 'DELETE', 'POST'])('say how long the body of %s is, and what it is', async (method) => {
    const web = await startWeb((request, response) => void request.pipe(response));
    expect((await open()(web.url, { method, body: 'größer' })).text()).toBe('größer');
    const [{ headers } = { headers: {} }] = web.requests;
    expect(headers).toMatchObject({ 'content-length': '8', 'content-type': 'text/plain;charset=UTF-8' });
  });
});

describe('servers that fail', () => {
  it('are named with the reason', async () => {
    const web = await startWeb(text(''));
    const closed = createTcpServer();
    await new Promise<void>((resolve) => closed.listen(0, '127.0.0.1', () => resolve()));
    const { port } = closed.address() as AddressInfo;
    await new Promise<void>((resolve) => closed.close(() => resolve()));
    const refused = await failure(open()(`http://127.0.0.1:${port}/`));
    expect(refused).toMatchObject({
      code: 'fetch_failed',
      status: 502,
      message: expect.stringContaining('ECONNREFUSED'),
    });
    expect(await code(open()(`https://127.0.0.1:${web.port}/`))).toBe('fetch_failed');
  });

  it('are named when they break off', async () => {
    const web = await startWeb((_request, response) => {
      response.writeHead(200, { 'content-length': '100' }).write('half');
      setImmediate(() => response.destroy());
    });
    expect(await code(open()(web.url))).toBe('fetch_failed');
  });

  it('leave no connection behind', async () => {
    let connections = 0;
    const server = createServer((_request, response) => void response.end('x'));
    server.on('connection', (socket) => {
      connections += 1;
      socket.on('close', () => {
        connections -= 1;
      });
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', () => resolve()));
    onTestFinished(() => void server.close());
    const { port } = server.address() as AddressInfo;
    await Promise.all(Array.from({ length: 5 }, () => open()(`http://127.0.0.1:${port}/`)));
    await eventually(() => expect(connections).toBe(0));
  });
});

describe('redirects', () => {
  const redirect =
    (location: string, status = 302): RequestListener =>
    (_request, response) =>
      void response.writeHead(status, { location }).end('moved');

  it('are followed, and the last address is told', async () => {
    const web = await startWeb((request, response) =>
      request.url === '/end' ? response.end('end') : response.writeHead(302, { location: '/end' }).end(),
    );
    const answer = await open()(`${web.url}/start`);
    expect([answer.text(), answer.url]).toEqual(['end', `${web.url}/end`]);
  });

  it.each(['http://10.0.0.1/', 'http://[::1]/', 'http://169.254.169.254/latest/'])(
    'to %s are refused',
    async (location) => {
      const web = await startWeb(redirect(location));
      expect(await code(open()(web.url))).toBe('address_refused');
    },
  );

  it.each([
    ['file:///etc/passwd', 'url_scheme_refused'],
    ['http://user:pass@127.0.0.1/', 'url_credentials_refused'],
    ['http://[bad', 'redirect_invalid'],
  ])('to %s are refused', async (location, expected) => {
    const web = await startWeb(redirect(location));
    expect(await code(open()(web.url))).toBe(expected);
  });

  it('from a name that is public by then private are refused', async () => {
    const web = await startWeb(redirect('http://second.example/'));
    const lookup: Lookup = async (host) =>
      host === 'first.example' ? [{ address: '127.0.0.1', family: 4 }] : [{ address: '10.0.0.1', family: 4 }];
    const fetchOpen = createGuardedFetch({ lookup, allowedHosts: ['first.example'] });
    expect(await code(fetchOpen(`http://first.example:${web.port}/`))).toBe('address_refused');
  });

  it('that the caller does not allow are refused before they are sent', async () => {
    const target = await startWeb((_request, response) => void response.end('end'));
    const web = await startWeb(redirect(target.url));
    expect(await code(open()(web.url, { allowsRedirect: () => false }))).toBe('redirect_refused');
    expect(target.requests).toHaveLength(0);
    const allowsRedirect = (url: URL) => url.href === `${target.url}/`;
    expect((await open()(web.url, { allowsRedirect })).text()).toBe('end');
  });

  it('end at the limit', async () => {
    const web = await startWeb(redirect('/again'));
    expect(await code(open({ maxRedirects: 3 })(web.url))).toBe('redirects_exceeded');
    expect(web.requests).toHaveLength(4);
  });

  it('are handed back where none are allowed', async () => {
    const web = await startWeb(redirect('http://10.0.0.1/'));
    const answer = await open({ maxRedirects: 0 })(web.url);
    expect([answer.status, answer.headers.get('location')]).toEqual([302, 'http://10.0.0.1/']);
  });

  it.each([
    [303, 'POST', 'GET', ''],
    [302, 'POST', 'GET', ''],
    [301, 'PUT', 'PUT', 'body'],
    [307, 'POST', 'POST', 'body'],
    [308, 'POST', 'POST', 'body'],
  ])('%i after %s ask with %s', async (status, method, expected, body) => {
    const web = await startWeb((request, response) => {
      if (request.url === '/start') return void response.writeHead(status, { location: '/end' }).end();
      let received = '';
      request.on('data', (chunk) => {
        received += chunk;
      });
      request.on('end', () => response.end(`${request.method} ${received}`));
    });
    const answer = await open()(`${web.url}/start`, { method, body: 'body' });
    expect(answer.text()).toBe(`${expected} ${body}`);
  });

  it('keep credentials on the same origin and drop them before another', async () => {
    const echo: RequestListener = (request, response) => void response.end(JSON.stringify(request.headers));
    const other = await startWeb(echo);
    const web = await startWeb((request, response) => {
      if (request.url === '/far') return void response.writeHead(302, { location: other.url }).end();
      if (request.url === '/near') return void response.writeHead(302, { location: '/echo' }).end();
      echo(request, response);
    });
    const headers = {
      Authorization: 'Bearer s3cret',
      'X-A2A-Notification-Token': 's3cret',
      Accept: 'text/html',
    };
    const near = (await open()(`${web.url}/near`, { headers })).text();
    const far = (await open()(`${web.url}/far`, { headers })).text();
    expect(near).toContain('s3cret');
    expect(far).not.toContain('s3cret');
    expect(JSON.parse(far)).toMatchObject({ accept: 'text/html', 'user-agent': 'trunkline' });
  });
});
