import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { JsonServer, startModelServer, startSearchServer, waitFor } from '@trunkline/testing';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { keyOf, type Locked, type Name, names, obey, startLocked } from './security.suite.ts';

/** Stands for whatever listens inside the operator's network. */
const trap = new JsonServer();
const pages = [
  {
    path: '/p/tides',
    title: 'Tidal power',
    text: 'Tidal power turns the tides into electricity. '.repeat(30),
  },
];
let search: Awaited<ReturnType<typeof startSearchServer>>;
let model: Awaited<ReturnType<typeof startModelServer>>;
let locked: Locked;

beforeAll(async () => {
  trap.on('GET /moved', () => ({ status: 302, headers: { location: `${trap.url}/inside` } }));
  trap.on('POST /moved', () => ({ status: 307, headers: { location: `${trap.url}/inside` } }));
  await trap.listen();
  search = await startSearchServer({ pages });
  model = await startModelServer({ script: obey });
  const env = {
    LLM_GATEWAY_URL: model.url,
    LLM_API_KEY: 'k',
    LLM_MODEL: 'm',
    SEARXNG_URL: search.searxngUrl,
  };
  // One private name is open to the fetch tools, so that a redirect can start from it.
  locked = await startLocked({ env: { ...env, FETCH_ALLOWED_HOSTS: 'localhost' } });
});
afterAll(async () => {
  await locked.stop();
  await Promise.all([trap.stop(), search.stop(), model.stop()]);
});

/** Every spelling of a place that no stranger may send us to. */
const inside = (): string[] => {
  const { port } = new URL(trap.url);
  const hosts = [
    '127.0.0.1',
    '127.1',
    '2130706433',
    '0x7f000001',
    '0177.0.0.1',
    '0.0.0.0',
    '[::1]',
    '[::]',
    '[::ffff:127.0.0.1]',
    '[::ffff:7f00:1]',
    '[64:ff9b::7f00:1]',
    '10.0.0.1',
    '172.16.0.1',
    '192.168.0.1',
    '100.64.0.1',
    '169.254.169.254',
    '224.0.0.1',
    '[fe80::1]',
    '[fd00::1]',
    '[2002:7f00:1::]',
    'user:password@127.0.0.1',
    '127.0.0.1.',
    '１２７.0.0.1',
  ];
  const others = [
    'file:///etc/passwd',
    'ftp://127.0.0.1/',
    'gopher://127.0.0.1/',
    'data:text/plain,x',
    'unix:/run/x',
  ];
  return [...hosts.map((host) => `http://${host}:${port}/inside`), ...others];
};

const headersOf = (name: Name) => ({
  'content-type': 'application/json',
  'a2a-version': '1.0',
  ...keyOf(name, '/message:send'),
});

async function say(name: Name, text: string, configuration: object = {}) {
  const message = { messageId: crypto.randomUUID(), role: 'ROLE_USER', parts: [{ text }] };
  const response = await fetch(`${locked.target(name).url}/message:send`, {
    method: 'POST',
    headers: headersOf(name),
    body: JSON.stringify({ message, configuration }),
  });
  return { status: response.status, text: await response.text() };
}

describe.each(names)('webhooks that callers of %s register', (name) => {
  it('may not lead inside, whether they come with a message or for a task', async () => {
    const first = await say(name, 'hello', { returnImmediately: true });
    const id = (JSON.parse(first.text) as { task: { id: string } }).task.id;
    for (const url of [...inside(), `http://localhost:${new URL(trap.url).port}/inside`]) {
      const sent = await say(name, 'hello', { taskPushNotificationConfig: { url } });
      const added = await fetch(`${locked.target(name).url}/tasks/${id}/pushNotificationConfigs`, {
        method: 'POST',
        headers: headersOf(name),
        body: JSON.stringify({ url }),
      });
      expect({ url, sent: sent.status, added: added.status }).toEqual({ url, sent: 400, added: 400 });
    }
    expect(trap.requests).toEqual([]);
  });
});

describe.each(['agent', 'voice'] as const)('the tool fetch_url of %s', (name) => {
  const fetchUrl = (url: string) => say(name, `CALL{"name":"fetch_url","arguments":{"url":"${url}"}}`);

  it('reaches nothing inside, whatever the model asks for', async () => {
    for (const url of inside()) {
      const { status, text } = await fetchUrl(url);
      expect({ url, status, refused: text.includes('The tool said: Error:') }).toEqual({
        url,
        status: 200,
        refused: true,
      });
    }
    expect(trap.requests).toEqual([]);
  });

  it('follows no redirect there', async () => {
    const { text } = await fetchUrl(`http://localhost:${new URL(trap.url).port}/moved`);
    expect(text).toContain('The tool said: Error:');
    expect(trap.requests.splice(0).map(({ path }) => path)).toEqual(['/moved']);
  });
});

it('research reads no page inside, though a search service names it', async () => {
  const headers = { 'content-type': 'application/json', ...keyOf('research', '/api') };
  const { url } = locked.target('research');
  const ask = async (path: string, body?: object) => {
    const init = body === undefined ? { headers } : { method: 'POST', headers, body: JSON.stringify(body) };
    return (await (await fetch(url + path, init)).json()) as { researchId: string; status: string };
  };
  const { researchId } = await ask('/api/research/deep', { query: 'tidal power', sources: ['web'] });
  await waitFor(async () => (await ask(`/api/research/deep/${researchId}/status`)).status !== 'running');
  const paths = search.requests.map((line) => line.split(/[ ?]/)[1] ?? '');
  expect(paths.some((path) => path.startsWith('/searxng'))).toBe(true);
  expect(paths.filter((path) => !path.startsWith('/searxng'))).toEqual([]);
});

/** What the operator configures may be inside: models, MCP servers and agents often are. The key is what guards it. */
const operators: [string, Name, string, (url: string) => object][] = [
  [
    'a model to try',
    'agent',
    '/api/config/test-model',
    (url) => ({ api_base: `${url}/v1`, api_key: 'x', model: 'x' }),
  ],
  ['an MCP server to try', 'agent', '/api/mcp/servers/test', (url) => ({ name: 'x', url })],
  [
    'an MCP server to try',
    'switchboard',
    '/api/mcp-servers/test',
    (url) => ({ name: 'x', trust: 'community', transport: 'sse', url }),
  ],
];

it.each(operators)('%s (%s %s) may be inside for the operator', async (_, name, path, body) => {
  const key = readFileSync(join(locked.home, 'operator-key'), 'utf8').trim();
  const send = (headers: Record<string, string>) =>
    fetch(locked.target(name).url + path, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...headers },
      body: JSON.stringify(body(trap.url)),
    });
  expect((await send({})).status).toBe(401);
  expect(trap.requests).toEqual([]);
  expect([401, 403]).not.toContain((await send({ 'x-operator-key': key })).status);
  expect(trap.requests.splice(0).length).toBeGreaterThan(0);
});
