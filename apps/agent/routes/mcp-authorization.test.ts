// People with an account at /mcp, by their key and by OAuth, with the client of the official SDK.
import { DatabaseSync } from 'node:sqlite';
import {
  discoverAuthorizationServerMetadata,
  type OAuthClientProvider,
  refreshAuthorization,
  UnauthorizedError,
} from '@modelcontextprotocol/sdk/client/auth.js';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import type { OAuthClientInformationMixed, OAuthTokens } from '@modelcontextprotocol/sdk/shared/auth.js';
import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js';
import { type Account, type Accounts, accountsFile, openAccounts } from '@trunkline/accounts';
import { ACCESS_CHECK_MS, type AppEnv } from '@trunkline/http';
import { openOperatorAccess, type Role } from '@trunkline/identity';
import { defineTool } from '@trunkline/llm';
import { type AccountsView, untilAborted } from '@trunkline/std';
import { Hono } from 'hono';
import { afterAll, beforeAll, expect, it, onTestFinished, vi } from 'vitest';
import { z } from 'zod';
import { post, startAgent, type TestAgent } from '../fixtures/start-agent.ts';
import { defineToolModule } from '../tools/tool-module.ts';
import { toolModules } from '../tools/tool-modules.ts';
import { mountMcpAuthorization } from './mcp-authorization.ts';
import { ProgramRegistrations } from './mcp-programs.ts';

let agent: TestAgent;
let accounts: Accounts;
/** Ends the open streams of those who have lost access, as the agent does every few seconds. */
let checkAccess: () => void;
const slowCall = { started: Promise.withResolvers<void>(), finish: Promise.withResolvers<string>() };
const slowTools = defineToolModule({
  name: 'slow',
  tools: () => [
    defineTool({
      name: 'slow_tool',
      effects: ['reads'],
      description: 'Ends when the test says so.',
      input: z.object({}),
      timeoutMs: 120_000,
      execute: async (_input, { signal }) => {
        slowCall.started.resolve();
        return await untilAborted(slowCall.finish.promise, signal);
      },
    }),
  ],
});
beforeAll(async () => {
  const timers = vi.spyOn(globalThis, 'setInterval');
  agent = await startAgent({
    env: { TRUNKLINE_OPEN: '0', A2A_AUTH_TOKEN: 'token' },
    config: 'knowledge: { embeddings: "off" }',
    modules: [...toolModules, slowTools],
  });
  const checks = timers.mock.calls.filter(([, everyMs]) => everyMs === ACCESS_CHECK_MS);
  timers.mockRestore();
  expect(checks).not.toEqual([]);
  checkAccess = () => {
    for (const [check] of checks) check();
  };
  accounts = openAccounts({ home: agent.home, logger: console });
});
afterAll(async () => {
  accounts.close();
  await agent.stop();
});

function person(role: Role) {
  const account = accounts.create({ name: `Ava the ${role}`, role });
  return { account, key: accounts.createKey(account.id, 'test').key };
}

const bearer = (key: string) => ({ authorization: `Bearer ${key}` });
const redirectUrl = 'http://127.0.0.1:8787/callback';

/** A program with a store of its own, as the SDK wants it. */
class Program implements OAuthClientProvider {
  page: URL | undefined;
  saved: { client?: OAuthClientInformationMixed; tokens?: OAuthTokens; verifier?: string } = {};
  readonly redirectUrl = redirectUrl;
  readonly clientMetadata = { client_name: 'Sailor <b>', redirect_uris: [redirectUrl] };
  clientInformation = () => this.saved.client;
  tokens = () => this.saved.tokens;
  codeVerifier = () => this.saved.verifier ?? '';
  saveClientInformation(client: OAuthClientInformationMixed) {
    this.saved.client = client;
  }
  saveTokens(tokens: OAuthTokens) {
    this.saved.tokens = tokens;
  }
  saveCodeVerifier(verifier: string) {
    this.saved.verifier = verifier;
  }
  redirectToAuthorization(page: URL) {
    this.page = page;
  }
}

function transportFor(options: { program?: Program; key?: string }) {
  const { program, key } = options;
  return new StreamableHTTPClientTransport(new URL(`${agent.url}/mcp`), {
    ...(program && { authProvider: program }),
    ...(key !== undefined && { requestInit: { headers: bearer(key) } }),
  });
}

