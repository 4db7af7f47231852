import { FakeClock } from '@trunkline/testing';
import { beforeAll, describe, expect, it } from 'vitest';
import { agentsOfThisFile, echo } from '../fixtures/agents.ts';
import type { Json } from '../fixtures/calls.ts';
import type { TestAgent } from '../fixtures/start-agent.ts';

const start = agentsOfThisFile();
let agent: TestAgent;

beforeAll(async () => {
  agent = await start(echo, { credentials: { bearer: 'token-1' } });
});

async function card(path: string, headers: Record<string, string> = {}): Promise<Json> {
  return (await (await fetch(`${agent.url}${path}`, { headers })).json()) as Json;
}

/** All that the schema of 1.0 knows. */
const fieldsOf10 = [
  ...[
    'name',
    'description',
    'supportedInterfaces',
    'provider',
    'version',
    'documentationUrl',
    'capabilities',
  ],
  ...[
    'securitySchemes',
    'securityRequirements',
    'defaultInputModes',
    'defaultOutputModes',
    'skills',
    'signatures',
    'iconUrl',
  ],
];

describe('the card [A119]', () => {
  it('is one for clients of either version, the same wherever it is asked for [V089]', async () => {
    const found = await card('/.well-known/agent-card.json');
    const newer = await card('/.well-known/agent-card.json', { 'a2a-version': '1.0' });
    const older = await card('/.well-known/agent-card.json', { 'a2a-version': '0.3' });
    expect(found).toMatchObject(newer);
    expect(found).toMatchObject(older);
    expect(Object.keys(found).sort()).toEqual(
      [...new Set([...Object.keys(newer), ...Object.keys(older)])].sort(),
    );
    const known = { authorization: 'Bearer token-1' };
    expect(await card('/.well-known/agent.json')).toEqual(found);
    expect(await card('/a2a', known)).toEqual(found);
    expect(await card('/a2a/', known)).toEqual(found);
    expect((await fetch(`${agent.url}/a2a/`)).status).toBe(401);
  });

  it.each([
    ['127.0.0.1:7871', '127.0.0.1:7871', '127.0.0.1:7871'],
    ['https://grpc.example.com', 'https://grpc.example.com', 'grpc.example.com:443'],
    ['http://[::1]:7871', 'http://[::1]:7871', '[::1]:7871'],
  ])('gives the gRPC address %s as 0.3 and 1.0 write it', async (grpcAddress, older, newer) => {
    const about = { name: 'Test agent', description: '', version: '1', publicUrl: 'http://127.0.0.1' };
    const { url } = await start(echo, { card: () => ({ ...about, grpcAddress, skills: [] }) });
    const found = (await (await fetch(`${url}/.well-known/agent-card.json`)).json()) as Json;
    expect(found.additionalInterfaces).toContainEqual({ url: older, transport: 'GRPC' });
    for (const protocolVersion of ['0.3', '1.0'])
      expect(found.supportedInterfaces).toContainEqual({
        url: newer,
        protocolBinding: 'GRPC',
        protocolVersion,
      });
  });

  it('is that of 1.0 with nothing more for those who ask [A027] [A028] [A029] [A041]', async () => {
    const found = await card('/.well-known/agent-card.json', { 'a2a-version': '1.0' });
    expect(Object.keys(found).filter((field) => !fieldsOf10.includes(field))).toEqual([]);
    expect(found).toMatchObject({
      name: 'Test agent',
      version: '1.2.3',
      // It would hold nothing more.
      capabilities: { streaming: true, pushNotifications: true, extendedAgentCard: false },
      securitySchemes: { bearer: { httpAuthSecurityScheme: { scheme: 'Bearer' } } },
      securityRequirements: [{ schemes: { bearer: { list: [] } } }],
      defaultInputModes: ['text/plain'],
      skills: [{ id: 'chat', tags: ['chat'] }],
    });
    const interfaces = found.supportedInterfaces as Json[];
    expect(interfaces.map(({ url }) => url)).toEqual(interfaces.map(() => `${agent.url}/a2a`));
    expect(interfaces[0]).toMatchObject({ protocolBinding: 'JSONRPC', protocolVersion: '1.0' });
    const { extensions } = found.capabilities as { extensions: { uri: string }[] };
    expect(extensions.map(({ uri }) => uri.split(':').at(-1))).toEqual([
      'hitl-mode-v1',
      'tool-call-v1',
      'principal-v1',
    ]);
  });

  it('is that of 0.3 for those who ask', async () => {
    const old = await card('/.well-known/agent.json', { 'a2a-version': '0.3' });
    expect(old).toMatchObject({
      protocolVersion: '0.3.0',
      url: `${agent.url}/a2a`,
      preferredTransport: 'JSONRPC',
      additionalInterfaces: [{ transport: 'JSONRPC' }, { transport: 'HTTP+JSON' }],
      securitySchemes: { bearer: { type: 'http', scheme: 'bearer' } },
      security: [{ bearer: [] }],
    });
    expect(old).not.toHaveProperty('securityRequirements');
    expect(old).not.toHaveProperty('supportedInterfaces');
  });

  it('may be kept for a minute and asked for again cheaply [V089] [V123]', async () => {
    const first = await fetch(`${agent.url}/.well-known/agent-card.json`);
    expect(first.headers.get('cache-control')).toBe('public, max-age=60');
    expect(first.headers.get('vary')).toContain('A2A-Version');
    const etag = first.headers.get('etag') ?? '';
    expect(etag).toMatch(/^".+"$/);
    const again = await fetch(`${agent.url}/.well-known/agent-card.json`, {
      headers: { 'if-none-match': etag },
    });
    expect(again.status).toBe(304);
  });

  it('says since when it reads so, and does so for those who name a time', async () => {
    const clock = new FakeClock('2026-03-01T12:00:00.700Z');
    let name = 'First';
    const renamed = await start(echo, {
      clock,
      card: () => ({ name, description: '', version: '1', publicUrl: 'http://127.0.0.1', skills: [] }),
    });
    const ask = (headers: Record<string, string> = {}) =>
      fetch(`${renamed.url}/.well-known/agent-card.json`, { headers });
    const first = await ask();
    const modified = first.headers.get('last-modified') ?? '';
    expect(modified).toBe('Sun, 01 Mar 2026 12:00:00 GMT');
    await clock.advanceBy(60_000);
    expect((await ask({ 'if-modified-since': modified })).status).toBe(304);
    expect((await ask({ 'if-modified-since': 'Sun, 01 Mar 2026 11:59:59 GMT' })).status).toBe(200);
    expect((await ask({ 'if-modified-since': modified, 'if-none-match': '"other"' })).status).toBe(200);
    name = 'Second';
    const changed = await ask({ 'if-modified-since': modified });
    expect([changed.status, changed.headers.get('last-modified')]).toEqual([
      200,
      'Sun, 01 Mar 2026 12:01:00 GMT',
    ]);
  });

  it('has an extended form, which holds what the one who asks may see', async () => {
    const skill = { id: 'secret', name: 'Secret', description: 'For those we know.', tags: ['x'] };
    const extended = await start(echo, {
      credentials: { bearer: 'token-1' },
      extendedCard: ({ id }) => ({ skills: [{ ...skill, id: `for-${id}` }], tenants: ['blue'] }),
    });
    const known = { authorization: 'Bearer token-1' };
    const ask = async (path: string, headers: Record<string, string>) =>
      (await (await fetch(extended.url + path, { headers })).json()) as Json;
    for (const headers of [{ ...known, 'a2a-version': '1.0' }, known]) {
      const found = await ask('/extendedAgentCard', headers);
      expect(found).toMatchObject({ name: 'Test agent', skills: [{ id: 'for-a2a' }] });
      expect(found.supportedInterfaces).toContainEqual(expect.objectContaining({ tenant: 'blue' }));
    }
    const shown = await ask('/.well-known/agent-card.json', known);
    expect(JSON.stringify(shown)).not.toContain('Secret');
    expect(shown).toMatchObject({
      capabilities: { extendedAgentCard: true },
      supportsAuthenticatedExtendedCard: true,
    });
    expect((await fetch(`${extended.url}/extendedAgentCard`)).status).toBe(401);
  });

  it('has no extended form where there is nothing more to say; 0.3 of the contract answers with the card', async () => {
    const known = { authorization: 'Bearer token-1' };
    expect(await card('/.well-known/agent-card.json')).toMatchObject({
      capabilities: { extendedAgentCard: false },
      supportsAuthenticatedExtendedCard: false,
    });
    expect(await card('/extendedAgentCard', known)).toMatchObject({ name: 'Test agent' });
    const refused = await card('/extendedAgentCard', { ...known, 'a2a-version': '1.0' });
    expect(JSON.stringify(refused)).toContain('there is no extended card');
  });
});
