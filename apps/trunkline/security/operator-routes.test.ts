import { existsSync, mkdirSync, rmSync, statSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Attack, filesUnder, json, openMode, raw, startAttack } from './attack.suite.ts';
import { type Name, names } from './security.suite.ts';

describe('operator routes', () => {
  /** Another account of this machine: it reaches every port, and has neither a token nor the operator's key. */
  let attack: Attack;
  let marker: string;
  beforeAll(async () => {
    attack = await startAttack({ env: openMode, files: { 'voice/config/users.yaml': 'users: []' } });
    mkdirSync(join(attack.outside, 'booty'));
    marker = join(attack.outside, 'booty', 'started');
  });
  afterAll(() => attack.stop());

  type Try = [Name, method: string, path: string, body?: object | undefined];

  const program = () => ({ name: 'evil', command: 'touch', args: [marker] });
  const server = () => ({ trust: 'trusted', transport: 'stdio', ...program(), enabled: true });
  const yamlOf = (entry: object) => JSON.stringify(entry);

  /** Everything that configures, executes, reveals secrets or answers an approval. */
  function tries(): Try[] {
    const route = JSON.parse(
      '{"name":"evil","when":{"topic":"bell.rang"},"then":{"skill":"chat"}}',
    ) as object;
    const helper = {
      name: 'evil',
      role: 'general',
      systemPrompt: 'x',
      tools: [],
      skills: [{ name: 'evil' }],
    };
    const far = { name: 'evil', url: 'http://127.0.0.1:9/a2a', skills: ['evil'] };
    const ceremony = { id: 'evil', name: 'Evil', schedule: '0 0 1 1 *', skill: 'chat' };
    const config = `mcp: { servers: [{ name: evil, command: touch, args: ["${marker}"] }] }`;
    return [
      ['agent', 'POST', '/api/mcp/servers/test', program()],
      ['agent', 'PUT', '/api/config', { text: config }],
      ['agent', 'PATCH', '/api/config', { changes: { 'plugins.enabled': ['chat'] } }],
      ['agent', 'PATCH', '/api/config', { changes: { plugins: { enabled: ['chat'] } } }],
      ['agent', 'POST', '/api/config/setup', {}],
      ['agent', 'POST', '/api/config/test-model', { api_base: 'http://127.0.0.1:9/v1' }],
      ['agent', 'PUT', '/api/skills/evil', { text: '---\nname: evil\ndescription: x\n---\nObey.' }],
      ['agent', 'DELETE', '/api/skills/evil'],
      ['agent', 'GET', '/api/audit'],
      ['agent', 'GET', '/api/config'],
      ['agent', 'GET', '/api/approvals'],
      ['agent', 'POST', '/api/approvals/x', { approve: true }],
      ['agent', 'POST', '/mcp', { jsonrpc: '2.0', id: 1, method: 'tools/list' }],
      ['switchboard', 'POST', '/api/mcp-servers/test', server()],
      ['switchboard', 'POST', '/api/mcp-servers', server()],
      ['switchboard', 'PUT', '/api/mcp-servers/evil', server()],
      ['switchboard', 'DELETE', '/api/mcp-servers/evil'],
      ['switchboard', 'POST', '/api/mcp-servers/evil/enabled', { enabled: true }],
      ['switchboard', 'POST', '/api/mcp-servers/evil/test', {}],
      ['switchboard', 'POST', '/api/agents', helper],
      ['switchboard', 'PUT', '/api/agents/helm', { ...helper, name: 'helm' }],
      ['switchboard', 'DELETE', '/api/agents/helm'],
      ['switchboard', 'POST', '/api/external-agents', far],
      ['switchboard', 'PUT', '/api/external-agents/evil', far],
      ['switchboard', 'DELETE', '/api/external-agents/evil'],
      ['switchboard', 'POST', '/api/routes', route],
      ['switchboard', 'PUT', '/api/routes/evil', route],
      ['switchboard', 'DELETE', '/api/routes/evil'],
      ['switchboard', 'POST', '/api/ceremonies', ceremony],
      ['switchboard', 'PUT', '/api/ceremonies/evil', ceremony],
      ['switchboard', 'PUT', '/api/workspace/files/mcp/evil', { text: yamlOf(server()) }],
      [
        'switchboard',
        'PUT',
        '/api/workspace/files/agent/helm',
        { text: yamlOf({ ...helper, name: 'helm' }) },
      ],
      ['switchboard', 'POST', '/api/changes/1/undo', {}],
      [
        'switchboard',
        'POST',
        '/publish',
        { topic: 'command.mcp.upsert', payload: { name: 'evil', entry: server(), yaml: yamlOf(server()) } },
      ],
      [
        'switchboard',
        'POST',
        '/publish',
        { topic: 'command.agent.upsert', payload: { name: 'evil', yaml: yamlOf(helper) } },
      ],
      [
        'switchboard',
        'POST',
        '/publish',
        { topic: 'command.route.upsert', payload: { name: 'evil', yaml: yamlOf(route) } },
      ],
      ['switchboard', 'POST', '/publish', { topic: 'command.change.undo', payload: { id: 1 } }],
    ];
  }

  /** The settings of all services as they stand on the disk. */
  const settings = () =>
    ['agent/config', 'switchboard/workspace', 'voice/config'].flatMap((folder) =>
      filesUnder(join(attack.home, folder)).map(({ path, bytes }) => `${path}:${bytes.toString('base64')}`),
    );

  async function attempt([name, method, path, body]: Try, headers: Record<string, string> = {}) {
    return raw(attack.url(name), method, path, {
      headers: {
        'content-type': 'application/json',
        accept: 'application/json, text/event-stream',
        ...headers,
      },
      ...(body && { body: JSON.stringify(body) }),
    });
  }

  /** Which tries were let in, for somebody who shows these headers. */
  async function entered(headers: (name: Name) => Record<string, string> = () => ({})): Promise<string[]> {
    const before = settings();
    const letIn: string[] = [];
    for (const each of tries()) {
      const { status } = await attempt(each, headers(each[0]));
      if (status !== 403 && status !== 401)
        letIn.push(`${status} ${each[0]} ${each[1]} ${each[2]} ${JSON.stringify(each[3])?.slice(0, 60)}`);
    }
    expect(settings()).toEqual(before);
    expect(existsSync(marker)).toBe(false);
    return letIn;
  }

  describe('another account, without the key', () => {
    it('is let in nowhere that configures, executes, reveals or approves, and changes nothing', async () => {
      expect(await entered()).toEqual([]);
    });

    it('may still give tasks, chat and publish messages, as the contracts say', async () => {
      const call = {
        jsonrpc: '2.0',
        id: 1,
        method: 'message/send',
        params: { message: { role: 'user', parts: [{ kind: 'text', text: 'hi' }] } },
      };
      for (const name of names) expect((await json(`${attack.url(name)}/a2a`, call)).status).toBe(200);
      expect((await json(`${attack.url('agent')}/api/chat`, { message: 'hi' })).status).toBe(200);
      const word = { topic: 'message.inbound.cli', payload: { content: 'hi' } };
      expect((await json(`${attack.url('switchboard')}/publish`, word)).status).toBe(200);
    });

    it('does not become the operator by naming a principal, a cookie or a key', async () => {
      const forms = [
        'operator',
        'operator:operator',
        '{"kind":"operator"}',
        '{"kind":"operator","id":"operator"}',
      ];
      const claims = forms.flatMap((form) => [
        form,
        Buffer.from(form).toString('base64'),
        encodeURIComponent(form),
      ]);
      const smuggled: Record<string, string>[] = [
        ...claims.map((claim) => ({ 'x-trunkline-principal': claim })),
        ...claims.map((claim) => ({ 'X-Trunkline-Principal': claim, authorization: 'Bearer operator' })),
        { cookie: 'trunkline_operator=' },
        { cookie: 'trunkline_operator=1; trunkline_operator=true' },
        { cookie: 'trunkline_operator=undefined' },
        { cookie: 'trunkline_operator="__proto__"' },
        { cookie: 'trunkline_operator=constructor' },
        { authorization: 'Bearer ' },
        { authorization: 'Bearer undefined', 'x-api-key': 'undefined', 'x-operator-key': 'undefined' },
        { 'x-operator-key': '' },
        { 'x-forwarded-for': '127.0.0.1', 'x-real-ip': '127.0.0.1', forwarded: 'for=127.0.0.1' },
      ];
      for (const name of names)
        for (const headers of smuggled) {
          const told = await raw(attack.url(name), 'GET', '/operator', { headers });
          expect({ name, headers, told: told.text }).toEqual({
            name,
            headers,
            told: expect.not.stringMatching(/"operator":\s*true/),
          });
        }
      for (const headers of smuggled) {
        const { status } = await attempt(['agent', 'POST', '/api/mcp/servers/test', program()], headers);
        expect({ headers, status }).toEqual({
          headers,
          status: expect.toSatisfy((code) => code === 401 || code === 403),
        });
      }
      expect(existsSync(marker)).toBe(false);
    });

    it('finds no spelling of a path, and no method, that leads round the check', async () => {
      const paths: [Name, string][] = [
        ['agent', 'api/mcp/servers/test'],
        ['switchboard', 'api/mcp-servers/test'],
      ];
      for (const [name, path] of paths) {
        const spellings = [
          `//${path}`,
          `/./${path}`,
          `/docs/../${path}`,
          `/docs/%2e%2e/${path}`,
          `/%61pi${path.slice(3)}`,
          `/${path.replaceAll('/', '%2f')}`,
          `/${path}/`,
          `/${path}//`,
          `/${path};x=1`,
          `/${path}?x=1`,
          `/${path}%00`,
          `/${path}%20`,
          `/${path}#x`,
          `/${path.toUpperCase()}`,
          `/a2a/../${path}`,
          `/v1/..%2f${path}`,
          `/healthz/../${path}`,
          `/\\${path}`,
          `${attack.url(name)}/${path}`,
          `http://evil.example/${path}`,
        ];
        const before = settings();
        for (const spelling of spellings)
          for (const method of ['POST', 'PUT', 'PATCH', 'post', 'FOO', 'HEAD']) {
            const { status } = await attempt([
              name,
              method,
              spelling,
              method === 'HEAD' ? undefined : { ...server() },
            ]).catch(() => ({ status: 400 }));
            expect({ spelling, method, status }).toEqual({
              spelling,
              method,
              status: expect.toSatisfy((code) => code >= 400),
            });
          }
        const overrides = ['x-http-method-override', 'x-method-override', 'x-http-method', '_method'];
        for (const header of overrides) await attempt([name, 'GET', `/${path}`], { [header]: 'POST' });
        for (const header of ['x-original-url', 'x-rewrite-url', 'x-forwarded-uri'])
          await attempt([name, 'POST', '/publish', server()], { [header]: `/${path}` });
        expect(settings()).toEqual(before);
      }
      expect(existsSync(marker)).toBe(false);
    });

    it('smuggles nothing in behind another request on the same connection', async () => {
      const body = JSON.stringify(program());
      const inner = `POST /api/mcp/servers/test HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`;
      const heads = [
        `POST /api/inbox HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\nContent-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n${inner}`,
        `POST /api/inbox HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\nContent-Length: 2\r\nContent-Length: 4\r\n\r\n{}${inner}`,
        `GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\nX: y\r\n z\r\n\r\n${inner}`,
        `POST /api/mcp/servers/test HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\nX-Trunkline-Principal: anonymous\r\nX-Trunkline-Principal: operator\r\nConnection: close\r\nContent-Length: ${body.length}\r\n\r\n${body}`,
      ];
      const { hostname, port } = new URL(attack.url('agent'));
      for (const head of heads) {
        const socket = connect(Number(port), hostname);
        socket.end(head);
        const answered = await text(socket).catch(() => '');
        expect(answered.match(/HTTP\/1.1 2\d\d/g)?.length ?? 0).toBeLessThanOrEqual(1);
      }
      expect(existsSync(marker)).toBe(false);
    });

    it('reads no key from the disk', () => {
      for (const file of ['operator-key', 'family-secret']) {
        const { mode } = statSync(join(attack.home, file));
        expect({ file, mode: (mode & 0o777).toString(8) }).toEqual({ file, mode: '600' });
      }
    });
  });
});

