import { readFileSync, statSync } from 'node:fs';
import { join, relative } from 'node:path';
import { agentOptions } from '@trunkline/agent';
import { researchOptions } from '@trunkline/research';
import { switchboardOptions } from '@trunkline/switchboard';
import { startModelServer, waitFor } from '@trunkline/testing';
import { voiceOptions } from '@trunkline/voice';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Attack, filesUnder, json, openMode, startAttack } from './attack.suite.ts';
import { concrete, keyOf, keys, type Locked, type Name, names, startLocked } from './security.suite.ts';

describe('secrets', () => {
  const mark = 'never-to-be-seen';
  /** Those that must have a form of their own. */
  const forms: Record<string, string> = {
    SEARXNG_BASIC_AUTH: `${mark}-user:${mark}-password`,
    LLM_HEADERS: `{"X-Gateway-Key":"${mark}-header"}`,
    ICE_SERVERS: `[{"urls":"turn:127.0.0.1:9","username":"u","credential":"${mark}-turn"}]`,
  };
  /** Set by the suite itself, which has to know them; and NATS, where setting one switches the bus. */
  const elsewhere = [
    'A2A_AUTH_TOKEN',
    'RESEARCH_AUTH_TOKEN',
    'SWITCHBOARD_API_KEY',
    'NATS_PASSWORD',
    'NATS_TOKEN',
  ];

  /** Every secret of every table, each with a value that can be recognised. */
  function markedSecrets(): Record<string, string> {
    const tables = [voiceOptions, agentOptions, researchOptions, switchboardOptions];
    const secret = tables.flatMap(({ options }) => Object.values(options)).filter((option) => option.secret);
    const variables = secret.flatMap(({ env }) => env).filter((name) => !elsewhere.includes(name));
    return Object.fromEntries(
      variables.map((name) => [name, forms[name] ?? `${mark}-${name.toLowerCase()}`]),
    );
  }

  let locked: Locked;
  let model: Awaited<ReturnType<typeof startModelServer>>;
  const secrets = markedSecrets();

  beforeAll(async () => {
    // A model that refuses every key, and says which one it was shown.
    model = await startModelServer({
      script: () => ({ fault: 'status', status: 401, message: `bad key ${secrets.LLM_API_KEY}` }),
    });
    const nowhere = 'http://127.0.0.1:9';
    locked = await startLocked({
      env: {
        ...secrets,
        LLM_GATEWAY_URL: model.url,
        LLM_MODEL: 'm',
        SEARXNG_URL: `http://someone:${mark}-in-url@127.0.0.1:9`,
        BRAVE_API_URL: nowhere,
        TAVILY_API_URL: nowhere,
        CODEHOST_API_URL: nowhere,
        TRACKER_API_URL: nowhere,
        TRACKER_CLIENT_ID: 'client',
        CLOUD_CLIENT_ID: 'client',
        CLOUD_API_URL: nowhere,
        CLOUD_TOKEN_URL: nowhere,
        CHAT_API_URL: nowhere,
        VECTOR_URL: nowhere,
        SECRETS_API_URL: nowhere,
        TRACE_HOST: nowhere,
        TRACE_PUBLIC_KEY: 'public',
      },
    });
  });
  afterAll(async () => {
    await locked.stop();
    await model.stop();
  });

  /** The marked ones, those of the suite, and the one that the services made for themselves. */
  const known = () => [
    mark,
    ...Object.values(keys),
    readFileSync(join(locked.home, 'family-secret'), 'utf8').trim(),
  ];
  const leaks = (text: string) => known().filter((secret) => text.includes(secret));

  async function answerOf(name: Name, method: string, path: string, body = '"nothing"') {
    const controller = new AbortController();
    const hasBody = ['POST', 'PUT', 'PATCH'].includes(method);
    const response = await fetch(locked.target(name).url + path, {
      method,
      headers: { 'content-type': 'application/json', 'a2a-version': '1.0', ...keyOf(name, path) },
      signal: controller.signal,
      ...(hasBody && { body }),
    });
    const isStream = response.headers.get('content-type')?.includes('event-stream') === true;
    const text = isStream ? '' : await response.text();
    controller.abort();
    return JSON.stringify([...response.headers]) + text;
  }

  it('has a marked value for every secret there is', () => {
    expect(Object.keys(secrets).length).toBeGreaterThan(15);
  });

  describe.each(names)('%s', (name) => {
    it('shows no secret at any route, not even to the holder of its key', async () => {
      const routes = locked.target(name).routes();
      const answers = routes.map(async ({ method, path }) => {
        const said = await answerOf(name, method === 'ALL' ? 'POST' : method, concrete(path));
        // Browsers need the credential of the TURN server to place a call.
        const found = leaks(path === '/api/ice' ? '' : said);
        return found.map((secret) => `${method} ${path} shows ${secret}`);
      });
      expect((await Promise.all(answers)).flat()).toEqual([]);
    });

    it('shows none when the model fails and names the key', async () => {
      const message = { messageId: '1', role: 'ROLE_USER', parts: [{ text: 'hello' }] };
      const sent = await answerOf(name, 'POST', '/message:send', JSON.stringify({ message }));
      const chat = { model: 'm', messages: [{ role: 'user', content: 'hello' }] };
      const completed =
        name === 'voice' ? '' : await answerOf(name, 'POST', '/v1/chat/completions', JSON.stringify(chat));
      expect(leaks(sent + completed)).toEqual([]);
    });
  });

  it('writes none to the log, though much went wrong', () => {
    expect(model.requests.some(({ headers }) => headers.authorization?.includes(mark))).toBe(true);
    expect(locked.log.length).toBeGreaterThan(50);
    expect(locked.log.filter((line) => leaks(line).length > 0)).toEqual([]);
  });

  it('says none in the words about a setting that cannot be used', async () => {
    for (const [variable, value] of [
      ['ICE_SERVERS', `{"credential":"${mark}"`],
      ['SEARXNG_BASIC_AUTH', mark],
      ['SEARXNG_URL', `ftp://a:${mark}@x`],
      ['LLM_GATEWAY_URL', `http://a:${mark}@[`],
    ] as const) {
      const failure = await startLocked({ env: { [variable]: value } }).then(
        () => undefined,
        (error: Error) => error,
      );
      expect(failure?.message).toContain(variable);
      expect(leaks(String(failure?.stack))).toEqual([]);
    }
  });
});

describe('secrets at rest', () => {
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
});
