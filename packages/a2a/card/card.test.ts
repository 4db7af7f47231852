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

  it('is that of 1.0 with nothing more for those who ask [A027] [A028] [A029] [A041]', async () => {
    const found = await card('/.well-known/agent-card.json', { 'a2a-version': '1.0' });
    expect(Object.keys(found).filter((field) => !fieldsOf10.includes(field))).toEqual([]);
    expect(found).toMatchObject({
      name: 'Test agent',
      version: '1.2.3',
      capabilities: { streaming: true, pushNotifications: true, extendedAgentCard: true },
      securitySchemes: { bearer: { httpAuthSecurityScheme: { scheme: 'Bearer' } } },
      securityRequirements: [{ schemes: { bearer: { list: [] } } }],
      defaultInputModes: ['text/plain'],
      skills: [{ id: 'chat', tags: ['chat'] }],
    });
    const interfaces = found.supportedInterfaces as Json[];
    expect(interfaces.map(({ url }) => url)).toEqual(interfaces.map(() => `${agent.url}/a2a`));
    expect(interfaces[0]).toMatchObject({ protocolBinding: 'JSONRPC', protocolVersion: '1.0' });
    const { extensions } = found.capabilities as { extensions: { uri: string }[] };
    expect(extensions.map(({ uri }) => uri.split(':').at(-1))).toEqual(['hitl-mode-v1', 'tool-call-v1']);
  });

  it('is that of 0.3 for those who ask', async () => {
    const old = await card('/.well-known/agent.json', { 'a2a-version': '0.3' });
    expect(old).toMatchObject({
      protocolVersion: '0.3.0',
      url: `${agent.url}/a2a`,
      preferredTransport: 'JSONRPC',
      additionalInterfaces: [{ transport: 'JSONRPC' }, { transport: 'HTTP+JSON' }],
      supportedInterfaces: expect.arrayContaining([expect.objectContaining({ protocolVersion: '1.0' })]),
      securitySchemes: { bearer: { type: 'http', scheme: 'bearer' } },
      security: [{ bearer: [] }],
    });
    expect(old).not.toHaveProperty('securityRequirements');
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
});
