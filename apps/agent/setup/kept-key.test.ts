import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { secretStoreOf } from '@trunkline/config';
import { type ModelServer, startModelServer } from '@trunkline/testing';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { modelEnvironment, post, startAgent, type TestAgent, writeConfig } from '../fixtures/start-agent.ts';

/** The key that is kept, as a configuration can name it. */
const reference = `\${LLM_API_KEY}`;
/** The endpoint whose key is kept, and one that somebody would like to have it. */
let own: ModelServer;
let other: ModelServer;
let agent: TestAgent;

beforeEach(async () => {
  own = await startModelServer({ script: () => 'Own.' });
  other = await startModelServer({ script: () => 'Other.' });
});
afterEach(async () => {
  await agent.stop();
  await Promise.all([own.stop(), other.stop()]);
});

const begin = async (config?: string) => {
  const env = { ...modelEnvironment(own.url), LLM_API_KEY: 'sesame' };
  agent = await startAgent({ env, ...(config !== undefined && { config }) });
};
const edit = (method: string, body: unknown) => agent.fetch('/api/config', { ...post(body), method });
const setUp = (given: object) => agent.fetch('/api/config/setup', post(given));
const setAddress = (url: string) => ({
  changes: [{ op: 'set', path: ['model', 'api_base'], value: url }],
});
const keysSeenBy = ({ requests }: ModelServer) => [
  ...new Set(requests.map(({ headers }) => headers.authorization)),
];
/** Everything that an endpoint was sent, in which no secret may stand. */
const sentTo = ({ requests }: ModelServer) => JSON.stringify(requests);
const answer = async () => {
  const task = await agent.send('Hi');
  return task.artifacts?.[0]?.parts[0]?.text ?? task.status.message?.parts[0]?.text;
};
const secretsFile = () => join(agent.home, 'agent/config/secrets.yaml');

describe('the key that is kept, when somebody who does not know it edits the configuration', () => {
  it.each([
    ['the test of a model', (url: string) => agent.fetch('/api/config/test-model', post({ api_base: url }))],
    ['the setup', (url: string) => setUp({ api_base: url, model: 'test-model' })],
    ['the whole text', (url: string) => edit('PUT', { text: `model: { api_base: "${url}" }` })],
    ['a single value', (url: string) => edit('PATCH', setAddress(url))],
    [
      'a section',
      (url: string) => edit('PATCH', { changes: [{ op: 'set', path: ['model'], value: { api_base: url } }] }),
    ],
    ['a blank key', (url: string) => edit('PATCH', { ...setAddress(url), api_key: ' ' })],
    ['a blank key in the setup', (url: string) => setUp({ api_base: url, api_key: '  ' })],
  ])('stays with its endpoint: %s', async (_, attempt) => {
    await begin();
    const before = readFileSync(join(agent.home, 'agent/config/agent.yaml'), 'utf8');
    const refused = await attempt(other.url);
    expect(refused.status).toBe(400);
    expect(await answer()).toBe('Own.');
    expect(other.requests).toEqual([]);
    expect(readFileSync(join(agent.home, 'agent/config/agent.yaml'), 'utf8')).toBe(before);
  });

  it('says which key to give, and where', async () => {
    await begin();
    const refused = await edit('PUT', { text: `model: { api_base: "${other.url}" }` });
    expect(await refused.text()).toContain(
      `Give the key of ${other.url} with it: on the page under Settings`,
    );
  });

  it('stays where it is when the address is only written otherwise, or taken away and put back', async () => {
    await begin(`model: { api_base: "${own.url}" }`);
    const otherwise = own.url.replace('http:', 'HTTP:');
    for (const url of [`${own.url}/`, otherwise])
      expect((await edit('PATCH', setAddress(url))).status).toBe(200);
    expect((await edit('PUT', { text: 'identity: { name: Iris }' })).status).toBe(200);
    expect(await answer()).toBe('Own.');
    expect((await agent.fetch('/api/config/test-model', post({ api_base: `${own.url}/` }))).status).toBe(200);
    expect(keysSeenBy(own)).toEqual(['Bearer sesame']);
  });

  it('is needed anew for another path of the same host, which may be another customer', async () => {
    await begin();
    const elsewhere = `${new URL(own.url).origin}/somebody-else/v1`;
    expect((await edit('PATCH', setAddress(elsewhere))).status).toBe(400);
  });
});

