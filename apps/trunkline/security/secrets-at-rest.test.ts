import { statSync } from 'node:fs';
import { relative } from 'node:path';
import { waitFor } from '@trunkline/testing';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Attack, filesUnder, json, openMode, startAttack } from './attack.suite.ts';

/** The operator configures MCP servers whose headers and environment hold secrets; then everything is searched for them. */
let attack: Attack;
const mark = 'sesame-4f1c';
const secret = (name: string) => `${mark}-${name}`;

beforeAll(async () => {
  attack = await startAttack({ env: openMode, files: { 'voice/config/users.yaml': 'users: []' } });
  const board = attack.url('switchboard');
  const headers = await attack.operator('switchboard');
  const put = (path: string, body: object, method = 'POST') => json(board + path, body, headers, method);
  const base = { trust: 'trusted', enabled: false };
  const http = {
    ...base,
    name: 'web',
    transport: 'http',
    url: `http://127.0.0.1:9/mcp`,
    headers: { authorization: `Bearer ${secret('header')}` },
  };
  const stdio = {
    ...base,
    name: 'local',
    transport: 'stdio',
    command: 'true',
    args: [],
    env: { TOKEN: secret('environment') },
  };
  expect((await put('/api/mcp-servers', http)).status).toBe(201);
  expect((await put('/api/mcp-servers', stdio)).status).toBe(201);
  await put(
    '/api/mcp-servers/web',
    { ...http, headers: { authorization: `Bearer ${secret('second')}` } },
    'PUT',
  );
  // Refused, each with a secret in it.
  await put('/api/mcp-servers', {
    name: 'bad',
    transport: 'carrier-pigeon',
    headers: { authorization: secret('refused') },
  });
  await put(
    '/api/workspace/files/mcp/bad',
    { text: `name: bad\nheaders: { authorization: ${secret('refused-text')} }\nnonsense: [` },
    'PUT',
  );
  await put('/api/workspace/files/mcp/bad/check', {
    text: `name: bad\nheaders: { authorization: ${secret('checked')} }\nnonsense: [`,
  });
  await put('/publish', {
    topic: 'command.mcp.upsert',
    payload: { name: 'bus', entry: { ...http, name: 'bus', headers: { authorization: secret('bus') } } },
  });
  await put('/publish', {
    topic: 'command.mcp.upsert',
    payload: { name: '../bad', entry: { ...http, headers: { authorization: secret('refused-bus') } } },
  });
  await put('/api/mcp-servers/test', { ...stdio, command: 'false', env: { TOKEN: secret('tested') } });
  await put('/api/external-agents', {
    name: 'far',
    url: 'http://127.0.0.1:9/a2a',
    headers: { 'x-key': secret('agent') },
    skills: ['x'],
  });
  await put('/api/mcp-servers/local', {}, 'DELETE');
  const { body } = await json<{ data: { id: number }[] }>(`${board}/api/changes`, undefined, headers);
  await put(`/api/changes/${body.data[0]?.id}/undo`, {});
  const agent = await attack.operator('agent');
  const servers = [
    {
      name: 'web',
      url: 'http://127.0.0.1:9/mcp',
      headers: { authorization: `Bearer ${secret('agent-header')}` },
      enabled: false,
    },
  ];
  await json(
    `${attack.url('agent')}/api/config`,
    { text: `mcp:\n  servers: ${JSON.stringify(servers)}\n` },
    agent,
    'PUT',
  );
  await json(
    `${attack.url('agent')}/api/mcp/servers/test`,
    { name: 'x', command: 'false', env: { TOKEN: secret('agent-tested') } },
    agent,
  );
  await waitFor(() => filesUnder(attack.home).some(({ bytes }) => bytes.includes(secret('agent-header'))));
});
afterAll(() => attack.stop());

/** Where a secret may stand: the file of the server that needs it, and what undoing a change writes back. */
const allowed = [
  /^switchboard\/workspace\/mcp-servers\.d\/[a-z]+\.yaml$/,
  /^switchboard\/workspace\/agents\.d\/[a-z]+\.yaml$/,
  /^switchboard\/changes\.db(-wal)?$/,
  /^agent\/config\/(agent|secrets)\.yaml$/,
];

describe('on the disk', () => {
  it('secrets stand in the file of their server and its undo alone, readable for the owner alone', () => {
    const found = filesUnder(attack.home).flatMap(({ path, bytes }) => {
      const held = [...new Set(bytes.toString('latin1').match(new RegExp(`${mark}-[a-z-]+`, 'g')))];
      const mode = (statSync(path).mode & 0o777).toString(8);
      return held.length === 0 ? [] : [{ path: relative(attack.home, path), mode, held }];
    });
    expect(found.length).toBeGreaterThan(1);
    expect(found.filter(({ path }) => !allowed.some((each) => each.test(path)))).toEqual([]);
    expect(found.filter(({ path, mode }) => path.startsWith('switchboard/') && mode !== '600')).toEqual([]);
  });

  it('refused drafts are nowhere', () => {
    const kept = ['refused', 'refused-text', 'refused-bus', 'checked', 'tested', 'agent-tested'].filter(
      (name) => filesUnder(attack.home).some(({ bytes }) => bytes.includes(`${secret(name)}`)),
    );
    expect(kept).toEqual([]);
  });

  it('nothing stands in the log', () => {
    expect(attack.log.filter((line) => line.includes(mark))).toEqual([]);
  });
});

describe('over HTTP', () => {
  const paths = [
    '/api/changes',
    '/api/changes?limit=100',
    '/api/bus/history',
    '/api/bus/history?topic=command.%23',
    '/api/bus/history?topic=%23',
    '/api/mcp-servers',
    '/api/mcp-servers/web',
    '/api/workspace',
    '/api/agents',
    '/api/plugins',
    '/api/alerts',
    '/api/dead-letters',
    '/api/flows',
  ];

  it.each(paths)('%s shows no secret, not even to the operator', async (path) => {
    const headers = await attack.operator('switchboard');
    for (const shown of [{}, headers]) {
      const { text } = await json(attack.url('switchboard') + path, undefined, shown);
      expect(text).not.toContain(mark);
    }
  });

  it('a single change shows none either', async () => {
    const headers = await attack.operator('switchboard');
    const { body } = await json<{ data: { id: number }[] }>(
      `${attack.url('switchboard')}/api/changes`,
      undefined,
      headers,
    );
    expect(body.data.length).toBeGreaterThan(2);
    for (const { id } of body.data)
      expect(
        (await json(`${attack.url('switchboard')}/api/changes/${id}`, undefined, headers)).text,
      ).not.toContain(mark);
  });

  it.each(['/api/workspace/files/mcp/web', '/api/mcp-servers/web', '/api/workspace/files/a2a/far'])(
    '%s reveals none to others than the operator',
    async (path) => {
      const { text } = await json(attack.url('switchboard') + path);
      expect(text).not.toContain(mark);
    },
  );

  it.each([
    '/api/config',
    '/api/mcp/servers',
    '/api/runtime/status',
    '/api/audit',
    '/api/activity',
    '/api/delegates',
  ])('agent %s reveals none to others than the operator', async (path) => {
    const { text } = await json(attack.url('agent') + path);
    expect(text).not.toContain(mark);
  });
});
