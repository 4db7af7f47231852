import { readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createApp, type Logger, serve } from '@trunkline/http';
import { operatorAccess } from '@trunkline/identity';
import { defineTool, type Tool } from '@trunkline/llm';
import type { ExplainedCall, PolicyView } from '@trunkline/std';
import { temporaryDirectory } from '@trunkline/testing';
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest';
import { z } from 'zod';
import { mountPolicy, Policy } from './index.ts';

const ignore = () => undefined;
const logger: Logger = { debug: ignore, info: ignore, warn: ignore, error: ignore, child: () => logger };
const tools = [
  defineTool({
    name: 'write_file',
    description: '',
    effects: ['writes'],
    input: z.object({ path: z.string() }),
    subject: ({ path }) => ({ path }),
    execute: async () => '',
  }) as Tool,
];

const home = temporaryDirectory();
const file = join(home.path, 'policy.yaml');
const operator = operatorAccess(home.path);
const key = readFileSync(operator.keyFile, 'utf8').trim();
const recorded: string[] = [];
let policy: Policy;
let server: Awaited<ReturnType<typeof serve>>;

beforeAll(async () => {
  policy = new Policy({ home: home.path, logger: logger as never });
  const app = createApp({
    service: 'test',
    version: '1',
    logger,
    access: {
      operator,
      serviceToken: 'token',
      audit: { record: ({ subject }) => recorded.push(subject ?? '') },
    },
    renderError: ({ message }) => ({ body: { error: message } }),
    health: () => ({ status: 200, body: {} }),
  });
  mountPolicy(app, { policy, operator, service: 'test', agents: () => ['scribe'], tools: () => tools });
  server = await serve(app, { host: '127.0.0.1', port: 0, portVariable: 'PORT', logger });
});
afterAll(async () => {
  await server.stop();
  home.remove();
});
beforeEach(async () => {
  const { text } = await view();
  if (text !== null) await ask('', 'PUT', { text: 'rules: []\n', before: text });
});

const ask = (path: string, method = 'GET', body?: object, headers: object = { 'x-operator-key': key }) =>
  fetch(`${server.url}/operator/policy${path}`, {
    method,
    headers: { 'content-type': 'application/json', ...headers },
    ...(body && { body: JSON.stringify(body) }),
  });
const view = async () => (await (await ask('')).json()) as PolicyView;
const test = async (call: object) => (await (await ask('/test', 'POST', call)).json()) as ExplainedCall;

it('is for the operator only', async () => {
  for (const [path, method] of [
    ['', 'GET'],
    ['', 'PUT'],
    ['/check', 'POST'],
    ['/test', 'POST'],
  ] as const) {
    const body = method === 'GET' ? undefined : {};
    for (const headers of [{}, { authorization: 'Bearer token' }])
      expect((await ask(path, method, body, headers)).status, path).toBe(403);
  }
});

it('creates the file for the owner alone, keeps comments, and counts at once', async () => {
  expect(await view()).toMatchObject({ text: null, rules: [], agents: ['scribe'] });
  const text =
    "# mine\nrules:\n  - { tool: write_file, arguments: { path: 'secrets/**' }, decision: deny }\n";
  expect((await ask('', 'PUT', { text, before: null })).status).toBe(200);
  expect(readFileSync(file, 'utf8')).toBe(text);
  expect(statSync(file).mode & 0o777).toBe(0o600);
  expect(await test({ tool: 'write_file', arguments: { path: 'secrets/a' } })).toMatchObject({
    decision: 'deny',
    rule: 'rules[0]',
    subject: { path: 'secrets/a' },
  });
  // Loosening it in the page needs no second look, as a half-written file does.
  await ask('', 'PUT', { text: '# mine\n', before: text });
  expect((await test({ tool: 'write_file', arguments: { path: 'secrets/a' } })).decision).toBe('allow');
});

it('refuses a stale save and a broken text, and names the line', async () => {
  const { text } = await view();
  writeFileSync(file, 'hosts: [example.com]\n');
  const stale = await ask('', 'PUT', { text: 'rules: []', before: text });
  expect([stale.status, stale.headers.get('x-error-code')]).toEqual([409, 'policy_changed']);
  expect((await ask('', 'PUT', { text: 'rules: []', before: null })).status).toBe(409);
  const broken = 'hosts: []\nrules:\n  - { tool: write_file, decision: perhaps }\n';
  const checked = await ask('/check', 'POST', { text: broken });
  expect(await checked.json()).toMatchObject({ problems: [{ line: 3 }] });
  expect((await ask('', 'PUT', { text: broken, before: 'hosts: [example.com]\n' })).status).toBe(422);
  expect(readFileSync(file, 'utf8')).toBe('hosts: [example.com]\n');
});

it('shows what becomes of each tool, what was used of budgets, and which agents are relaxed', async () => {
  const { text: before } = await view();
  const text =
    'budgets: [{ principal: person, calls: 5 }]\nagents: { scribe: { taint: relaxed }, helm: { delegation: relaxed } }\n';
  await ask('', 'PUT', { text, before });
  policy.spend({
    principal: { kind: 'person', id: 'user:1', via: [] },
    agent: 'scribe',
    tool: 'write_file',
    effects: ['writes'],
    subject: {},
    origins: [],
  });
  expect(await view()).toMatchObject({
    relaxed: ['scribe'],
    delegating: ['helm'],
    budgets: [{ calls: 5, used: [{ principal: 'person:user:1', agent: 'scribe', calls: 1 }] }],
    tools: [{ name: 'write_file', clean: { decision: 'allow' }, tainted: { rule: 'agents: taint relaxed' } }],
  });
});

it('explains calls of guests, of tools that are not known here, and of arguments that do not fit', async () => {
  const taint = ['fetch_url https://a.example/'];
  expect(await test({ tool: 'write_file', principal: 'guest' })).toMatchObject({
    decision: 'deny',
    rule: 'default: guests',
  });
  expect(
    await test({ tool: 'x', arguments: { url: 'https://b.example/?d=1' }, effects: ['reads'], taint }),
  ).toMatchObject({
    decision: 'ask',
    rule: 'default: addresses after outside text',
  });
  expect(await test({ tool: 'write_file', arguments: { path: 7 }, taint })).toMatchObject({
    decision: 'ask',
  });
  const unknown = await ask('/test', 'POST', { tool: 'x', effects: ['flies'] });
  expect([unknown.status, await unknown.text()]).toEqual([422, expect.stringContaining('flies')]);
});

it('accepts a description, and says why not while the file is broken', async () => {
  const accept = () =>
    ask('/descriptions', 'POST', { kind: 'agent-card', source: 'scout', sha256: 'a'.repeat(64) });
  expect((await accept()).status).toBe(200);
  expect(readFileSync(file, 'utf8')).toContain('agent-card scout');
  const good = readFileSync(file, 'utf8');
  writeFileSync(file, 'rules: [');
  const refused = await accept();
  expect([refused.status, await refused.json()]).toEqual([
    422,
    { error: expect.stringContaining('Mend policy.yaml first') },
  ]);
  writeFileSync(file, good);
});

it('leaves a line in the audit log where something changes, and none where somebody only looks', async () => {
  recorded.length = 0;
  await ask('/check', 'POST', { text: 'rules: []' });
  await ask('/test', 'POST', { tool: 'write_file', arguments: { path: 'a' } });
  expect(recorded).toEqual([]);
  await ask('', 'PUT', { text: 'rules: []\n', before: (await view()).text });
  expect(recorded).toEqual(['PUT /operator/policy']);
});