async function connect(options: { program?: Program; key?: string }) {
  const client = new Client({ name: 'sailor', version: '1' });
  await client.connect(transportFor(options) as Transport);
  onTestFinished(() => client.close());
  return client;
}

/** What the browser of somebody who is signed in does at the page. */
async function decide(page: URL, account: Account, decision: string) {
  const cookie = `trunkline_operator=${accounts.createSession(account.id)}`;
  const shown = await fetch(page, { headers: { cookie, 'sec-fetch-site': 'none' } });
  const html = await shown.text();
  const fields = [...html.matchAll(/name="(\w+)" value="([^"]*)">/g)].map(([, name = '', value = '']) => [
    name,
    value.replaceAll('&amp;', '&'),
  ]);
  const response = await fetch(new URL('/oauth/authorize', page), {
    method: 'POST',
    headers: { cookie, origin: agent.url, 'sec-fetch-site': 'same-origin' },
    body: new URLSearchParams([...fields, ['decision', decision]] as [string, string][]),
    redirect: 'manual',
  });
  return { html, shown, response, back: URL.parse(response.headers.get('location') ?? '') };
}

/** A program that somebody has connected. */
async function connected(account: Account) {
  const program = new Program();
  const transport = transportFor({ program });
  const client = new Client({ name: 'sailor', version: '1' });
  await expect(client.connect(transport as Transport)).rejects.toThrow(UnauthorizedError);
  const page = program.page as URL;
  const { back } = await decide(page, account, 'allow');
  await transport.finishAuth(back?.searchParams.get('code') ?? '');
  return { program, access: program.saved.tokens?.access_token ?? '' };
}

it('gives members the tools, and the data that is theirs', async () => {
  const [{ key: operator }, { key }] = [person('operator'), person('member')];
  const store = async (shown: string, heading: string) => {
    const chunk = post({ content: `${heading} are good`, domain: 'fruit', heading });
    const headers = { 'content-type': 'application/json', ...bearer(shown) };
    expect((await agent.fetch('/api/knowledge/chunks', { ...chunk, headers })).status).toBeLessThan(300);
  };
  await store(operator, 'plums');
  await store(key, 'pears');
  const [mine, theirs] = [await connect({ key }), await connect({ key: operator })];
  expect((await mine.listTools()).tools.map(({ name }) => name)).toEqual(
    expect.arrayContaining(['ask_agent', 'calculator']),
  );
  const memoriesOf = async (client: Client) =>
    (await client.listResources()).resources.filter(({ uri }) => uri.startsWith('memory:'));
  expect((await memoriesOf(mine)).map(({ name }) => name)).toEqual(['Memory: pears']);
  const [plums] = await memoriesOf(theirs);
  expect(plums?.name).toBe('Memory: plums');
  await expect(mine.readResource({ uri: plums?.uri ?? '' })).rejects.toThrow('There is no resource');
  const listed = await mine.callTool({ name: 'memory_list', arguments: {} });
  expect(JSON.stringify(listed.content)).toContain('pears');
  expect(JSON.stringify(listed.content)).not.toContain('plums');
  // What a person must be asked about is not offered at all.
  const refused = await mine.callTool({ name: 'run_command', arguments: { command: 'id' } });
  expect([refused.isError, JSON.stringify(refused.content)]).toEqual([
    true,
    expect.stringContaining('there is no tool run_command'),
  ]);
});

it('lets nobody else in, and says how to sign in', async () => {
  const status = async (headers: Record<string, string>) => (await agent.fetch('/mcp', { headers })).status;
  expect(await status(bearer(person('guest').key))).toBe(403);
  expect(await status(bearer('token'))).toBe(403);
  expect(await status(bearer('wrong'))).toBe(401);
  const { status: unknown, headers } = await agent.fetch('/mcp');
  const metadata = /resource_metadata="([^"]+)"/.exec(headers.get('www-authenticate') ?? '')?.[1] ?? '';
  expect([unknown, metadata]).toEqual([401, `${agent.url}/.well-known/oauth-protected-resource/mcp`]);
  expect(await (await fetch(metadata)).json()).toMatchObject({
    resource: `${agent.url}/mcp`,
    authorization_servers: [agent.url],
  });
});

