import { connect } from 'node:net';
import { text } from 'node:stream/consumers';
import { describe, expect, it } from 'vitest';
import { agentsOfThisFile, echo } from '../fixtures/agents.ts';
import { type Json, post, rpc, saying, v10 } from '../fixtures/calls.ts';
import type { TestAgent } from '../fixtures/start-agent.ts';
import type { A2aCredentials } from './credentials-guard.ts';

const start = agentsOfThisFile();

const bearer = { authorization: 'Bearer token-1' };
const apiKey = { 'x-api-key': 'key-1' };

async function status(agent: TestAgent, headers: Record<string, string>): Promise<number> {
  return (
    await post(
      `${agent.url}/a2a`,
      { jsonrpc: '2.0', id: 1, method: 'tasks/get', params: { id: 'x' } },
      headers,
    )
  ).status;
}

/** Everything that drives the agent. */
const guarded: [method: string, path: string][] = [
  ['GET', '/a2a'],
  ['POST', '/message:send'],
  ['POST', '/message:stream'],
  ['GET', '/tasks'],
  ['GET', '/tasks/x'],
  ['POST', '/tasks/x:cancel'],
  ['POST', '/tasks/x:subscribe'],
  ['GET', '/tasks/x/pushNotificationConfigs'],
  ['GET', '/extendedAgentCard'],
  ['POST', '/v1/message:send'],
  ['GET', '/v1/tasks/x'],
  ['GET', '/v1/card'],
  ['GET', '/a2a/tasks/x'],
  ['POST', '/a2a/tasks/x/pushNotificationConfig'],
  ['POST', '/a2a/message:send'],
  ['GET', '/a2a/v1/card'],
];

describe('credentials', () => {
  it('guards everything that drives the agent, and leaves the card open [A146] [A148] [A040]', async () => {
    const agent = await start(echo, { credentials: { bearer: 'token-1' } });
    expect(await status(agent, {})).toBe(401);
    for (const [method, path] of guarded) {
      const refused = await fetch(`${agent.url}${path}`, { method });
      expect([path, refused.status]).toEqual([path, 401]);
      const let_in = await fetch(`${agent.url}${path}`, { method, headers: bearer });
      expect([path, let_in.status]).not.toEqual([path, 401]);
      await let_in.text();
    }
    for (const path of ['/.well-known/agent-card.json', '/.well-known/agent.json']) {
      expect((await fetch(`${agent.url}${path}`)).status).toBe(200);
    }
  });

  it('counts wrong tokens that come in one chunk', async () => {
    const agent = await start(echo, { credentials: { bearer: 'token-1' } });
    const socket = connect(Number(new URL(agent.url).port), '127.0.0.1');
    const shown = [...Array.from({ length: 20 }, (_, index) => `guess-${index}`), 'token-1'];
    const requests = shown.map(
      (token) => `GET /a2a HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${token}\r\n`,
    );
    socket.write(`${requests.join('\r\n')}connection: close\r\n\r\n`);
    const answers = await text(socket);
    const statuses = [...answers.matchAll(/HTTP\/1.1 (\d+)/g)].map(([, status]) => status);
    expect(statuses).toEqual([...Array(10).fill('401'), ...Array(11).fill('429')]);
  });

  it('is open without credentials, says so, and takes a blank token for none [A147]', async () => {
    for (const credentials of [{}, { bearer: '  ', apiKey: '' }]) {
      const agent = await start(echo, { credentials });
      expect(await status(agent, {})).toBe(200);
      expect(agent.logger.lines.some(({ message }) => message.includes('A2A_AUTH_TOKEN'))).toBe(true);
    }
  });

  it.each<[string, A2aCredentials, Record<string, string>, number]>([
    ['the right token', { bearer: 'token-1' }, bearer, 200],
    ['the scheme in lower case', { bearer: 'token-1' }, { authorization: 'bearer token-1' }, 200],
    ['a wrong token', { bearer: 'token-1' }, { authorization: 'Bearer token-2' }, 401],
    ['a longer token', { bearer: 'token-1' }, { authorization: 'Bearer token-11' }, 401],
    ['another scheme', { bearer: 'token-1' }, { authorization: 'Basic token-1' }, 401],
    ['the token as a key', { bearer: 'token-1' }, { 'x-api-key': 'token-1' }, 401],
    ['the right key', { apiKey: 'key-1' }, apiKey, 200],
    ['a wrong key', { apiKey: 'key-1' }, { 'x-api-key': 'key-2' }, 401],
    ['both where both are set', { bearer: 'token-1', apiKey: 'key-1' }, { ...bearer, ...apiKey }, 200],
    ['only the token where both are set', { bearer: 'token-1', apiKey: 'key-1' }, bearer, 401],
    ['only the key where both are set', { bearer: 'token-1', apiKey: 'key-1' }, apiKey, 401],
    [
      'one of two where one is enough',
      { bearer: 'one', apiKey: 'one', require: 'any' },
      { 'x-api-key': 'one' },
      200,
    ],
    ['none of two where one is enough', { bearer: 'one', apiKey: 'one', require: 'any' }, apiKey, 401],
  ])('with %s [A149] [A031] [V103]', async (_name, credentials, headers, expected) => {
    const agent = await start(echo, { credentials });
    expect(await status(agent, headers)).toBe(expected);
  });

  it('refuses in the forms that callers look for', async () => {
    const agent = await start(echo, { credentials: { bearer: 'token-1' } });
    const response = await post(`${agent.url}/a2a`, {});
    expect(response.headers.get('www-authenticate')).toBe('Bearer');
    expect(await response.json()).toEqual({
      jsonrpc: '2.0',
      id: null,
      error: { code: -32600, message: 'Unauthorized' },
      detail: expect.any(String),
    });
    const rest = await fetch(`${agent.url}/tasks/x`);
    expect(await rest.json()).toMatchObject({ detail: expect.any(String), error: { code: 401 } });
  });

  it('can keep the card for itself, as the voice service does [V103]', async () => {
    const agent = await start(echo, {
      credentials: { bearer: 'one', apiKey: 'one', require: 'any' },
      guardCard: true,
    });
    expect((await fetch(`${agent.url}/.well-known/agent-card.json`)).status).toBe(401);
    const headers = { 'x-api-key': 'one' };
    expect((await fetch(`${agent.url}/.well-known/agent-card.json`, { headers })).status).toBe(200);
  });
});

