import { describe, expect, it } from 'vitest';
import type { RouteContext } from '../app/context.ts';
import { callerGuard } from '../callers/caller-guard.ts';
import { createKeyring } from '../callers/keyring.ts';
import { httpErrors } from '../errors/http-errors.ts';
import { createMetrics } from '../metrics/metrics.ts';
import { answerText } from '../stream/answer-text.ts';
import { eventually, rawClient, startApp, type TestCaller } from '../test-kit.ts';

const plain = { 'content-type': 'text/plain' };

/** A route at /echo that says by which door the request came, and others that fail. */
async function start(options: Parameters<typeof startApp>[1] = {}) {
  const echo = async (context: RouteContext) => {
    const door = 'json' in context ? 'routed' : 'direct';
    const words = await context.req.text();
    context.get('logger').info({}, 'heard');
    return answerText(context, `${door}: ${words}`, plain);
  };
  return startApp(
    (app) => {
      app.post('/echo', echo);
      app.get('/echo', (context) => context.text('read'));
      for (const [path, handler] of Object.entries(failures)) app.post(path, handler);
      for (const path of ['/echo', ...Object.keys(failures)]) app.direct.post(path);
    },
    { bodyLimit: 1000, ...options },
  );
}

const failures: Record<string, (context: RouteContext) => Response> = {
  '/refused': () =>
    Response.json({ no: 'entry' }, { status: 401, headers: { 'www-authenticate': 'Bearer' } }),
  '/empty': () => new Response(null, { status: 204 }),
  '/broken': () => {
    throw new Error('a defect');
  },
  '/known': () => {
    throw httpErrors.unauthenticated();
  },
  '/half': (context) => {
    context.env.outgoing.writeHead(200, plain);
    context.env.outgoing.write('half');
    throw new Error('a defect in the middle');
  },
};

const post = (body: string, headers: Record<string, string> = {}) => ({ method: 'POST', body, headers });