it('connects a program that a person allows, for /mcp alone, until it is revoked', async () => {
  const { account } = person('operator');
  const { program, access } = await connected(account);
  const shown = { headers: bearer(accounts.createKey(account.id, 'audit').key) };
  const audit = await agent.fetch('/operator/audit?action=http.change&limit=1', shown);
  expect(await audit.json()).toMatchObject({
    entries: [{ principal: `operator:user:${account.id}`, result: '303: allowed the program Sailor <b>' }],
  });
  const client = await connect({ program });
  expect(
    (await client.callTool({ name: 'calculator', arguments: { expression: '6*7' } })).content,
  ).toMatchObject([{ text: expect.stringContaining('42') }]);
  const { status } = await agent.fetch('/api/config', { headers: bearer(access) });
  expect([401, 403]).toContain(status);

  const clientInformation = program.saved.client as OAuthClientInformationMixed;
  const refreshToken = program.saved.tokens?.refresh_token ?? '';
  const metadata = await discoverAuthorizationServerMetadata(agent.url);
  const renew = () =>
    refreshAuthorization(agent.url, { clientInformation, refreshToken, ...(metadata && { metadata }) });
  const [renewed, again] = [await renew(), await renew()];
  const asked = async (token: string) => (await agent.fetch('/mcp', { headers: bearer(token) })).status;
  expect(await asked(access)).toBe(401);
  // Two windows of one program renew at once; programs.test.ts of accounts has the one that comes later.
  expect(await asked(renewed.access_token)).not.toBe(401);
  expect(await asked(again.access_token)).not.toBe(401);
  await agent.fetch('/oauth/revoke', {
    method: 'POST',
    body: new URLSearchParams({ token: again.access_token }),
  });
  expect([await asked(again.access_token), await asked(renewed.access_token)]).toEqual([401, 401]);
  await expect(renew()).rejects.toThrow();

  const third = await connected(account);
  expect(await asked(third.access)).not.toBe(401);
  await decide(third.program.page as URL, account, 'refuse');
  expect(await asked(third.access)).toBe(401);
});

it('shows people their own programs, and lets them end these alone', async () => {
  const [{ account: ava }, { account: bea }] = [person('member'), person('member')];
  const [mine, theirs] = [await connected(ava), await connected(bea)];
  const asked = async (token: string) => (await agent.fetch('/mcp', { headers: bearer(token) })).status;
  const page = async (account: Account, init: RequestInit = {}) =>
    await agent.fetch('/oauth/programs', {
      redirect: 'manual',
      ...init,
      headers: {
        cookie: `trunkline_operator=${accounts.createSession(account.id)}`,
        'sec-fetch-site': 'same-origin',
        origin: agent.url,
        ...init.headers,
      },
    });
  const html = await (await page(ava)).text();
  const buttons = [...html.matchAll(/name="decision" value="(\w+)">([^<]*)</g)];
  expect(buttons.map(([, , text]) => text)).toEqual(['Disconnect Sailor &lt;b&gt;']);
  const [[, own = ''] = []] = buttons;
  const [other] = accounts.programs.list(bea.id);
  const end = (programId: string, headers = {}) =>
    page(ava, { method: 'POST', body: new URLSearchParams({ decision: programId }), headers });
  expect((await end(other?.programId ?? '')).status).toBe(303);
  // A form of another site.
  const foreign = { origin: 'https://evil.example', 'sec-fetch-site': 'cross-site' };
  expect((await end(own, foreign)).status).toBe(403);
  expect([await asked(mine.access), await asked(theirs.access)]).not.toContain(401);
  const ended = await end(own);
  expect([ended.status, new URL(ended.headers.get('location') ?? '', ended.url).pathname]).toEqual([
    303,
    '/oauth/programs',
  ]);
  expect([await asked(mine.access), await asked(theirs.access)]).toEqual([401, expect.not.toBeOneOf([401])]);
  expect(await (await page(ava)).text()).toContain('You have connected no program.');
  const elsewhere = new URL(mine.program.page as URL);
  elsewhere.searchParams.set('resource', 'https://other.example/mcp');
  const cookie = `trunkline_operator=${accounts.createSession(ava.id)}`;
  const target = await fetch(elsewhere, {
    headers: { cookie, 'sec-fetch-site': 'none' },
    redirect: 'manual',
  });
  expect(target.headers.get('location')).toContain('error=invalid_target');
  const stranger = await agent.fetch('/oauth/programs');
  expect([stranger.status, await stranger.text()]).toEqual([403, expect.stringContaining('Sign in')]);
  const consent = await fetch(mine.program.page as URL, {
    method: 'POST',
    headers: { cookie, ...foreign },
    body: new URLSearchParams({ decision: 'allow' }),
  });
  expect(consent.status).toBe(403);
});

