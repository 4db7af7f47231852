import { describe, expect, it } from 'vitest';
import { rawClient, startApp } from '../fixtures/test-kit.ts';

const names = [
  'host',
  'Host',
  'authorization',
  'cookie',
  'accept',
  'x-spaced',
  'x-empty',
  'X-Mixed',
  'missing',
  'Missing',
  'constructor',
  '__proto__',
  'toString',
];

/** What the kit reads, and what fetch's headers of the same request say. */
async function readBoth(lines: readonly string[]) {
  const server = await startApp((app) => {
    app.get('/read', ({ req }) => {
      const of = (read: (name: string) => string | undefined) => names.map((name) => read(name) ?? null);
      const fetched = new Headers(req.raw.headers);
      const all = Object.keys(req.header()).sort();
      return Response.json({
        kit: of((name) => req.header(name)),
        fetched: of((name) => fetched.get(name) ?? undefined),
        all,
      });
    });
  });
  const client = await rawClient(server.port);
  client.write(`GET /read HTTP/1.1\r\n${lines.join('\r\n')}\r\nconnection: close\r\n\r\n`);
  await client.closed;
  return JSON.parse(client.received.slice(client.received.indexOf('{'))) as Record<
    'kit' | 'fetched' | 'all',
    unknown[]
  >;
}

describe('headers of a request', () => {
  it.each([
    ['plain ones', ['Host: sample', 'Accept: text/plain', 'X-Spaced:   a b  ', 'X-Empty:', 'x-mixed: Mixed']],
    ['names of every object', ['Host: sample', 'constructor: one', '__proto__: two', 'toString: three']],
    ['some that come twice', ['Host: sample', 'Authorization: Bearer one', 'Authorization: Bearer two']],
    ['lists', ['Host: sample', 'Accept: a', 'Accept: b', 'Cookie: a=1', 'Cookie: b=2']],
  ])('are what fetch says: %s', async (_name, lines) => {
    const { kit, fetched, all } = await readBoth(lines);
    expect(kit).toEqual(fetched);
    expect(all).toContain('connection');
  });

  it('are those of a request that a handler makes itself, not of the one that came', async () => {
    const server = await startApp((app) => {
      app.get('/read', ({ req }) => Response.json({ version: req.header('x-version') }));
      app.get('/other', ({ env }) => app.request('/read', { headers: { 'x-version': 'own' } }, env));
    });
    const answer = await fetch(`${server.url}/other`, { headers: { 'x-version': 'came' } });
    expect(await answer.json()).toEqual({ version: 'own' });
  });
});