describe('operator session', () => {
  /** The operator's own session, and those who would like to have it. */
  let attack: Attack;
  beforeAll(async () => {
    attack = await startAttack({ env: openMode, files: { 'voice/config/users.yaml': 'users: []' } });
  });
  afterAll(() => attack.stop());

  describe('the operator', () => {
    it('is let in by the cookie of a browser that signed in, in every service', async () => {
      for (const name of names) {
        const headers = await attack.operator(name);
        const { body } = await json(`${attack.url(name)}/operator`, undefined, headers);
        expect({ name, body }).toEqual({ name, body: expect.objectContaining({ operator: true }) });
      }
      const headers = await attack.operator('agent');
      const marker = join(attack.outside, 'started');
      const program = { name: 'mine', command: 'touch', args: [marker] };
      await json(`${attack.url('agent')}/api/mcp/servers/test`, program, headers);
      expect(existsSync(marker)).toBe(true);
    });

    it('keeps a cookie that no script reads and no other site sends, and it is not the key', async () => {
      const response = await fetch(`${attack.url('voice')}/operator`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ key: attack.operatorKey() }),
      });
      const set = response.headers.get('set-cookie') ?? '';
      expect(set).toMatch(/HttpOnly/i);
      expect(set).toMatch(/SameSite=Strict/i);
      expect(set).not.toMatch(/Domain=/i);
      expect(set).not.toContain(attack.operatorKey());
    });

    it('is signed out by a cookie that somebody changed', async () => {
      const { cookie = '' } = await attack.operator('agent');
      const last = cookie.at(-1) === 'A' ? 'B' : 'A';
      for (const forged of [
        cookie.slice(0, -1) + last,
        cookie.slice(0, -1),
        `${cookie}x`,
        cookie.toUpperCase(),
      ]) {
        const { body } = await json<{ operator?: boolean }>(`${attack.url('agent')}/operator`, undefined, {
          cookie: forged,
        });
        expect(body.operator).not.toBe(true);
      }
    });
  });

  // Last, because the sign-in is closed for a while after it.
  describe('somebody who guesses', () => {
    it('cannot guess the key by asking often', async () => {
      const guesses = Array.from({ length: 60 }, (_, index) =>
        json(`${attack.url('agent')}/operator`, { key: `guess-${index}` }),
      );
      const statuses = (await Promise.all(guesses)).map(({ status }) => status);
      expect(statuses.filter((status) => status < 400)).toEqual([]);
      expect(statuses).toContain(429);
    });
  });

  it('a new key ends every session', async () => {
    await attack.restart();
    const { cookie = '' } = await attack.operator('agent');
    const state = () =>
      json<{ operator?: boolean }>(`${attack.url('agent')}/operator`, undefined, { cookie });
    await attack.restart();
    expect((await state()).body.operator).toBe(true);
    rmSync(join(attack.home, 'operator-key'));
    await attack.restart();
    expect((await state()).body.operator).not.toBe(true);
  });
});
