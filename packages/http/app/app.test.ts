import { describe, expect, it } from 'vitest';
import { callerGuard, createKeyring } from '../callers/caller-guard.ts';
import { getRequest, rawClient, startApp } from '../fixtures/test-kit.ts';
import { createMetrics } from '../metrics/metrics.ts';
import { withoutLastSlashes } from './context.ts';

describe('request ids', () => {
  it('makes one, echoes it and binds it to the logger', async () => {
    const server = await startApp((app) => {
      app.get('/', (c) => {
        c.get('logger').info({}, 'in the handler');
        return c.text(c.get('requestId'));
      });
    });
    const response = await fetch(`${server.url}/`);
    const id = await response.text();
    expect(id).toMatch(/^[0-9a-f-]{36}$/);
    expect(response.headers.get('x-request-id')).toBe(id);
    expect(server.lines.find((line) => line.message === 'in the handler')?.fields.requestId).toBe(id);
  });

  it.each([
    ['trace-1.2:3_4', true],
    ['a'.repeat(128), true],
    ['a'.repeat(129), false],
    ['with blank', false],
    ['<script>', false],
    ['-leading', false],
  ])('an inbound id %j is kept: %s', async (given, kept) => {
    const server = await startApp((app) => app.get('/', (c) => c.text('')));
    const response = await fetch(`${server.url}/`, { headers: { 'x-request-id': given } });
    expect(response.headers.get('x-request-id') === given).toBe(kept);
  });
});

describe('routes', () => {
  it('lead to the same handlers each time, by method, path and parameter', async () => {
    const server = await startApp((app) => {
      app.get('/fixed', (c) => c.text('get'));
      app.post('/fixed', (c) => c.text('post'));
      app.get('/:name', (c) => c.text(c.req.param('name')));
    });
    const ask = async (path: string, method: string) =>
      (await fetch(`${server.url}${path}`, { method })).text();
    for (let round = 0; round < 2; round += 1) {
      expect(await ask('/fixed', 'GET')).toBe('get');
      expect(await ask('/fixed', 'POST')).toBe('post');
      for (const name of ['ann', 'bob']) expect(await ask(`/${name}`, 'GET')).toBe(name);
    }
    expect((await fetch(`${server.url}/fixed`, { method: 'DELETE' })).status).toBe(405);
  });
});

describe('standard headers', () => {
  it('stand on answers, errors and answers that were made outside the context', async () => {
    const server = await startApp((app) => {
      app.get('/plain', (c) => c.text('x'));
      app.get('/raw', () => new Response('x'));
      app.get('/frozen', () => Response.redirect('http://elsewhere.example/', 302));
    });
    for (const path of ['/plain', '/raw', '/frozen', '/missing', '/healthz']) {
      const { headers } = await fetch(server.url + path, { redirect: 'manual' });
      expect(headers.get('x-content-type-options'), path).toBe('nosniff');
      expect(headers.get('referrer-policy'), path).toBe('no-referrer');
      expect(headers.get('content-security-policy'), path).toContain("frame-ancestors 'none'");
    }
  });

  it('give way to what a handler sets itself', async () => {
    const server = await startApp((app) => {
      app.get('/', (c) => c.text('x', 200, { 'referrer-policy': 'same-origin' }));
    });
    expect((await fetch(`${server.url}/`)).headers.get('referrer-policy')).toBe('same-origin');
  });
});

describe('access log', () => {
  it('blots out secrets in the query and shows the rest', async () => {
    const server = await startApp((app) => app.get('/a/:id', (c) => c.text('x')));
    await fetch(`${server.url}/a/7?topic=b&api_key=s3cret&accessToken=s3cret&token=s3cret&keyword=fish`);
    const [line] = server.lines.filter(({ message }) => message === 'request');
    expect(line).toMatchObject({
      level: 'debug',
      fields: { method: 'GET', path: '/a/7', route: '/a/:id', status: 200 },
    });
    expect(line?.fields.query).toBe(
      'topic=b&api_key=redacted&accessToken=redacted&token=redacted&keyword=fish',
    );
    expect(JSON.stringify(server.lines)).not.toContain('s3cret');
  });

  it('lifts refusals to info', async () => {
    const server = await startApp(() => undefined);
    await fetch(`${server.url}/missing`);
    expect(server.lines.at(-1)).toMatchObject({ level: 'info', fields: { status: 404 } });
  });
});

