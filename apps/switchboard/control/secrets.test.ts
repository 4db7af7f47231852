import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { type McpTestServer, startMcpServer, waitFor } from '@trunkline/testing';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Observer, observe } from '../fixtures/observe.ts';
import { type Json, startSwitchboard, type TestSwitchboard } from '../fixtures/start-switchboard.ts';
import { redactText } from './redact.ts';

let board: TestSwitchboard;
let seen: Observer;
let echo: McpTestServer;
let number = 0;
beforeAll(async () => {
  echo = await startMcpServer({ key: 'sesame-of-old' });
  board = await startSwitchboard();
  seen = await observe(board);
});
afterAll(async () => {
  seen.close();
  await board.stop();
  await echo.stop();
});

const secret = () => `hush-${++number}-${'x'.repeat(12)}`;
const send = async (method: string, path: string, body?: Json) => {
  const response = await board.fetch(path, { method, ...(body && { body: JSON.stringify(body) }) });
  return { status: response.status, body: (await response.json()) as Json };
};
const mode = (path: string) => (statSync(path).mode & 0o777).toString(8);
const path = (file: string) => join(board.workspace, file);

/** Every file of the home that holds a text, byte for byte, with what others may do with it. */
function holding(text: string): Record<string, string> {
  const files = readdirSync(board.home, { recursive: true, withFileTypes: true }).filter((entry) =>
    entry.isFile(),
  );
  const paths = files.map(({ parentPath, name }) => join(parentPath, name));
  const found = paths.filter((file) => readFileSync(file).includes(text));
  return Object.fromEntries(
    found.map((file) => [file.slice(board.home.length + 1).replace(/-wal$/, ''), mode(file)]),
  );
}

/** What anybody can be shown. */
async function shown(): Promise<string> {
  const paths = [
    '/api/changes?limit=1000',
    '/api/bus/history?limit=1000',
    '/api/mcp-servers',
    '/api/agents',
    '/api/workspace',
    '/api/dead-letters',
    '/api/flows',
  ];
  const bodies = await Promise.all(paths.map((place) => board.call(place)));
  return [...bodies, seen.messages, board.log].map((part) => JSON.stringify(part)).join('\n');
}

const server = (name: string, more: Json) => ({
  name,
  trust: 'community',
  transport: 'stdio',
  command: 'node',
  ...more,
});

const kinds = [
  {
    topic: 'command.mcp',
    api: '/api/mcp-servers',
    file: (name: string) => `mcp-servers.d/${name}.yaml`,
    entry: (name: string, value: string) =>
      server(name, {
        env: { TOKEN: value, PLAIN: `also ${value}` },
        args: ['--api-key', value, `--token=${value}`],
      }),
    bad: { transport: 'pigeon' },
  },
  {
    topic: 'command.a2a',
    api: '/api/external-agents',
    file: (name: string) => `agents.d/${name}.yaml`,
    entry: (name: string, value: string) => ({
      name,
      url: `http://user:${value}@127.0.0.1:9/a2a`,
      headers: { 'x-custom': value },
      skills: [`${name}-far`],
    }),
    bad: { streaming: 'never' },
  },
];

describe.each(kinds)('credentials in an entry of $api', ({ topic, api, file, entry, bad }) => {
  const allowed = (name: string) => ({
    [`switchboard/workspace/${file(name)}`]: '600',
    'switchboard/changes.db': '600',
  });

  it('stand in its file, for its owner alone, and nowhere else that anybody sees [S132]', async () => {
    const [first, second] = [secret(), secret()];
    expect((await send('POST', api, entry('one', first))).status).toBe(201);
    expect(holding(first)).toEqual(allowed('one'));
    expect((await send('PUT', `${api}/one`, entry('one', second))).status).toBe(200);
    const [change] = (await board.call('/api/changes?limit=1')).body.data;
    expect(change.after).toContain('[redacted]');
    expect((await board.call(`/api/changes/${change.id}/undo`, {})).status).toBe(200);
    expect(readFileSync(path(file('one')), 'utf8')).toContain(first);
    expect(mode(path(file('one')))).toBe('600');
    expect((await send('DELETE', `${api}/one`)).status).toBe(200);
    const { id } = (await board.call('/api/changes?limit=1')).body.data[0];
    expect((await board.call(`/api/changes/${id}/undo`, {})).status).toBe(200);
    expect(readFileSync(path(file('one')), 'utf8')).toContain(first);
    const listed = async () => JSON.stringify((await board.call('/api/workspace')).body).includes('"one"');
    await waitFor(listed);
    for (const value of [first, second]) expect(await shown()).not.toContain(value);
    const { messages } = (await board.call(`/api/bus/history?topic=${topic}.upsert`)).body.data;
    const { payload } = messages.at(-1).message;
    expect(payload).toMatchObject({ name: 'one', file: 'one.yaml', entry: { name: 'one' } });
    expect(payload.yaml).toContain('name: one');
  });

  it('that a program publishes are sealed before they are journalled', async () => {
    const value = secret();
    const yaml = `# kept\n${JSON.stringify(entry('two', value))}\n`;
    const payload = { name: 'two', yaml, entry: entry('two', value), note: value };
    expect((await board.call('/publish', { topic: `${topic}.upsert`, payload })).status).toBe(200);
    await waitFor(() => existsSync(path(file('two'))));
    expect(readFileSync(path(file('two')), 'utf8')).toBe(yaml);
    expect(holding(value)).toEqual(allowed('two'));
    expect(await shown()).not.toContain(value);
  });

  it('are kept nowhere when the entry is refused', async () => {
    const value = secret();
    const wrong = { ...entry('three', value), ...bad };
    const count = async () => (await board.call('/api/changes?limit=1000')).body.data.length;
    const before = await count();
    expect((await send('POST', api, wrong)).status).toBe(400);
    expect((await send('PUT', `${api}/three`, wrong)).status).toBe(400);
    for (const yaml of [JSON.stringify(wrong), `name: three\nheaders: { x: ${value}`, `${value}: [`]) {
      const correlationId = crypto.randomUUID();
      const payload = { name: 'three', yaml, entry: wrong };
      await board.call('/publish', { topic: `${topic}.upsert`, payload, correlationId });
      const { payload: told } = await seen.first('system.error', correlationId);
      expect(told.error).toContain(file('three'));
    }
    const correlationId = crypto.randomUUID();
    const payload = { name: 'three', yaml: JSON.stringify(wrong) };
    await board.call('/publish', { topic: `${topic}.paint`, payload, correlationId });
    expect((await seen.first('system.error', correlationId)).payload.error).toContain('upsert or remove');
    expect(holding(value)).toEqual({});
    expect(await count()).toBe(before);
    expect(await shown()).not.toContain(value);
  });
});

