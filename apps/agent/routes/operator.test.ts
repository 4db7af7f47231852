import { once } from 'node:events';
// What only the operator may do, in an agent without a token and in one with all of them.
import { readFileSync } from 'node:fs';
import { connect } from 'node:net';
import { openAccounts } from '@trunkline/accounts';
import { operatorAccess } from '@trunkline/identity';
import { type ModelServer, startModelServer } from '@trunkline/testing';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { modelEnvironment, startAgent, type TestAgent } from '../fixtures/start-agent.ts';

const guarded: readonly [method: string, path: string][] = [
  ['GET', '/api/config'],
  ['PUT', '/api/config'],
  ['PATCH', '/api/config'],
  ['POST', '/api/config/check'],
  ['POST', '/api/config/setup'],
  ['POST', '/api/config/test-model'],
  ['POST', '/api/config/probe-model'],
  ['PUT', '/api/config/model-profile'],
  ['POST', '/api/mcp/servers/test'],
  ['POST', '/api/mcp/servers/some/sign-in'],
  ['DELETE', '/api/mcp/servers/some/sign-in'],
  ['POST', '/api/delegates/nobody/test'],
  ['PUT', '/api/skills/some'],
  ['DELETE', '/api/skills/some'],
  ['GET', '/api/audit'],
  ['GET', '/mcp'],
  ['POST', '/mcp'],
  ['DELETE', '/mcp'],
  ['GET', '/api/approvals'],
  ['POST', '/api/approvals/none'],
];

let model: ModelServer;
beforeAll(async () => {
  model = await startModelServer();
});
afterAll(() => model.stop());

const settings: [string, Record<string, string>, Record<string, string>][] = [
  ['without a token', {}, {}],
  [
    'with a token, to its holder',
    { A2A_AUTH_TOKEN: 'token', A2A_GRPC_PORT: '0' },
    { authorization: 'Bearer token' },
  ],
];

