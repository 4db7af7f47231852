import { connect } from 'node:net';
import { text as readAll } from 'node:stream/consumers';
import { waitFor } from '@trunkline/testing';
import { ensurePages } from '@trunkline/ui/build';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { concrete, keyOf, type Locked, type Name, names, rawGet, startLocked } from './security.suite.ts';

let locked: Locked;
beforeAll(async () => {
  for (const app of names) await ensurePages({ app });
  locked = await startLocked();
});
afterAll(() => locked.stop());

/** Pages of each service, by where a person opens them. */
const pages: Record<Name, readonly string[]> = {
  voice: ['/', '/docs', '/help', '/help/concepts'],
  agent: ['/', '/app', '/docs', '/help', '/help/concepts'],
  research: ['/', '/share/nobody', '/docs', '/help', '/help/concepts'],
  switchboard: ['/', '/app', '/docs', '/help', '/help/concepts'],
};

async function answer(name: Name, method: string, path: string, more: Record<string, string> = {}) {
  const controller = new AbortController();
  const hasBody = ['POST', 'PUT', 'PATCH'].includes(method);
  const response = await fetch(locked.target(name).url + path, {
    method,
    headers: { 'content-type': 'application/json', ...keyOf(name, path), ...more },
    signal: controller.signal,
    ...(hasBody && { body: '"nothing"' }),
  });
  controller.abort();
  return response;
}

