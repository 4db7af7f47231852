import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { parseErrorResponse } from '@modelcontextprotocol/sdk/client/auth.js';
import { fetchOnNewConnection } from '@trunkline/http';
import { startMcpExample, waitFor } from '@trunkline/testing';
import { afterEach, describe, expect, it } from 'vitest';
import { McpClients } from '../index.ts';

describe('oauth', () => {
  const cleanups: (() => unknown)[] = [];
  afterEach(async () => {
    for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
  });

  const signal = new AbortController().signal;
  const redirectUrl = 'http://127.0.0.1:7870/oauth/mcp/callback';

  function clientsWith(secrets: Map<string, string>, signIn: object = { redirectUrl: () => redirectUrl }) {
    const warnings: object[] = [];
    const store = {
      get: (name: string) => secrets.get(name),
      set: (name: string, value: string) => void secrets.set(name, value),
      remove: (name: string) => secrets.delete(name),
    };
    const clients = new McpClients({
      clientName: 'test',
      logger: { warn: (fields) => void warnings.push(fields) },
      configuredIn: () => 'agent.yaml',
      oauth: { store, ...signIn },
    });
    cleanups.push(() => clients.close());
    return { clients, warnings };
  }

  /** The example of the official SDK, with its authorization server: registration, PKCE and tokens for this resource alone. */
  async function startExample() {
    const { url, kill } = await startMcpExample('--oauth', '--oauth-strict');
    cleanups.push(() => kill());
    return { url };
  }

  /** What a browser does: it goes to the page and comes back with a code. */
  async function comeBack(page: string) {
    const { headers } = await fetch(page, { redirect: 'manual' });
    const back = new URL(headers.get('location') ?? '');
    expect(back.href.startsWith(redirectUrl)).toBe(true);
    return { state: back.searchParams.get('state') ?? '', code: back.searchParams.get('code') ?? '' };
  }

  describe('a server that wants a sign-in', () => {
    it('says so, lets us in after it, and still after a restart', async () => {
      const { url } = await startExample();
      const secrets = new Map<string, string>();
      const { clients } = clientsWith(secrets);
      await clients.configure([{ name: 'sdk', url }]);
      expect(clients.states).toEqual([
        {
          name: 'sdk',
          state: 'sign-in',
          tools: [],
          reason: 'The server wants a sign-in: sign in to it, or set its key under headers in agent.yaml.',
        },
      ]);
      const page = new URL((await clients.beginSignIn('sdk', signal)) ?? '');
      expect(page.searchParams.get('code_challenge_method')).toBe('S256');
      expect(page.searchParams.get('resource')).toBe(url);
      const { state, code } = await comeBack(page.href);
      expect(await clients.finishSignIn('another state', code, signal)).toBeUndefined();
      expect(await clients.finishSignIn(state, code, signal)).toBe('sdk');
      expect(clients.states[0]).toMatchObject({ state: 'connected' });
      expect(await clients.finishSignIn(state, code, signal)).toBeUndefined();

      const { clients: later } = clientsWith(secrets);
      await later.configure([{ name: 'sdk', url }]);
      expect(later.states[0]).toMatchObject({ state: 'connected' });
      await later.get('sdk')?.signOut();
      expect(later.states[0]).toMatchObject({ state: 'sign-in' });
      expect(secrets.size).toBe(0);
    });

    it('gets no tokens of another address under its name', async () => {
      const { url } = await startExample();
      const secrets = new Map<string, string>();
      const { clients } = clientsWith(secrets);
      await clients.configure([{ name: 'sdk', url }]);
      const { state, code } = await comeBack((await clients.beginSignIn('sdk', signal)) ?? '');
      await clients.finishSignIn(state, code, signal);
      const seen: IncomingMessage['headers'][] = [];
      const other = await serve((request, response) => {
        seen.push(request.headers);
        response.writeHead(401).end();
      });
      await clients.configure([{ name: 'sdk', url: `${other}/mcp` }]);
      await waitFor(() => seen.length > 0);
      expect(seen.map(({ authorization }) => authorization)).toEqual(seen.map(() => undefined));
      expect(clients.states[0]).toMatchObject({ state: 'sign-in' });
    });

    it('is not one that has a key under headers', async () => {
      const { url } = await startRefreshing();
      const { clients, warnings } = clientsWith(new Map());
      await clients.configure([{ name: 'sdk', url, headers: { authorization: 'Bearer wrong-key' } }]);
      expect(clients.states[0]).toMatchObject({
        state: 'failed',
        reason: 'The server answered 401: set its key under headers in agent.yaml.',
      });
      expect(JSON.stringify(warnings)).not.toContain('wrong-key');
    });
  });

  const atOnce = async (): Promise<unknown> => undefined;

  /**
   * An authorization server whose access tokens are good until the test lets them expire, with the metadata that RFC 8414
   * and 9728 describe. `beforeRenewal` holds new tokens, `beforeRefusal` the answer to a refresh token that was used before.
   */
  async function startRefreshing({
    beforeRenewal = atOnce,
    beforeRefusal = atOnce,
    isElsewhere = false,
    isRedirected = false,
  } = {}) {
    const grants: string[] = [];
    /** Requests of ours, and what they said for a proxy before the server. */
    const seen: { host: string; pathname: string; tenant: unknown }[] = [];
    let refresh = '';
    /** Two requests that wait for each other, so that both come with the same token. */
    let meeting: { path: string; missing: number; met: PromiseWithResolvers<void> } | undefined;
    const valid = new Set<string>();
    let count = 0;
    const answer = async (request: IncomingMessage, response: ServerResponse) => {
      const { pathname } = new URL(request.url ?? '/', 'http://localhost');
      const { host = '', 'x-tenant': tenant } = request.headers;
      if (pathname !== '/authorize') seen.push({ host, pathname, tenant });
      const base = `http://${request.headers.host}`;
      const json = (value: object, status = 200) =>
        response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(value));
      const body = await bodyOf(request);
      if (pathname === meeting?.path) {
        meeting.missing -= 1;
        if (meeting.missing === 0) meeting.met.resolve();
        await meeting.met.promise;
      }
      if (isRedirected && base === origin && pathname.startsWith('/.well-known/oauth-protected-resource'))
        return response.writeHead(302, { location: `${signIn}${pathname}` }).end();
      if (pathname.startsWith('/.well-known/oauth-protected-resource'))
        return json({ resource: `${origin}/mcp`, authorization_servers: [signIn ?? base] });
      if (pathname.startsWith('/.well-known/oauth-authorization-server'))
        return json({
          issuer: base,
          authorization_endpoint: `${base}/authorize`,
          token_endpoint: `${base}/token`,
          registration_endpoint: `${base}/register`,
          response_types_supported: ['code'],
          code_challenge_methods_supported: ['S256'],
        });
      if (pathname === '/register') return json({ ...JSON.parse(body), client_id: 'c1' }, 201);
      if (pathname === '/authorize') {
        const { searchParams } = new URL(request.url ?? '/', base);
        const back = `${searchParams.get('redirect_uri')}?code=x&state=${searchParams.get('state')}`;
        return response.writeHead(302, { location: back }).end();
      }
      if (pathname === '/token') {
        const given = new URLSearchParams(body);
        const grant = given.get('grant_type') ?? '';
        grants.push(grant);
        // As RFC 9700 has it, a refresh token is good for one use.
        if (grant === 'refresh_token' && given.get('refresh_token') !== refresh)
          return await beforeRefusal().then(() => json({ error: 'invalid_grant' }, 400));
        count += 1;
        refresh = `r-${count}`;
        valid.add(`Bearer access-${count}`);
        const tokens = { access_token: `access-${count}`, token_type: 'bearer', refresh_token: refresh };
        if (grant === 'refresh_token') await beforeRenewal();
        return json({ ...tokens, expires_in: 60 });
      }
      if (!valid.has(request.headers.authorization ?? '')) {
        const challenge = `Bearer resource_metadata="${base}/.well-known/oauth-protected-resource/mcp"`;
        return response.writeHead(401, { 'www-authenticate': challenge }).end();
      }
      if (request.method !== 'POST') return response.writeHead(405).end();
      const { id, method, params } = JSON.parse(body);
      if (id === undefined) return response.writeHead(202).end();
      const result =
        method === 'initialize'
          ? {
              protocolVersion: params.protocolVersion,
              capabilities: { tools: {} },
              serverInfo: { name: 'x', version: '1' },
            }
          : {
              tools: [{ name: 'look', inputSchema: { type: 'object' } }],
              content: [{ type: 'text', text: 'seen' }],
            };
      return json({ jsonrpc: '2.0', id, result });
    };
    const origin = await serve(answer);
    const signIn = isElsewhere ? await serve(answer) : undefined;
    const expire = () => valid.clear();
    const expireForBoth = (path: '/mcp' | '/token') => {
      expire();
      meeting = { path, missing: 2, met: Promise.withResolvers() };
    };
    return { url: `${origin}/mcp`, grants, seen, expire, expireForBoth };
  }

  async function serve(answer: (request: IncomingMessage, response: ServerResponse) => unknown) {
    const server = createServer((request, response) => void answer(request, response));
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    cleanups.push(() => {
      server.closeAllConnections();
      server.close();
    });
    return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  }

  async function bodyOf(request: IncomingMessage): Promise<string> {
    let body = '';
    for await (const chunk of request) body += chunk;
    return body;
  }

  it('renews an expired token by itself, and asks for a sign-in when that fails', async () => {
    const server = await startRefreshing();
    const secrets = new Map<string, string>();
    const { clients } = clientsWith(secrets);
    await clients.configure([{ name: 'net', url: server.url }]);
    const { state, code } = await comeBack((await clients.beginSignIn('net', signal)) ?? '');
    await clients.finishSignIn(state, code, signal);
    expect(clients.states[0]).toMatchObject({ state: 'connected', tools: ['net_look'] });
    server.expire();
    const { clients: later } = clientsWith(secrets);
    await later.configure([{ name: 'net', url: server.url }]);
    expect(later.states[0]).toMatchObject({ state: 'connected' });
    expect(server.grants).toEqual(['authorization_code', 'refresh_token']);
    const [stored = ''] = secrets.values();
    expect(JSON.parse(stored).tokens).toMatchObject({ access_token: 'access-2', refresh_token: 'r-2' });
    secrets.set(
      'mcp-oauth.net',
      JSON.stringify({ ...JSON.parse(stored), tokens: { access_token: 'old', token_type: 'bearer' } }),
    );
    const { clients: last } = clientsWith(secrets);
    await last.configure([{ name: 'net', url: server.url }]);
    expect(last.states[0]).toMatchObject({ state: 'sign-in' });
  });

  it.each([
    ['at the server', true, {}],
    ['elsewhere', false, { isElsewhere: true }],
    // The SDK follows no redirect to another origin; `fetch` would send the headers there.
    ['at the server, which redirects elsewhere', true, { isElsewhere: true, isRedirected: true }],
  ])(
    'sends the headers of the server with a sign-in and a renewal %s, and to the server alone',
    async (_, isOwn, where) => {
      const server = await startRefreshing(where);
      const secrets = new Map<string, string>();
      const config = [{ name: 'net', url: server.url, headers: { 'X-Tenant': 'blue' } }];
      const { clients } = clientsWith(secrets);
      await clients.configure(config);
      const { state, code } = await comeBack((await clients.beginSignIn('net', signal)) ?? '');
      await clients.finishSignIn(state, code, signal);
      // Its stream may still be on its way, and would be refused and renew the tokens too.
      await clients.close();
      server.expire();
      const { clients: later } = clientsWith(secrets);
      await later.configure(config);
      expect(later.states[0]).toMatchObject({ state: 'connected' });
      expect(server.grants).toEqual(['authorization_code', 'refresh_token']);
      const { host: own } = new URL(server.url);
      const expected = server.seen.map(({ host, pathname }) => {
        return { host, pathname, tenant: host === own ? 'blue' : undefined };
      });
      expect(server.seen).toEqual(expected);
      const places = server.seen
        .filter(({ pathname }) => pathname === '/token')
        .map(({ host }) => host === own);
      expect(places).toEqual([isOwn, isOwn]);
    },
  );

  it('that the operator signs in to at one service lets in another, which renews the tokens too', async () => {
    const server = await startRefreshing();
    const secrets = new Map<string, string>();
    const { clients: other } = clientsWith(secrets, {});
    await other.configure([{ name: 'net', url: server.url }]);
    const reason = expect.stringContaining("sign in on the agent's page Connections");
    expect(other.states[0]).toMatchObject({ state: 'sign-in', reason });
    const { clients } = clientsWith(secrets);
    await clients.configure([{ name: 'net', url: server.url }]);
    const { state, code } = await comeBack((await clients.beginSignIn('net', signal)) ?? '');
    await clients.finishSignIn(state, code, signal);
    await waitFor(() => other.states[0]?.state === 'connected', { timeoutMs: 60_000 });
    server.expire();
    const { clients: later } = clientsWith(secrets, {});
    await later.configure([{ name: 'net', url: server.url }]);
    expect(later.states[0]).toMatchObject({ state: 'connected' });
    expect(server.grants).toEqual(['authorization_code', 'refresh_token']);
    const { clients: again } = clientsWith(secrets);
    await again.configure([{ name: 'net', url: server.url }]);
    expect(again.states[0]).toMatchObject({ state: 'connected' });
  });

  describe('a sign-in with refresh tokens for one use', () => {
    const secrets = new Map<string, string>();
    const tokens = () => JSON.parse([...secrets.values()][0] ?? '{}').tokens;
    const isRenewed = () => waitFor(() => tokens()?.refresh_token === 'r-2');
    let both: McpClients[] = [];
    const isRefused = () => waitFor(() => both.some(({ states }) => states[0]?.state === 'sign-in'));

    /** Signed in; the server's tokens are good. */
    async function signedIn(held: Parameters<typeof startRefreshing>[0]) {
      secrets.clear();
      const server = await startRefreshing(held);
      const { clients } = clientsWith(secrets);
      await clients.configure([{ name: 'net', url: server.url }]);
      const { state, code } = await comeBack((await clients.beginSignIn('net', signal)) ?? '');
      await clients.finishSignIn(state, code, signal);
      return { server, clients };
    }

    it.each([
      ['has what the first one got', { beforeRefusal: isRenewed }],
      ['is told before the first one has got them', { beforeRenewal: isRefused }],
    ])('lasts where two services renew in the same instant, and the second one %s', async (_when, held) => {
      const { server } = await signedIn(held);
      server.expireForBoth('/token');
      both = [clientsWith(secrets).clients, clientsWith(secrets).clients];
      await Promise.all(both.map((each) => each.configure([{ name: 'net', url: server.url }])));
      expect(server.grants.slice(1, 3)).toEqual(['refresh_token', 'refresh_token']);
      // The one that was refused goes on with what the other has got, at the latest when it connects again.
      await waitFor(() => both.every((each) => each.states[0]?.state === 'connected'), { timeoutMs: 60_000 });
      expect(tokens()?.refresh_token).toMatch(/^r-[2-9]$/);
    });

    it('is renewed once for two calls of a service that meet an expired token', async () => {
      const { server, clients } = await signedIn({ beforeRefusal: isRenewed });
      server.expireForBoth('/mcp');
      const call = (key: string) => clients.get('net')?.call('look', {}, { key, mayAsk: false, signal });
      const seen = expect.objectContaining({ text: 'seen' });
      expect(await Promise.all([call('a'), call('b')])).toEqual([seen, seen]);
      expect(server.grants).toEqual(['authorization_code', 'refresh_token']);
      expect(tokens()).toMatchObject({ refresh_token: 'r-2' });
      expect(clients.states[0]).toMatchObject({ state: 'connected' });
    });
  });
});

it('reads why a server that signs people in itself refused a token, over a new connection too', async () => {
  const server = createServer((request, response) => {
    const body = JSON.stringify({ error: 'invalid_grant', error_description: 'It was used already.' });
    if (request.url === '/empty') response.writeHead(202).end();
    else response.writeHead(400, { 'content-type': 'application/json' }).end(body);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  try {
    const refused = await fetchOnNewConnection(`${url}/token`, {
      method: 'POST',
      body: 'grant_type=refresh_token',
    });
    expect(refused.headers.get('content-type')).toBe('application/json');
    expect(await parseErrorResponse(refused)).toMatchObject({
      errorCode: 'invalid_grant',
      message: 'It was used already.',
    });
    expect((await fetchOnNewConnection(`${url}/empty`, { method: 'POST' })).status).toBe(202);
  } finally {
    server.closeAllConnections();
    server.close();
  }
});
