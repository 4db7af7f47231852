import { createServer, type IncomingMessage, type RequestListener, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { createServer as createTcpServer } from 'node:net';
import { brotliCompressSync, deflateSync, gzipSync } from 'node:zlib';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { HttpError } from '../errors/http-error.ts';
import type { Lookup } from './address-policy.ts';
import { createGuardedFetch, type GuardedFetchOptions } from './guarded-fetch.ts';
import { assertPublicUrl } from './public-url.ts';

/** A web server on loopback, as the private thing that must not be reached, or the public one once it is allowed. */
async function startWeb(listener: RequestListener) {
  const requests: IncomingMessage[] = [];
  const server = createServer((request, response) => {
    requests.push(request);
    listener(request, response);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', () => resolve()));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const { port } = server.address() as AddressInfo;
  return { url: `http://127.0.0.1:${port}`, port, requests };
}

const text =
  (body: string): RequestListener =>
  (_request, response) =>
    void response.end(body);
const open = (options: GuardedFetchOptions = {}) =>
  createGuardedFetch({ allowedHosts: ['127.0.0.1'], ...options });

async function failure(promise: Promise<unknown>): Promise<HttpError> {
  try {
    await promise;
  } catch (error) {
    if (error instanceof HttpError) return error;
    throw error;
  }
  throw new Error('expected a failure');
}

const code = async (promise: Promise<unknown>) => (await failure(promise)).code;

/** Answers each question with the next list of addresses, and the last one from then on. */
function lookupOf(...answers: string[][]) {
  let asked = 0;
  const lookup: Lookup = async () => {
    const addresses = answers[Math.min(asked, answers.length - 1)] ?? [];
    asked += 1;
    return addresses.map((address) => ({ address, family: address.includes(':') ? 6 : 4 }));
  };
  return { lookup, asked: () => asked };
}

describe('what may be asked for', () => {
  it.each([
    ['file:///etc/passwd', 'url_scheme_refused'],
    ['ftp://example.com/', 'url_scheme_refused'],
    ['data:text/plain,hi', 'url_scheme_refused'],
    ['gopher://example.com/', 'url_scheme_refused'],
    ['http://user:pass@example.com/', 'url_credentials_refused'],
    ['http://user@example.com/', 'url_credentials_refused'],
    ['not an address', 'url_invalid'],
    ['http://', 'url_invalid'],
    ['http://999.1.1.1/', 'url_invalid'],
  ])('%s: %s', async (url, expected) => {
    expect(await code(createGuardedFetch()(url))).toBe(expected);
    expect(await code(assertPublicUrl(url))).toBe(expected);
  });
});

describe('addresses that are not public', () => {
  it.each([
    'http://127.0.0.1/',
    'http://127.1/',
    'http://0x7f.1/',
    'http://0177.0.0.1/',
    'http://2130706433/',
    'http://0x7f000001/',
    'http://127.0.0.1./',
    'http://0/',
    'http://0.0.0.0/',
    'http://10.1.2.3/',
    'http://169.254.169.254/latest/meta-data/',
    'http://[::1]/',
    'http://[::]/',
    'http://[::ffff:127.0.0.1]/',
    'http://[::ffff:7f00:1]/',
    'http://[64:ff9b::127.0.0.1]/',
    'http://[fe80::1]/',
    'http://[fd00::1]/',
    'http://①②⑦.0.0.1/',
    'https://192.168.0.1/',
  ])('%s is refused without a connection', async (url) => {
    const { lookup, asked } = lookupOf(['8.8.8.8']);
    expect(await code(createGuardedFetch({ lookup })(url))).toBe('address_refused');
    expect(await code(assertPublicUrl(url, { lookup }))).toBe('address_refused');
    expect(asked()).toBe(0);
  });

  it('a real server on loopback is not reached by number, nor by the name localhost', async () => {
    const web = await startWeb(text('secret'));
    for (const host of ['127.0.0.1', 'localhost', 'localhost.', 'LOCALHOST']) {
      expect(await code(createGuardedFetch()(`http://${host}:${web.port}/`)), host).toBe('address_refused');
    }
    expect(web.requests).toHaveLength(0);
  });

  it('a name is refused when one of its addresses is private', async () => {
    const { lookup } = lookupOf(['8.8.8.8', '10.0.0.1']);
    expect(await code(createGuardedFetch({ lookup })('http://mixed.example/'))).toBe('address_refused');
  });

  it('the words name the host and the setting, not the address behind it', async () => {
    const { lookup } = lookupOf(['10.11.12.13']);
    const { message } = await failure(createGuardedFetch({ lookup })('http://intranet.example/'));
    expect(message).toContain('intranet.example leads to a private address');
    expect(message).toContain('FETCH_ALLOWED_HOSTS');
    expect(message).not.toContain('10.11');
  });

  it('a name without an address is told apart', async () => {
    const none = lookupOf([]);
    expect(await code(createGuardedFetch({ lookup: none.lookup })('http://none.example/'))).toBe(
      'host_unresolved',
    );
    const fails: Lookup = () => Promise.reject(new Error('ENOTFOUND'));
    expect(await code(assertPublicUrl('http://none.example/', { lookup: fails }))).toBe('host_unresolved');
  });
});

describe('a name that changes its address', () => {
  it('is asked for once a connection, and the connection goes to what was checked', async () => {
    const web = await startWeb(text('secret'));
    const { lookup, asked } = lookupOf(['127.0.0.2'], ['127.0.0.1']);
    const fetchOpen = createGuardedFetch({ lookup, allowedCidrs: ['127.0.0.2/32'], timeoutMs: 3000 });
    expect(await code(fetchOpen(`http://rebind.example:${web.port}/`))).toBe('fetch_failed');
    expect(asked()).toBe(1);
    expect(web.requests).toHaveLength(0);
  });

  it('passes the check at registration and is caught when it is used', async () => {
    const web = await startWeb(text('secret'));
    const { lookup } = lookupOf(['93.184.215.14'], ['127.0.0.1']);
    const url = `http://rebind.example:${web.port}/hook`;
    expect((await assertPublicUrl(url, { lookup })).addresses).toEqual([
      { address: '93.184.215.14', family: 4 },
    ]);
    expect(await code(createGuardedFetch({ lookup })(url, { method: 'POST', body: '{}' }))).toBe(
      'address_refused',
    );
    expect(web.requests).toHaveLength(0);
  });

  it('keeps the name in the Host header although it connects by address', async () => {
    const web = await startWeb((request, response) => void response.end(request.headers.host));
    const { lookup } = lookupOf(['127.0.0.1']);
    const fetchOpen = createGuardedFetch({ lookup, allowedCidrs: ['127.0.0.0/8'] });
    const answer = await fetchOpen(`http://Site.Example:${web.port}/`);
    expect(answer.text()).toBe(`site.example:${web.port}`);
  });
});

describe('what the operator opens', () => {
  it.each([
    ['a host', { allowedHosts: [' 127.0.0.1 '] }],
    ['a host by name', { allowedHosts: ['LocalHost.'] }],
    ['a block', { allowedCidrs: ['127.0.0.0/8', '', ' ::1/128 '] }],
    ['one address', { allowedCidrs: ['127.0.0.1', '::1'] }],
  ])('%s', async (name, options) => {
    const web = await startWeb(text('inside'));
    const host = name === 'a host by name' ? 'localhost' : '127.0.0.1';
    const answer = await createGuardedFetch(options)(`http://${host}:${web.port}/`);
    expect(answer.text()).toBe('inside');
    await expect(assertPublicUrl(web.url, { allowedCidrs: ['127.0.0.0/8'] })).resolves.toBeDefined();
  });

  it('reaches a block also through its IPv4-mapped form', async () => {
    const web = await startWeb(text('inside'));
    const answer = await createGuardedFetch({ allowedCidrs: ['127.0.0.0/8'] })(
      `http://[::ffff:127.0.0.1]:${web.port}/`,
    );
    expect(answer.text()).toBe('inside');
  });

  it('opens nothing else', async () => {
    const options = { allowedHosts: ['trusted.example'], allowedCidrs: ['10.0.0.0/8'] };
    expect(await code(createGuardedFetch(options)('http://127.0.0.1/'))).toBe('address_refused');
    expect(await code(createGuardedFetch(options)('http://192.168.0.1/'))).toBe('address_refused');
  });

  it('names a block that is none at once', () => {
    expect(() => createGuardedFetch({ allowedCidrs: ['10.0.0.0/8', '10.0.0.0/99'] })).toThrow(
      '"10.0.0.0/99"',
    );
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
    await vi.waitFor(() => expect(closed).toBe(true));
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
    await vi.waitFor(() => expect(web.requests).toHaveLength(1));
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
    expect((await open()(web.url, { headers: { 'user-agent': 'own' } })).text()).toBe('own');
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
    await vi.waitFor(() => expect(connections).toBe(0));
  });
});