describe.each(settings)('an agent %s', (_, env, headers) => {
  let agent: TestAgent;
  beforeAll(async () => {
    agent = await startAgent({
      env: { ...modelEnvironment(model.url), TRUNKLINE_OPEN: '0', ...env },
      config: 'knowledge: { embeddings: "off" }',
    });
  });
  afterAll(() => agent.stop());

  const call = async (method: string, path: string, more: Record<string, string>) => {
    const body = ['POST', 'PUT', 'PATCH'].includes(method) ? '"nothing"' : undefined;
    const sent = { method, headers: { 'content-type': 'application/json', ...more } };
    const response = await agent.fetch(path, { ...sent, ...(body && { body }) });
    return { status: response.status, text: await response.text() };
  };

  it('lets people with an account in, as their role says', async () => {
    const accounts = openAccounts({ home: agent.home, logger: console });
    const status = async (role: 'operator' | 'member' | 'guest', path: string) => {
      const { key } = accounts.createKey(accounts.create({ name: role, role }).id, 'test');
      return (await agent.fetch(path, { headers: { authorization: `Bearer ${key}` } })).status;
    };
    expect([
      await status('operator', '/api/config'),
      await status('member', '/api/config'),
      await status('member', '/api/notes/workspace'),
      await status('guest', '/api/notes/workspace'),
      await status('guest', '/v1/models'),
    ]).toEqual([200, 403, 200, 403, 200]);
    accounts.close();
  });

  it.each(guarded)('does not open %s %s', async (method, path) => {
    const { status, text } = await call(method, path, headers);
    // By its specification, 401 makes an MCP client sign in.
    const refused = path === '/mcp' && !('authorization' in headers) ? 401 : 403;
    expect([status, text]).toEqual([refused, expect.stringContaining('operator-key')]);
  });

  it.each(guarded)('opens %s %s to the operator', async (method, path) => {
    const key = readFileSync(operatorAccess(agent.home).keyFile, 'utf8').trim();
    const cookie = `trunkline_operator=${operatorAccess(agent.home).createSession()}`;
    for (const shown of [
      { authorization: `Bearer ${key}` },
      { ...headers, 'x-operator-key': key },
      { cookie },
    ]) {
      expect([401, 403]).not.toContain((await call(method, path, shown)).status);
    }
  });

  it('still takes tasks and chat, and shows what it has', async () => {
    model.enqueue('One.', 'Two.', 'Three.');
    const body = { jsonrpc: '2.0', id: 1, method: 'message/send' };
    const message = { role: 'user', parts: [{ kind: 'text', text: 'Hello' }] };
    const sent: [string, object][] = [
      ['/a2a', { ...body, params: { message } }],
      ['/api/chat', { message: 'Hello' }],
      ['/v1/chat/completions', { messages: [{ role: 'user', content: 'Hello' }] }],
    ];
    for (const [path, given] of sent) {
      const init = { method: 'POST', headers: { 'content-type': 'application/json', ...headers } };
      const response = await agent.fetch(path, { ...init, body: JSON.stringify(given) });
      expect([path, response.status]).toEqual([path, 200]);
    }
    for (const path of [
      '/api/config/model',
      '/api/tools',
      '/api/skills',
      '/api/delegates',
      '/api/mcp/servers',
    ]) {
      expect([path, (await call('GET', path, headers)).status]).toEqual([path, 200]);
    }
    expect((await call('GET', '/api/config/model', headers)).text).not.toContain('test-key');
    const tools = (path: string) => call('GET', path, headers).then(({ text }) => text.includes('ask_human'));
    // Without credentials nobody can be told apart from the public.
    expect(await tools('/extendedAgentCard')).toBe('A2A_AUTH_TOKEN' in env);
    expect(await tools('/.well-known/agent-card.json')).toBe(false);
    const card = JSON.parse((await call('GET', '/.well-known/agent-card.json', {})).text);
    const grpc = card.supportedInterfaces.filter(
      ({ protocolBinding }: { protocolBinding: string }) => protocolBinding === 'GRPC',
    );
    const versions = grpc.map(({ protocolVersion }: { protocolVersion: string }) => protocolVersion);
    expect(versions).toEqual('A2A_GRPC_PORT' in env ? ['1.0', '0.3'] : []);
    for (const { url } of grpc) {
      const socket = connect({ host: '127.0.0.1', port: Number(url.split(':').at(-1)) });
      await once(socket, 'connect');
      socket.destroy();
    }
  });
});

it('takes CORE_OPERATOR_TOKEN for the operator, and A2A_AUTH_TOKEN for an agent', async () => {
  const agent = await startAgent({
    env: { TRUNKLINE_OPEN: '0', A2A_AUTH_TOKEN: 'token', CORE_OPERATOR_TOKEN: 'owner' },
  });
  const status = async (path: string, token: string) =>
    (await agent.fetch(path, { headers: { authorization: `Bearer ${token}` } })).status;
  expect(await status('/api/config', 'owner')).toBe(200);
  expect(await status('/api/config', 'token')).toBe(401);
  await agent.stop();
});

it('sets up its model in a browser that the operator signed in, and in no other', async () => {
  const agent = await startAgent({ env: { TRUNKLINE_OPEN: '0' } });
  const setUp = (headers: Record<string, string>) =>
    agent.fetch('/api/config/setup', {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...headers },
      body: JSON.stringify({ api_base: model.url, api_key: 'k', model: 'm' }),
    });
  expect((await setUp({})).status).toBe(403);
  const code = operatorAccess(agent.home).createCode();
  const entered = await agent.fetch(`/operator/enter?code=${code}`, { redirect: 'manual' });
  const cookie = entered.headers.get('set-cookie')?.split(';')[0] ?? '';
  expect((await setUp({ cookie, 'sec-fetch-site': 'same-site' })).status).toBe(403);
  expect((await setUp({ cookie, origin: agent.url, 'sec-fetch-site': 'same-origin' })).status).toBe(200);
  await agent.stop();
});

it('opens all of it on a throw-away machine', async () => {
  const agent = await startAgent({ env: { TRUNKLINE_OPEN: '1' } });
  for (const path of ['/api/config', '/api/approvals', '/api/audit'])
    expect([path, (await agent.fetch(path)).status]).toEqual([path, 200]);
  await agent.stop();
});
