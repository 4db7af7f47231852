import { describe, expect, it } from 'vitest';
import { startApp } from '../fixtures/test-kit.ts';
import { createOriginCheck } from './origin-guard.ts';

async function statusWith(allowed: readonly string[], origin?: string) {
  const check = createOriginCheck(allowed);
  const server = await startApp((app) =>
    app.get('/stream', (c) => {
      check(c.req);
      return c.text('in');
    }),
  );
  const response = await fetch(`${server.url}/stream`, { headers: origin === undefined ? {} : { origin } });
  return response.status;
}

describe('createOriginCheck', () => {
  it.each([
    ['an entry', ['https://a.example'], 'https://a.example', 200],
    ['an entry in other case', ['HTTPS://A.example'], 'https://a.EXAMPLE', 200],
    ['an entry with blanks around', [' https://a.example '], 'https://a.example', 200],
    ['the second entry', ['https://b.example', 'https://a.example'], 'https://a.example', 200],
    ['another origin', ['https://a.example'], 'https://b.example', 403],
    ['a longer host', ['https://a.example'], 'https://a.example.evil.example', 403],
    ['another port', ['https://a.example'], 'https://a.example:8443', 403],
    ['no origin', ['https://a.example'], undefined, 403],
    ['the null origin', ['https://a.example'], 'null', 403],
    ['any origin with a star', ['*'], 'https://b.example', 200],
    ['no origin with a star', ['*'], undefined, 200],
    ['any origin without a list', [], 'https://b.example', 200],
    ['no origin without a list', [], undefined, 200],
    ['a list of blanks is none', ['', ' '], 'https://b.example', 200],
  ])('%s', async (_name, allowed, origin, status) => {
    expect(await statusWith(allowed, origin)).toBe(status);
  });

  it('serves a handler that learns from the body whether it streams', async () => {
    const check = createOriginCheck(['https://a.example']);
    const server = await startApp((app) =>
      app.post('/a2a', async (c) => {
        if ((await c.req.text()) === 'message/stream') check(c.req);
        return c.text('in');
      }),
    );
    const send = (body: string) =>
      fetch(`${server.url}/a2a`, { method: 'POST', body }).then(({ status }) => status);
    expect([await send('message/send'), await send('message/stream')]).toEqual([200, 403]);
  });
});

describe('CORS', () => {
  const preflight = {
    method: 'OPTIONS',
    headers: { origin: 'https://a.example', 'access-control-request-method': 'POST' },
  };

  it('is off', async () => {
    const server = await startApp((app) => app.post('/x', (c) => c.text('in')));
    for (const init of [preflight, { method: 'POST', headers: { origin: 'https://a.example' } }]) {
      const { headers } = await fetch(`${server.url}/x`, init);
      expect(headers.get('access-control-allow-origin')).toBeNull();
    }
  });
});

describe('changes from pages of other sites', () => {
  async function post(headers: Record<string, string>, method = 'POST') {
    const server = await startApp((app) => app.on(['GET', 'POST'], '/x', (c) => c.text('in')), {
      publicUrl: 'https://public.example/base',
    });
    // Node's fetch sets these headers itself, so a browser is imitated through http.
    const { request } = await import('node:http');
    return new Promise((resolve, reject) => {
      const sent = request(`${server.url}/x`, { method, headers }, (response) => {
        response.resume();
        resolve(response.statusCode);
      });
      sent.on('error', reject).end();
    });
  }

  it.each([
    ['a program', {}, 200],
    ['the same origin', { 'sec-fetch-site': 'same-origin' }, 200],
    ['an address typed by hand', { 'sec-fetch-site': 'none' }, 200],
    ['another site', { 'sec-fetch-site': 'cross-site', origin: 'https://evil.example' }, 403],
    ['another port of this host', { 'sec-fetch-site': 'same-site', origin: 'http://127.0.0.1:1' }, 403],
    ['a page that browsers do not mark', { origin: 'http://192.168.1.5' }, 403],
    ['a page without an origin', { origin: 'null' }, 403],
    ['an old browser on its own page', { origin: 'http://sample:80', host: 'sample' }, 200],
    ['its own page behind TLS', { origin: 'https://sample', host: 'sample:443' }, 200],
    ['the public address', { origin: 'https://public.example', host: '127.0.0.1:3000' }, 200],
    ['a program with a key', { origin: 'https://evil.example', authorization: 'Bearer x' }, 200],
  ])('%s', async (_name, headers, status) => {
    expect(await post(headers)).toBe(status);
  });

  it('may not send changes with the words of a form or a text, nor without a type', async () => {
    const server = await startApp((app) => app.post('/x', (c) => c.text('in')), { anyBodyType: false });
    const send = async (type: string | undefined, body: string | Blob = '{}') =>
      (
        await fetch(`${server.url}/x`, {
          method: 'POST',
          body,
          ...(type !== undefined && { headers: { 'content-type': type } }),
        })
      ).status;
    expect(await send('application/json; charset=utf-8')).toBe(200);
    expect(await send('application/vnd.sample+json')).toBe(200);
    for (const type of ['text/plain', 'application/x-www-form-urlencoded', 'multipart/form-data; boundary=b'])
      expect(await send(type)).toBe(415);
    expect(await send(undefined, new Blob(['{}']))).toBe(415);
    expect((await fetch(`${server.url}/x`, { method: 'POST' })).status).toBe(200);
  });

  it('takes forms where they are uploads', async () => {
    const server = await startApp((app) => app.post('/up', (c) => c.text('in')), {
      anyBodyType: false,
      uploadPaths: ['/up'],
    });
    const upload = await fetch(`${server.url}/up`, { method: 'POST', body: new FormData() });
    expect(upload.status).toBe(200);
    const text = await fetch(`${server.url}/up`, { method: 'POST', body: 'x' });
    expect([text.status, await text.text()]).toEqual([415, expect.stringContaining('multipart/form-data')]);
  });

  it('may read without changing', async () => {
    expect(await post({ 'sec-fetch-site': 'cross-site' }, 'GET')).toBe(200);
  });
});