/** A session over bare HTTP; gives the headers of its requests. */
async function startSession(access: string) {
  const initialize = {
    jsonrpc: '2.0',
    id: 1,
    method: 'initialize',
    params: { protocolVersion: '2025-06-18', capabilities: {}, clientInfo: { name: 'sailor', version: '1' } },
  };
  const headers = {
    ...bearer(access),
    accept: 'application/json, text/event-stream',
    'content-type': 'application/json',
  };
  const started = await agent.fetch('/mcp', { ...post(initialize), headers });
  await started.text();
  return { ...headers, 'mcp-session-id': started.headers.get('mcp-session-id') ?? '' };
}

it('finishes a call whose token is renewed meanwhile', async () => {
  const { account } = person('member');
  const { program, access } = await connected(account);
  const headers = await startSession(access);
  const params = { name: 'slow_tool', arguments: {} };
  const call = post({ jsonrpc: '2.0', id: 2, method: 'tools/call', params });
  const answer = await agent.fetch('/mcp', { ...call, headers });
  await slowCall.started.promise;
  const renewal = {
    grant_type: 'refresh_token',
    client_id: program.saved.client?.client_id ?? '',
    refresh_token: program.saved.tokens?.refresh_token ?? '',
  };
  const renewed = await agent.fetch('/oauth/token', { method: 'POST', body: new URLSearchParams(renewal) });
  expect(renewed.status).toBe(200);
  expect((await agent.fetch('/mcp', { headers })).status).toBe(401);
  checkAccess();
  slowCall.finish.resolve('the whole answer');
  expect(await answer.text()).toContain('the whole answer');
});

it('is listed for the operator, who disconnects it with its open streams', async () => {
  const { account } = person('member');
  const { key } = person('owner');
  const { access } = await connected(account);
  const stream = await agent.fetch('/mcp', { headers: await startSession(access) });
  expect(stream.headers.get('content-type')).toContain('text/event-stream');
  let isOpen = true;
  const end = stream.text().finally(() => {
    isOpen = false;
  });
  // Awaited below.
  end.catch(() => undefined);

  // The check of a stream is no use of the program.
  const database = new DatabaseSync(accountsFile(agent.home));
  database.prepare('UPDATE programs SET used_at = 1 WHERE account = ?').run(account.id);
  database.close();
  checkAccess();
  const owner = { headers: bearer(key) };
  const view = (await (await agent.fetch('/operator/accounts', owner)).json()) as AccountsView;
  const programs = view.accounts.find(({ id }) => id === account.id)?.programs ?? [];
  expect(programs).toMatchObject([{ name: 'Sailor <b>', lastUsedAt: 1 }]);
  const path = (id: string) => `/operator/accounts/${id}/programs/${programs[0]?.programId}`;
  const disconnect = (id: string) => agent.fetch(path(id), { ...owner, method: 'DELETE' });
  expect((await disconnect(person('member').account.id)).status).toBe(404);
  expect(isOpen).toBe(true);
  expect((await disconnect(account.id)).status).toBe(200);
  expect((await agent.fetch('/mcp', { headers: bearer(access) })).status).toBe(401);
  checkAccess();
  await expect(end).rejects.toThrow();
});

it('ends with the account', async () => {
  const { account } = person('member');
  const { access } = await connected(account);
  expect((await agent.fetch('/mcp', { headers: bearer(access) })).status).not.toBe(401);
  accounts.update(account.id, { disabled: true });
  expect([401, 403]).toContain((await agent.fetch('/mcp', { headers: bearer(access) })).status);
});

