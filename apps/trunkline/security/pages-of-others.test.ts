import { once } from 'node:events';
import { createServer, request, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { startModelServer } from '@trunkline/testing';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { keyOf, type Locked, type Name, names, obey, rawGet, startLocked } from './security.suite.ts';

describe('pages of others', () => {
  /** No key anywhere and no operator asked for: only loopback and the rules about pages stand before the services. */
  let open: Locked;
  beforeAll(async () => {
    const env = { A2A_AUTH_TOKEN: '', RESEARCH_AUTH_TOKEN: '', SWITCHBOARD_API_KEY: '', TRUNKLINE_OPEN: '1' };
    const own = 'http://public.example:8080';
    const publicNames = {
      PUBLIC_URL: own,
      A2A_PUBLIC_URL: own,
      RESEARCH_PUBLIC_URL: own,
      SWITCHBOARD_PUBLIC_URL: own,
    };
    open = await startLocked({
      env: { ...env, ...publicNames, ALLOWED_HOSTS: 'other.example,Listed.example' },
      files: { 'voice/config/users.yaml': 'users: []' },
    });
  });
  afterAll(() => open.stop());

  /** A change that is harmless and, where it is let in, not refused for want of rights. */
  const changes: [Name, string][] = [
    ['voice', '/api/verbosity'],
    ['voice', '/a2a/callback'],
    ['agent', '/api/inbox'],
    ['agent', '/api/mcp/servers/test'],
    ['research', '/api/chat'],
    ['switchboard', '/publish'],
    ['switchboard', '/api/mcp-servers/test'],
    ...names.flatMap((name): [Name, string][] => [
      [name, '/a2a'],
      [name, '/message:send'],
    ]),
  ];

  const evil = 'evil.example:7870';
  const pages: [string, Record<string, string>][] = [
    ['whose name was made to point here', { host: evil, origin: `http://${evil}` }],
    ['that posts to an address of the network', { origin: 'http://evil.example' }],
    ['in a frame without an origin', { host: evil, origin: 'null' }],
    [
      'of another site, as browsers mark it',
      { origin: 'https://evil.example', 'sec-fetch-site': 'cross-site' },
    ],
    [
      'of another port of this machine',
      { host: '127.0.0.1:7870', origin: 'http://127.0.0.1:9999', 'sec-fetch-site': 'same-site' },
    ],
    ['of another port, from an old browser', { host: '127.0.0.1:7870', origin: 'http://127.0.0.1:9999' }],
    ['of another address', { host: '127.0.0.1:7870', origin: 'http://192.168.1.5:7870' }],
  ];
  const own: [string, Record<string, string>][] = [
    ['no page at all', {}],
    [
      'its own page',
      { host: '127.0.0.1:7870', origin: 'http://127.0.0.1:7870', 'sec-fetch-site': 'same-origin' },
    ],
    [
      'its own page, by an address without TLS',
      { host: '192.168.1.5:7870', origin: 'http://192.168.1.5:7870' },
    ],
    ['its own page, by the name of the machine', { host: 'box.local:7870', origin: 'http://box.local:7870' }],
    [
      'its own page behind a proxy with TLS, by a listed name',
      { host: 'listed.example', origin: 'https://listed.example', 'sec-fetch-site': 'same-origin' },
    ],
  ];

  describe.each(changes)('%s without a key, at %s', (name, path) => {
    it.each(pages)('takes nothing from a page %s', async (_, headers) => {
      expect(await post(name, path, { 'content-type': 'text/plain', ...headers })).toMatch(/^(403|type)$/);
      // A2A takes JSON from any Origin: browsers mark foreign pages, or ask for leave to send JSON and do not get it.
      if (!isA2a(path) || headers['sec-fetch-site'] !== undefined)
        expect(await post(name, path, headers)).toBe('403');
    });

    it('takes no plain text that happens to be JSON, which any page can send without asking first', async () => {
      expect(await post(name, path, { 'content-type': 'text/plain' })).toBe('type');
    });

    it.each(own)('takes what comes from %s', async (_, headers) => {
      expect(await post(name, path, headers)).not.toMatch(/^(403|415|type)$/);
    });
  });

  const readings: [Name, string][] = [
    ['voice', '/api/whoami'],
    ['agent', '/api/config'],
    ['agent', '/tasks'],
    ['research', '/api/files'],
    ['switchboard', '/api/bus/history'],
  ];

  describe.each(readings)('%s without a key, asked for %s', (name, path) => {
    it('tells nothing to a page whose name was made to point here, and says what to set', async () => {
      const { status, text } = await rawGet(open.target(name).url, path, { host: evil });
      expect({ status, text }).toEqual({ status: 403, text: expect.stringContaining('ALLOWED_HOSTS') });
      expect(text).toContain('evil.example');
    });

    it.each([
      'localhost:7870',
      '192.168.1.5:7870',
      'box.local',
      'agent:7870',
      'listed.example',
      'public.example',
    ])('answers to the name %s', async (host) => {
      expect((await rawGet(open.target(name).url, path, { host })).status).toBe(200);
    });
  });

  it('a key opens a service by whatever name it is asked for', async () => {
    const locked = await startLocked({ env: { TRUNKLINE_OPEN: '1' } });
    onTestFinished(() => locked.stop());
    for (const [name, path] of readings) {
      const headers = { host: evil, ...keyOf(name, path) };
      expect({ name, status: (await rawGet(locked.target(name).url, path, headers)).status }).toEqual({
        name,
        status: 200,
      });
    }
  });

  function isA2a(path: string): boolean {
    return path === '/a2a' || path === '/message:send';
  }

  /** The status, or `type` where the body was refused because it is not JSON; A2A has an error of its own for that. */
  function post(name: Name, path: string, more: Record<string, string>): Promise<string> {
    const { hostname, port } = new URL(open.target(name).url);
    const headers = { 'content-type': 'application/json', ...more };
    return new Promise((resolve, reject) => {
      const sent = request({ hostname, port, path, method: 'POST', headers }, (response) => {
        const { statusCode: status } = response;
        const isWrongType = (body: string) => status === 415 || body.includes('Incompatible content types');
        text(response).then((body) => resolve(isWrongType(body) ? 'type' : String(status)), reject);
      });
      sent.once('error', reject).end('{}');
    });
  }
});

describe('hostile pages', () => {
  /** Every end tag looks through all open elements: parsing these 2 MB takes seconds. */
  const hostile = `${'<div>'.repeat(1900)}${'</p>'.repeat(480_000)}`;
  /** Answers under way that lack only their end, by path. */
  const almostDone = new Map<string, PromiseWithResolvers<ServerResponse>>();
  const pages = createServer((request, response) => {
    response.setHeader('content-type', 'text/html');
    response.write(hostile, () => almostDone.get(request.url ?? '')?.resolve(response));
  });
  /** Paths whose text the model was given, and services whose turn has ended. */
  const read = new Set<string>();
  const over = new Set<string>();
  let model: Awaited<ReturnType<typeof startModelServer>>;
  let locked: Locked;

  beforeAll(async () => {
    pages.listen(0, '127.0.0.1');
    await once(pages, 'listening');
    model = await startModelServer({
      script: (request) => {
        for (const name of almostDone.keys()) {
          const last = JSON.stringify(request.messages.at(-1));
          if (request.messages.at(-1)?.role === 'tool' && last.includes(name)) read.add(name);
        }
        return obey(request);
      },
    });
    const env = { LLM_GATEWAY_URL: model.url, LLM_API_KEY: 'k', LLM_MODEL: 'm' };
    locked = await startLocked({ env: { ...env, FETCH_ALLOWED_CIDRS: '127.0.0.0/8' } });
  });
  afterAll(async () => {
    await locked.stop();
    await model.stop();
    pages.closeAllConnections();
    pages.close();
  });

  describe.each(['agent', 'voice'] as const)('the %s', (name) => {
    it('goes on answering while a hostile page is parsed', async () => {
      const path = `/hostile-${name}`;
      const arrival = Promise.withResolvers<ServerResponse>();
      almostDone.set(path, arrival);
      const { port } = pages.address() as AddressInfo;
      const ended = ask(name, { url: `http://127.0.0.1:${port}${path}` });
      const response = await Promise.race([arrival.promise, ended]);
      if (typeof response === 'string') throw new Error(`The page was never asked for: ${response}`);
      const askHealth = async () =>
        expect((await fetch(`${locked.target(name).url}/healthz`)).status).toBe(200);
      // Time for the service to take in all but the end.
      for (let round = 0; round < 100; round += 1) await askHealth();
      response.end();
      let answered = 0;
      while (!read.has(path) && !over.has(name)) {
        await askHealth();
        answered += 1;
      }
      // A service that parses in its own thread answers none of them before the page is read.
      expect(answered).toBeGreaterThan(10);
      expect(await ended).toContain(path);
    });
  });

  async function ask(name: 'agent' | 'voice', given: object): Promise<string> {
    const text = `CALL${JSON.stringify({ name: 'fetch_url', arguments: given })}`;
    const message = { messageId: crypto.randomUUID(), role: 'user', parts: [{ kind: 'text', text }] };
    const response = await fetch(`${locked.target(name).url}/a2a`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...keyOf(name, '/a2a') },
      body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'message/send', params: { message } }),
    });
    const answer = await response.text();
    over.add(name);
    return answer;
  }
});