it('a draft of any kind that is refused is kept nowhere', async () => {
  const value = secret();
  const draft = { name: 'cook', role: 'king', systemPrompt: value };
  expect((await send('POST', '/api/agents', draft)).status).toBe(400);
  const correlationId = crypto.randomUUID();
  const payload = { name: 'cook', yaml: JSON.stringify(draft) };
  await board.call('/publish', { topic: 'command.agent.upsert', payload, correlationId });
  expect((await seen.first('system.error', correlationId)).payload.error).toContain('agents/cook.yaml:1:');
  expect(holding(value)).toEqual({});
});

it('reach the server all the same, at once, and after it was switched off and on', async () => {
  const entry = (key: string) => ({
    name: 'echo',
    trust: 'trusted',
    transport: 'http',
    url: echo.url,
    headers: { authorization: `Bearer ${key}` },
  });
  await send('POST', '/api/mcp-servers', entry('sesame-of-old'));
  const works = async () => (await board.call('/api/mcp-servers/echo')).body.data?.error === null;
  await waitFor(works);
  expect((await board.call('/api/mcp-servers/echo/enabled', { enabled: false })).status).toBe(200);
  expect((await board.call('/api/mcp-servers/echo/enabled', { enabled: true })).status).toBe(200);
  await waitFor(works);
  expect(await shown()).not.toContain('sesame-of-old');
  expect((await send('PUT', '/api/mcp-servers/echo', entry('wrong-key-here'))).status).toBe(200);
  await waitFor(async () => !(await works()));
});

describe('files that can hold credentials', () => {
  it('are restricted to their owner when they are found open, with a line in the log', async () => {
    const value = secret();
    const files = {
      'a2a.yaml': `targets: { far: { url: "http://127.0.0.1:9/a2a", bearer_token: ${value} } }`,
      'agents.yaml': `agents: [{ name: listed, url: "http://127.0.0.1:9/a2a", headers: { x-key: ${value} } }]`,
      'mcp-servers.d/hand.yaml': JSON.stringify(server('hand', { env: { TOKEN: value } })),
      'agents.d/hand.yml': `name: hand\nurl: http://127.0.0.1:9/a2a\nheaders: { x-key: ${value} }\n`,
      'mcp-servers.d/broken.yaml': `name: broken\nenv: { TOKEN: ${value}`,
    };
    const other = await startSwitchboard({ files });
    for (const file of Object.keys(files)) {
      const place = join(other.workspace, file);
      await waitFor(() => mode(place) === '600');
      expect(other.log.some((line) => line.includes(file) && line.includes('restricted file'))).toBe(true);
    }
    // What is written by hand later is looked at too.
    other.write('mcp-servers.d/late.yaml', JSON.stringify(server('late', { env: { TOKEN: value } })));
    await waitFor(() => mode(join(other.workspace, 'mcp-servers.d/late.yaml')) === '600');
    expect(mode(join(other.home, 'switchboard/seal.json'))).toBe('600');
    expect(other.log.join('\n')).not.toContain(value);
    expect(JSON.stringify((await other.call('/api/workspace')).body)).not.toContain(value);
    await other.stop();
  });
});

it('nobody gets at sealed texts over the bus', async () => {
  for (const topic of ['config.sealed.request', 'config.files'])
    expect((await board.call('/publish', { topic, payload: {}, reply: { topic: 'note.x' } })).status).toBe(
      403,
    );
});

it.each([
  ['env: { A: one-secret } # note', 'env: { A: "[redacted]" } # note'],
  [
    'env:\n  A: |\n    one\n    two\n  B: "3"\nname: x\n',
    'env:\n  A: "[redacted]"\n  B: "[redacted]"\nname: x\n',
  ],
  [`env: { A: "\${KEY}" }\nheaders: { authorization: "Bearer \${KEY}" }`, undefined],
  [`env: { A: "\${KEY:-fallback}" }`, 'env: { A: "[redacted]" }'],
  ['env: { A: &k one, B: *k }', 'env: { A: &k "[redacted]", B: "[redacted]" }'],
  [
    'args: [--verbose, yes, --api-key, one, API_TOKEN=two]',
    'args: [--verbose, yes, --api-key, "[redacted]", "API_TOKEN=[redacted]"]',
  ],
  ['url: https://h/x?token=one&page=2', 'url: "https://h/x?token=[redacted]&page=2"'],
  [
    'targets: { a: { url: http://h, api_key: 1234 } }',
    'targets: { a: { url: http://h, api_key: "[redacted]" } }',
  ],
  ['name: plain # as it is\ntrust:   trusted\n', undefined],
])('%j is shown without its credentials, as it is written', (text, expected) => {
  expect(redactText(text)).toBe(expected ?? text);
});