it('asks the person in a browser that is signed in, and nobody else', async () => {
  const program = new Program();
  const client = new Client({ name: 'sailor', version: '1' });
  await expect(client.connect(transportFor({ program }) as Transport)).rejects.toThrow(UnauthorizedError);
  const page = program.page as URL;
  const stranger = await fetch(page);
  expect([stranger.status, await stranger.text()]).toEqual([403, expect.stringContaining('Sign in')]);
  const guest = await decide(page, person('guest').account, 'allow');
  expect([guest.shown.status, guest.response.status, guest.back]).toEqual([403, expect.any(Number), null]);
  const { account } = person('member');
  const refused = await decide(page, account, 'refuse');
  expect(refused.html).toContain('Sailor &lt;b&gt;');
  expect(refused.back?.searchParams.get('error')).toBe('access_denied');
  expect(refused.back?.searchParams.get('iss')).toBe(agent.url);

  const changed = (name: string, value: string) => {
    const url = new URL(page);
    url.searchParams.set(name, value);
    return decide(url, account, 'allow');
  };
  const elsewhere = await changed('redirect_uri', 'https://evil.example/callback');
  expect([elsewhere.shown.status, elsewhere.back]).toEqual([400, null]);
  const forged = await changed('client_id', `${page.searchParams.get('client_id')}x`);
  expect([forged.shown.status, forged.back]).toEqual([400, null]);
  const url = new URL(page);
  url.searchParams.set('code_challenge_method', 'plain');
  // Whoever is not signed in is led nowhere by a link that a program made.
  const unknown = await fetch(url, { redirect: 'manual' });
  expect([unknown.status, unknown.headers.get('location')]).toEqual([403, null]);
  const cookie = `trunkline_operator=${accounts.createSession(account.id)}`;
  const plain = await fetch(url, {
    headers: { cookie, 'sec-fetch-site': 'none' },
    redirect: 'manual',
  });
  expect(plain.headers.get('location')).toContain('error=invalid_request');
  const longer = await changed('client_id', `${page.searchParams.get('client_id')}.1`);
  expect([longer.shown.status, longer.back]).toEqual([400, null]);

  const { back } = await decide(page, account, 'allow');
  const exchange = (more: Record<string, string>) =>
    agent.fetch('/oauth/token', {
      method: 'POST',
      body: new URLSearchParams({
        grant_type: 'authorization_code',
        client_id: page.searchParams.get('client_id') ?? '',
        code: back?.searchParams.get('code') ?? '',
        redirect_uri: redirectUrl,
        ...more,
      }),
    });
  const wrong = await exchange({ code_verifier: 'of somebody else' });
  expect([wrong.status, await wrong.json()]).toMatchObject([400, { error: 'invalid_grant' }]);
  const late = await exchange({ code_verifier: program.saved.verifier ?? '' });
  expect(await late.json()).toMatchObject({ error: 'invalid_grant' });
});

it('names the address that clients use, with the path of a proxy', async () => {
  const asked = async (publicUrl: string | undefined, host: string) => {
    const app = new Hono<AppEnv>();
    mountMcpAuthorization(app, {
      publicUrl,
      accounts,
      agentName: 'agent',
      instance: undefined,
      registrations: new ProgramRegistrations('secret'),
      operator: openOperatorAccess,
      homePath: '/',
      provider: undefined,
    });
    const response = await app.request('/.well-known/oauth-protected-resource/mcp', { headers: { host } });
    return ((await response.json()) as { resource: string }).resource;
  };
  expect(await asked(undefined, '127.0.0.1:7870')).toBe('http://127.0.0.1:7870/mcp');
  // Proxies that hide the host have TLS; a name between services is not the clients'.
  expect(await asked('https://example.com/agent/', '127.0.0.1:7870')).toBe('https://example.com/agent/mcp');
  expect(await asked('http://agent:7870', '127.0.0.1:7870')).toBe('http://127.0.0.1:7870/mcp');
  expect(await asked('http://box.lan/agent', 'box.lan')).toBe('http://box.lan/agent/mcp');
});

it.each([
  'javascript:alert(1)',
  'http://evil.example/callback',
  'data:text/html,x',
  'https://:pw@a.example/',
])('registers no program that returns to %s', async (redirect) => {
  const response = await agent.fetch('/oauth/register', post({ redirect_uris: [redirect] }));
  expect([response.status, await response.json()]).toMatchObject([400, { error: 'invalid_redirect_uri' }]);
});