describe('a direct route', () => {
  it('is asked without a search, and has the headers, the log and the measurement of any other', async () => {
    const metrics = createMetrics({ prefix: 'sample' });
    const server = await start({ metrics });
    const response = await fetch(`${server.url}/echo`, post('grüß dich', { 'x-request-id': 'id-1' }));
    expect(await response.text()).toBe('direct: grüß dich');
    expect(response.headers.get('x-request-id')).toBe('id-1');
    expect(response.headers.get('x-content-type-options')).toBe('nosniff');
    const line = await eventually(() => {
      const found = server.lines.find(({ message }) => message === 'request');
      if (found === undefined) throw new Error('no line yet');
      return found;
    });
    expect(line).toMatchObject({
      level: 'debug',
      fields: { requestId: 'id-1', method: 'POST', path: '/echo', route: '/echo', status: 200 },
    });
    expect(server.lines.find(({ message }) => message === 'heard')?.fields.requestId).toBe('id-1');
    const measured = 'sample_http_request_duration_seconds_count{method="POST",route="/echo",status="200"} 1';
    expect(await metrics.render()).toContain(measured);
  });

  it('leaves other methods, queries and bodies of unknown length to the app', async () => {
    const server = await start();
    expect(await (await fetch(`${server.url}/echo`)).text()).toBe('read');
    expect(await (await fetch(`${server.url}/echo?a=1`, post('x'))).text()).toBe('routed: x');
    const body = new ReadableStream({
      start(controller) {
        controller.enqueue(Buffer.from('piecemeal'));
        controller.close();
      },
    });
    const chunked = { method: 'POST', body, duplex: 'half' } as RequestInit;
    expect(await (await fetch(`${server.url}/echo`, chunked)).text()).toBe('routed: piecemeal');
    expect((await fetch(`${server.url}/echo`, { method: 'DELETE' })).status).toBe(405);
  });

  it('refuses what the app refuses: a body too large, a page of another site, a host that is none', async () => {
    const server = await start();
    const large = await fetch(`${server.url}/echo`, post('x'.repeat(1001)));
    expect([large.status, large.headers.get('connection')]).toEqual([413, 'close']);
    expect(await large.json()).toMatchObject({ code: 'body_too_large' });
    const foreign = await fetch(`${server.url}/echo`, post('x', { 'sec-fetch-site': 'cross-site' }));
    expect(foreign.status).toBe(403);
    const client = await rawClient(server.port);
    client.write('POST /echo HTTP/1.1\r\nhost: a b\r\ncontent-length: 1\r\n\r\nx');
    await client.until('400 Bad Request');
  });

  it('tells pages of listed origins that they may read', async () => {
    const server = await start({ corsOrigins: ['https://console.example'] });
    const response = await fetch(`${server.url}/echo`, post('x', { origin: 'https://console.example' }));
    expect(response.headers.get('access-control-allow-origin')).toBe('https://console.example');
    expect(await response.text()).toBe('direct: x');
  });

  it.each([
    ['/refused', 401],
    ['/empty', 204],
    ['/known', 401],
    ['/broken', 500],
  ])('may answer with a response of its own, at %s, and leaves the body unread', async (path, status) => {
    const server = await start();
    const client = await rawClient(server.port);
    const request = (to: string) => `POST ${to} HTTP/1.1\r\nhost: sample\r\ncontent-length: 2\r\n\r\nhi`;
    client.write(request(path));
    await client.until('x-request-id: ');
    expect(client.received).toMatch(new RegExp(`^HTTP/1.1 ${status} `));
    client.write(request('/echo'));
    await client.until('direct: hi');
    const faults = server.lines.filter(({ message }) => message === 'request failed');
    expect(faults).toHaveLength(status === 500 ? 1 : 0);
  });

  it('stands behind every guard of the app, whenever it was added', async () => {
    const server = await startApp((app) => {
      app.direct.post('/kept');
      const keyring = createKeyring<TestCaller>([{ key: 'k-1', caller: { id: 'ann' } }]);
      app.use('/*', callerGuard({ keyring }));
      app.use('/kept', async (context, next) => {
        if (context.get('caller').id === 'ann') await next();
        else throw httpErrors.forbidden();
      });
      app.post('/kept', (context) => answerText(context, `for ${context.get('caller').id}`, plain));
      app.use('/*', () => {
        throw new Error('comes after the route and is never asked');
      });
    });
    const ask = async (headers: Record<string, string>) => {
      const response = await fetch(`${server.url}/kept`, post('x', headers));
      return [response.status, response.status === 200 ? await response.text() : undefined];
    };
    expect(await ask({})).toEqual([401, undefined]);
    expect(await ask({ 'x-api-key': 'wrong' })).toEqual([401, undefined]);
    expect(await ask({ 'x-api-key': 'k-1' })).toEqual([200, 'for ann']);
  });

  it('lets nobody in where a guard neither answers nor hands on', async () => {
    const server = await startApp((app) => {
      app.use('/odd', async () => undefined);
      app.post('/odd', (context) => answerText(context, 'in', plain));
      app.direct.post('/odd');
    });
    expect((await fetch(`${server.url}/odd`, post('x'))).status).toBe(500);
  });

  it('breaks off when it fails after the answer has begun, and the server goes on', async () => {
    const server = await start();
    const client = await rawClient(server.port);
    client.write('POST /half HTTP/1.1\r\nhost: sample\r\ncontent-length: 1\r\n\r\nx');
    await client.closed;
    expect(client.received).not.toContain('0\r\n\r\n');
    expect(server.lines.some(({ message }) => message === 'an answer broke off')).toBe(true);
    expect(await (await fetch(`${server.url}/echo`, post('x'))).text()).toBe('direct: x');
  });

  it('notices a client that leaves before its body is there', async () => {
    const server = await start();
    const client = await rawClient(server.port);
    client.write('POST /echo HTTP/1.1\r\nhost: sample\r\ncontent-length: 10\r\n\r\nhalf');
    client.socket.end();
    client.socket.destroy();
    await eventually(() => {
      const line = server.lines.find(({ message }) => message === 'request');
      expect(line?.fields).toMatchObject({ path: '/echo', status: 499 });
    });
  });
});