describe('a key that comes with the address', () => {
  it.each([
    ['PUT', () => edit('PUT', { text: `model: { api_base: "${other.url}", name: m }`, api_key: 'its-own' })],
    ['PATCH', () => edit('PATCH', { ...setAddress(other.url), api_key: 'its-own' })],
    ['the setup', () => setUp({ api_base: other.url, api_key: 'its-own' })],
  ])('is the only one that the endpoint sees: %s', async (_, change) => {
    await begin();
    const turns = Array.from({ length: 6 }, () => answer());
    expect((await change()).status).toBe(200);
    await Promise.all([...turns, ...Array.from({ length: 6 }, () => answer())]);
    expect(await answer()).toBe('Other.');
    expect(keysSeenBy(other)).toEqual(['Bearer its-own']);
    expect(keysSeenBy(own)).toEqual(['Bearer sesame']);
    expect(readFileSync(secretsFile(), 'utf8')).toMatch(/api_key: "?\$\{secret:agent-model-key-\w+\}/);
  });

  it('goes to no other endpoint afterwards, that of the variables included', async () => {
    await begin();
    await setUp({ api_base: other.url, api_key: 'its-own' });
    expect((await edit('PATCH', setAddress(own.url))).status).toBe(400);
    expect((await edit('PUT', { text: 'identity: { name: Iris }' })).status).toBe(400);
    await answer();
    expect(own.requests).toEqual([]);
  });

  it('is taken at its word, where it names a variable', async () => {
    await begin();
    const key = reference;
    expect((await setUp({ api_base: other.url, api_key: key })).status).toBe(200);
    await expect.poll(answer).toBe('Other.');
    expect(keysSeenBy(other)).toEqual([`Bearer ${key}`]);
    const named = `${other.url}/${key}`;
    expect((await setUp({ api_base: named, api_key: 'x', model: key })).status).toBe(200);
    await answer();
    expect(sentTo(other)).not.toContain('sesame');
  });
});

describe('a variable that holds a secret of the service', () => {
  const entry = (url: string) => ({ name: 'x', type: 'compat', model: 'm', url, token: reference });
  const add = (path: (string | number)[], value: unknown) =>
    edit('PATCH', { changes: [{ op: 'set', path, value }], api_key: 'other' });

  it.each([
    ['an address', () => add(['model', 'api_base'], `http://127.0.0.1:1/${reference}`)],
    ['the words of the agent', () => add(['identity', 'persona'], `Say \${NONE:-${reference}}`)],
    ['a delegate', () => add(['delegates'], [entry(other.url)])],
    [
      'a header',
      () => add(['mcp'], { servers: [{ name: 'x', url: other.url, headers: { key: reference } }] }),
    ],
    ['the whole text', () => edit('PUT', { text: `identity: { persona: "\${A2A_AUTH_TOKEN:-}" }` })],
    [
      'a header, by its stored name',
      async () => {
        expect((await setUp({ api_base: own.url, api_key: 'sesame' })).status).toBe(200);
        const stored = /\$\{secret:[^}]*\}/.exec(readFileSync(secretsFile(), 'utf8'))?.[0];
        return add(['mcp'], { servers: [{ name: 'x', url: other.url, headers: { key: stored } }] });
      },
    ],
  ])('is not put into %s from the console', async (_, attempt) => {
    await begin();
    const refused = await attempt();
    expect(refused.status).toBe(400);
    expect(await refused.text()).toContain('holds a secret of this service');
    expect(sentTo(other)).not.toContain('sesame');
  });

  it('stays where the owner wrote it, in an entry that stays as it is', async () => {
    await begin(`delegates:\n  - ${JSON.stringify(entry(own.url))}\n`);
    const rename = { op: 'set', path: ['identity', 'name'], value: 'Iris' };
    expect((await edit('PATCH', { changes: [rename] })).status).toBe(200);
    const moved = { op: 'set', path: ['delegates', 0, 'url'], value: other.url };
    expect((await edit('PATCH', { changes: [moved] })).status).toBe(400);
  });
});

it('tokens that the page saves go into the store; the file and the API show references', async () => {
  await begin();
  const delegate = { name: 'x', type: 'compat', model: 'm', url: own.url, token: 'token-of-the-delegate' };
  const change = { changes: [{ op: 'set', path: ['delegates'], value: [delegate] }] };
  expect((await edit('PATCH', change)).status).toBe(200);
  const shown = await (await agent.fetch('/api/config')).text();
  expect(shown).not.toContain('token-of-the-delegate');
  const { config } = JSON.parse(shown) as { config: { delegates: { token: string }[] } };
  const [, name = ''] =
    /^\$\{secret:(agent-delegates-x-token-\w+)\}$/.exec(config.delegates[0]?.token ?? '') ?? [];
  const store = secretStoreOf({ TRUNKLINE_HOME: agent.home });
  expect(store.get(name)).toBe('token-of-the-delegate');
  const refused = { changes: [{ op: 'set', path: ['delegates'], value: [{ ...delegate, nonsense: 1 }] }] };
  expect((await edit('PATCH', refused)).status).toBe(400);
  expect(store.list()).toHaveLength(1);
  // What the page removes or replaces leaves the store too.
  const { token: _removed, ...without } = delegate;
  expect(
    (await edit('PATCH', { changes: [{ op: 'set', path: ['delegates'], value: [without] }] })).status,
  ).toBe(200);
  expect(store.list()).toEqual([]);
  await setUp({ api_base: own.url, api_key: 'first-key' });
  await setUp({ api_base: other.url, api_key: 'second-key' });
  expect(store.list().map(({ name }) => store.get(name))).toEqual(['second-key']);
});

describe('the owner of the machine', () => {
  it('may send a key of the machine to another endpoint, by the file', async () => {
    await begin();
    writeConfig(agent.home, `model: { api_base: "${other.url}" }`);
    await expect.poll(answer).toBe('Other.');
    expect(keysSeenBy(other)).toEqual(['Bearer sesame']);
  });

  it('is told that a key given in the console stays with its endpoint even then', async () => {
    await begin();
    await setUp({ api_base: own.url, api_key: 'given' });
    expect(await answer()).toBe('Own.');
    writeConfig(agent.home, `model: { api_base: "${other.url}" }`);
    await expect.poll(() => agent.log.join()).toContain('belongs to another endpoint and is not sent');
    await expect.poll(answer).toBe('Other.');
    expect(keysSeenBy(other)).toEqual([undefined]);
    writeFileSync(secretsFile(), 'model: { api_key: written }');
    const keysAfterTurn = async () => {
      await answer();
      return keysSeenBy(other);
    };
    await expect.poll(keysAfterTurn).toContain('Bearer written');
  });
});