describe('what the card says about credentials', () => {
  /** Puts together what a caller would send who has read the card. */
  function headersFor(schemes: Json, names: string[]): Record<string, string> {
    const made = names.map((name): [string, string] => {
      const scheme = schemes[name] as { type: string; name: string };
      return scheme.type === 'http'
        ? ['authorization', 'Bearer token-1']
        : [scheme.name.toLowerCase(), 'key-1'];
    });
    return Object.fromEntries(made);
  }

  it.each<A2aCredentials>([
    {},
    { bearer: 'token-1' },
    { apiKey: 'key-1' },
    { bearer: 'token-1', apiKey: 'key-1' },
    { bearer: 'token-1', apiKey: 'key-1', require: 'any' },
  ])('lists exactly those that work: %j [A029]', async (credentials) => {
    const agent = await start(echo, { credentials });
    const card = (await (await fetch(`${agent.url}/.well-known/agent.json`)).json()) as {
      securitySchemes: Json;
      security: Record<string, unknown>[];
    };
    const set = Object.keys(credentials).filter((name) => name !== 'require');
    expect(Object.keys(card.securitySchemes).toSorted()).toEqual(set.toSorted());
    for (const requirement of card.security) {
      expect(await status(agent, headersFor(card.securitySchemes, Object.keys(requirement)))).toBe(200);
    }
    expect(await status(agent, {})).toBe(set.length === 0 ? 200 : 401);
  });

  it('offers the extended card only to those who can show credentials [A135]', async () => {
    const more = { description: 'For those who are let in.' };
    const closed = await start(echo, { credentials: { bearer: 'token-1' }, extendedCard: () => more });
    const extended = await rpc(closed, 'GetExtendedAgentCard', {}, { ...v10, ...bearer });
    const publicCard = await (
      await fetch(`${closed.url}/.well-known/agent-card.json`, { headers: v10 })
    ).json();
    expect(extended.result).toEqual({ ...publicCard, ...more });
    const old = await rpc(closed, 'agent/getAuthenticatedExtendedCard', {}, bearer);
    expect(old.result).toMatchObject({ protocolVersion: '0.3.0', supportsAuthenticatedExtendedCard: true });
    const open = await start(echo);
    expect((await rpc(open, 'GetExtendedAgentCard', {}, v10)).error.code).toBe(-32004);
    expect((await rpc(open, 'agent/getAuthenticatedExtendedCard', {})).result.name).toBe('Test agent');
    expect((await rpc(open, 'message/send', saying('x'))).result.kind).toBe('task');
  });
});