describe('slashes at the end of an A2A path', () => {
  it('name the same route, and many within a path cost next to nothing', async () => {
    const server = await startApp((app) => app.get('/a2a/x', (c) => c.text('here')));
    expect(await (await fetch(`${server.url}/a2a/x///`)).text()).toBe('here');
    // With work that grows by the square of the length, this would run into the time limit.
    const path = `/a2a${'/'.repeat(300_000)}x`;
    expect(withoutLastSlashes(`${path}//`)).toBe(path);
    expect(withoutLastSlashes('//')).toBe('');
  });
});

describe('unknown paths and methods', () => {
  it('tells 404 from 405 and lists what is allowed', async () => {
    const server = await startApp((app) => {
      app.get('/things/:id', (c) => c.text('x'));
      app.delete('/things/:id', (c) => c.text('x'));
      app.all('/any', (c) => c.text('x'));
      app.use('/guarded/*', (_c, next) => next());
    });
    const wrong = await fetch(`${server.url}/things/1`, { method: 'PUT' });
    expect(wrong.status).toBe(405);
    expect(wrong.headers.get('allow')).toBe('GET, HEAD, DELETE');
    expect(await wrong.json()).toMatchObject({ code: 'method_not_allowed' });
    expect((await fetch(`${server.url}/nothing`, { method: 'PUT' })).status).toBe(404);
    expect((await fetch(`${server.url}/guarded/x`, { method: 'PUT' })).status).toBe(404);
    expect((await fetch(`${server.url}/any`, { method: 'PUT' })).status).toBe(200);
    expect((await fetch(`${server.url}/things/1`, { method: 'HEAD' })).status).toBe(200);
  });

  it('keeps an answer of 404 that a handler gave', async () => {
    const server = await startApp((app) => app.get('/x', (c) => c.json({ mine: true }, 404)));
    const response = await fetch(`${server.url}/x`);
    expect([response.status, await response.json()]).toEqual([404, { mine: true }]);
  });
});

describe('health', () => {
  it.each([200, 503] as const)('answers %s with the body of the service', async (status) => {
    const server = await startApp(() => undefined, {
      health: async () => ({ status, body: { ok: status === 200 } }),
    });
    const response = await fetch(`${server.url}/healthz`);
    expect([response.status, await response.json()]).toEqual([status, { ok: status === 200 }]);
    expect(response.headers.get('cache-control')).toBe('no-store');
  });

  it('is not caught by a guard that is added later on everything', async () => {
    const server = await startApp(
      (app) => {
        app.use('*', async (c) => c.text('no', 401));
      },
      { metrics: createMetrics({ prefix: 'sample' }) },
    );
    for (const path of ['/healthz', '/metrics', '/openapi.json', '/docs']) {
      expect((await fetch(server.url + path)).status, path).toBe(200);
    }
    expect((await fetch(`${server.url}/other`)).status).toBe(401);
  });
});

describe('requests that make no address', () => {
  it('are refused in words and do not reach the app', async () => {
    const server = await startApp((app) => app.get('/', (c) => c.text('x')));
    const client = await rawClient(server.port);
    client.write(getRequest('/', { host: 'a b<c>' }));
    await client.until('no usable Host');
    expect(client.received).toContain('HTTP/1.1 400');
  });
});

describe('the guard of the kit', () => {
  it('stands before metrics and documentation, not before the state of health', async () => {
    const guard = callerGuard({ keyring: createKeyring([{ key: 'sesame', caller: { id: 'ann' } }]) });
    const server = await startApp(() => undefined, { guard, metrics: createMetrics({ prefix: 'sample' }) });
    const status = async (path: string, headers: Record<string, string> = {}) =>
      (await fetch(server.url + path, { headers })).status;
    for (const path of ['/metrics', '/docs', '/docs/style.css', '/openapi.json']) {
      expect(await status(path)).toBe(401);
      expect(await status(path, { authorization: 'Bearer sesame' })).toBe(200);
    }
    expect(await status('/healthz')).toBe(200);
  });
});