describe.each(names)('answers of %s', (name) => {
  it('carry the headers that keep browsers from harm, at every route, with a key and without', async () => {
    const wrong: string[] = [];
    const check = async (method: string, path: string, more: Record<string, string>) => {
      const { headers } = await answer(name, method, path, more);
      const policy = headers.get('content-security-policy') ?? '';
      const isSafe =
        /default-src '(none|self)'/.test(policy) &&
        policy.includes("frame-ancestors 'none'") &&
        !/unsafe|https?:|\*/.test(policy) &&
        headers.get('x-content-type-options') === 'nosniff' &&
        headers.get('x-frame-options') === 'DENY' &&
        headers.get('referrer-policy') === 'no-referrer' &&
        headers.get('access-control-allow-origin') === null &&
        headers.get('x-powered-by') === null;
      if (!isSafe) wrong.push(`${method} ${path}`);
    };
    const routes = locked
      .target(name)
      .routes()
      .map((route) => ({ ...route, path: concrete(route.path) }));
    const extra = [...pages[name], '/nothing-here', '/api/nothing-here'].map((path) => ({
      method: 'GET',
      path,
    }));
    await Promise.all(
      [...routes, ...extra].flatMap(({ method, path }) => {
        const sent = method === 'ALL' ? 'POST' : method;
        return [
          check(sent, path, { origin: 'https://elsewhere.example' }),
          check(sent, path, { 'x-api-key': '', authorization: '' }),
        ];
      }),
    );
    expect(wrong).toEqual([]);
  });

  it('hold no script or style in the page itself, and nothing from elsewhere', async () => {
    for (const path of pages[name]) {
      const opened = { accept: 'text/html', ...keyOf(name, path) };
      const { headers, text: page } = await rawGet(locked.target(name).url, path, opened);
      expect([path, headers['content-type']]).toEqual([path, expect.stringContaining('text/html')]);
      expect({
        path,
        inline: page.match(/<script(?![^>]*\bsrc=)[^>]*>|<style|\sstyle=|\son\w+=|javascript:/gi),
      }).toEqual({
        path,
        inline: null,
      });
      expect({ path, outside: page.match(/(src|href)="(https?:)?\/\//gi) }).toEqual({ path, outside: null });
    }
  });

  it('make an id of their own where the one that came could harm logs or headers', async () => {
    const { url } = locked.target(name);
    const hostile = [
      'a b',
      'x"onload=',
      '<script>',
      '../../x',
      'ü',
      'x'.repeat(200),
      '{jndi:ldap://x}',
      '%0d%0aset-cookie:x',
      ';',
    ];
    for (const id of hostile) {
      const { headers } = await rawGet(url, '/healthz', {
        'x-request-id': Buffer.from(id, 'utf8').toString('latin1'),
      });
      expect(headers['x-request-id']).toMatch(/^[\da-f-]{36}$/);
    }
    const { headers } = await rawGet(url, '/healthz', { 'x-request-id': 'proxy-id_1.2:3' });
    expect(headers['x-request-id']).toBe('proxy-id_1.2:3');
  });

  it('cannot be split by line breaks in a path or a header', async () => {
    const { url } = locked.target(name);
    for (const line of [
      'GET /nothing%0d%0aSet-Cookie:%20stolen=1 HTTP/1.1\r\nHost: x',
      'GET /docs/%E5%98%8A%E5%98%8DSet-Cookie:stolen=1 HTTP/1.1\r\nHost: x',
      'GET /healthz HTTP/1.1\r\nHost: x\r\nX-Request-Id: a\rSet-Cookie: stolen=1',
      'GET /healthz HTTP/1.1\r\nHost: x\r\nX-Request-Id: a\nSet-Cookie: stolen=1',
      'GET /healthz HTTP/1.1\r\nHost: x\r\nOrigin: a\u0000b',
      'GET /healthz HTTP/1.1\r\nHost: x y',
      'GET /healthz HTTP/1.1\r\nHost: x\r\nHost: y',
      'POST /publish HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\nTransfer-Encoding: chunked',
      'POST /publish HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\nContent-Length: 6',
    ]) {
      const said = await talk(url, `${line}\r\nConnection: close\r\n\r\n`);
      expect({ line, status: said.slice(0, 10) }).toEqual({
        line,
        status: expect.stringMatching(/^HTTP\/1\.1 [24]$/),
      });
      expect(said.split('\r\n\r\n')[0]).not.toMatch(/^set-cookie/im);
    }
  });
});

it('names a file to take away without anything that a header could not hold', async () => {
  const headers = { 'content-type': 'application/json', ...keyOf('research', '/api') };
  const { url } = locked.target('research');
  const query = 'a"; filename="evil.exe\r\nSet-Cookie: stolen=1 \u0000 ümläut ../../etc/passwd';
  const started = await fetch(`${url}/api/research/deep`, {
    method: 'POST',
    headers,
    body: JSON.stringify({ query }),
  });
  const { researchId } = (await started.json()) as { researchId: string };
  await waitFor(async () => {
    const found = await fetch(`${url}/api/research/deep/${researchId}/status`, { headers });
    return ((await found.json()) as { status: string }).status !== 'running';
  });
  const taken = await fetch(`${url}/api/research/deep/${researchId}/export?format=json`, { headers });
  expect(taken.status).toBe(200);
  expect(taken.headers.get('content-disposition')).toMatch(/^attachment; filename="[a-z0-9-]+\.json"$/);
  expect(taken.headers.get('set-cookie')).toBeNull();
});

it.each(names)('takes no token for a webhook of %s that would break its headers', async (name) => {
  const send = (config: object) =>
    fetch(`${locked.target(name).url}/message:send`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'a2a-version': '1.0', ...keyOf(name, '/message:send') },
      body: JSON.stringify({
        message: { messageId: '1', role: 'ROLE_USER', parts: [{ text: 'hello' }] },
        configuration: { taskPushNotificationConfig: { url: 'https://1.1.1.1/hook', ...config } },
      }),
    });
  for (const token of ['a\r\nx-evil: 1', 'a\nb', 'a\u0000b', 'ключ'])
    for (const config of [
      { token },
      { authentication: { scheme: 'Bearer', credentials: token } },
      { authentication: { scheme: token, credentials: 'x' } },
    ])
      expect({ config, status: (await send(config)).status }).toEqual({ config, status: 400 });
});

/** Sends bytes as they are, and gives all that comes back. */
async function talk(url: string, bytes: string): Promise<string> {
  const { hostname, port } = new URL(url);
  const socket = connect(Number(port), hostname);
  socket.setTimeout(10_000, () => socket.destroy(new Error('no answer')));
  socket.write(bytes, 'latin1');
  return await readAll(socket);
}
