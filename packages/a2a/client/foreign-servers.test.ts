import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { json } from 'node:stream/consumers';
import { afterEach, describe, expect, it } from 'vitest';
import { agentsOfThisFile } from '../fixtures/agents.ts';
import { createA2aClient } from './client.ts';
import type { RemoteEvent } from './remote-agent.ts';

interface Foreign {
  /** What its card says beside its name; `{port}` stands for its port. */
  card?: object;
  cardPath?: string;
  rpcPath?: string;
  /** The answer to a call: an object is JSON, lines are the events of a stream. */
  answer(method: string): object | string[];
}

const servers: Server[] = [];
const client = createA2aClient();
const startAgent = agentsOfThisFile();

afterEach(() => {
  for (const server of servers.splice(0)) server.close();
});

/** An agent as others build them: its own paths, its own idea of its address. */
async function start({
  card = {},
  cardPath = '/.well-known/agent-card.json',
  rpcPath = '/',
  answer,
}: Foreign) {
  const calls: string[] = [];
  const respond = async (request: IncomingMessage, response: ServerResponse) => {
    const { port } = server.address() as AddressInfo;
    if (request.method === 'GET') {
      if (request.url !== cardPath) return void response.writeHead(404).end();
      const text = JSON.stringify({
        name: 'Foreign',
        protocolVersion: '0.3.0',
        preferredTransport: 'JSONRPC',
        ...card,
      });
      response.writeHead(200, { 'content-type': 'application/json' });
      return void response.end(text.replaceAll('{port}', String(port)));
    }
    const { method, id } = (await json(request)) as { method: string; id: string };
    calls.push(`${request.url} ${method}`);
    if (request.url !== rpcPath) return void response.writeHead(404).end();
    const answered = answer(method);
    const isStream = Array.isArray(answered);
    response.writeHead(200, { 'content-type': isStream ? 'text/event-stream' : 'application/json' });
    if (!isStream) return void response.end(JSON.stringify({ jsonrpc: '2.0', id, ...answered }, null, 2));
    for (const event of answered)
      response.write(`data: {"jsonrpc":"2.0","id":${JSON.stringify(id)},"result":${event}}\n\n`);
    response.end();
  };
  const server = createServer((request, response) => void respond(request, response));
  servers.push(server);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  const at = (path: string) => ({ name: 'Foreign', url: `http://127.0.0.1:${port}${path}` });
  return { at, calls };
}

const task = (state: string, ...texts: string[]) => ({
  kind: 'task',
  id: 't1',
  contextId: 'c1',
  status: { state },
  artifacts: [{ artifactId: 'a', parts: texts.map((text) => ({ kind: 'text', text })) }],
});
const hello = () => ({ result: task('completed', 'hello') });
const hello10 = () => ({
  task: {
    id: 't1',
    contextId: 'c1',
    status: { state: 'TASK_STATE_COMPLETED' },
    artifacts: [{ artifactId: 'a', parts: [{ text: 'hello' }] }],
  },
});
const interfaces = (...entries: [url: string, binding: string, version: string][]) => ({
  supportedInterfaces: entries.map(([url, protocolBinding, protocolVersion]) => ({
    url,
    protocolBinding,
    protocolVersion,
  })),
});

async function collect(events: AsyncIterable<RemoteEvent>): Promise<RemoteEvent[]> {
  const collected: RemoteEvent[] = [];
  for await (const event of events) collected.push(event);
  return collected;
}

const textOf = (events: RemoteEvent[]) =>
  events.map((event) => (event.type === 'text-delta' ? event.text : '')).join('');

describe('an agent that somebody else built', () => {
  it.each([
    ['its own path', 'http://127.0.0.1:{port}/jsonrpc/v1'],
    ['localhost', 'http://localhost:{port}/jsonrpc/v1'],
    ['no address of its own', 'http://0.0.0.0:80/jsonrpc/v1'],
    ['a path alone', '/jsonrpc/v1'],
  ])('is reached where its card says, which names %s', async (_what, url) => {
    const { at, calls } = await start({ card: { url }, rpcPath: '/jsonrpc/v1', answer: hello });
    for (const place of ['', '/', '/jsonrpc/v1', '/.well-known/agent-card.json'])
      expect(await client.ask(at(place), { text: 'x' })).toBe('hello');
    expect(new Set(calls)).toEqual(new Set(['/jsonrpc/v1 message/send']));
  });

  it('of which the contract wants one request gets that at its endpoint, and is looked for from another address', async () => {
    const { at, calls } = await start({ card: { url: '/rpc' }, rpcPath: '/rpc', answer: hello });
    const ask = (path: string) => client.ask({ ...at(path), protocol: '0.3' }, { text: 'x' });
    expect(await ask('/rpc')).toBe('hello');
    expect(calls.splice(0)).toEqual(['/rpc message/send']);
    for (const path of ['', '/.well-known/agent-card.json']) expect(await ask(path)).toBe('hello');
    expect(calls.splice(0).filter((call) => call.startsWith('/rpc '))).toHaveLength(2);
    // Known by now to be no endpoint.
    expect(await ask('')).toBe('hello');
    expect(calls).toEqual(['/rpc message/send']);
  });

  it('that speaks 1.0 alone is looked up by its card where the contract wants one request of 0.3', async () => {
    const status = { state: 'TASK_STATE_COMPLETED' };
    const artifacts = [{ artifactId: 'a', parts: [{ text: 'hello' }] }];
    const result = { task: { id: 't1', contextId: 'c1', status, artifacts } };
    const unknown = { error: { code: -32601, message: 'Method not found' } };
    const url = 'http://127.0.0.1:{port}/rpc';
    const card = {
      protocolVersion: undefined,
      preferredTransport: undefined,
      supportedInterfaces: [{ url, protocolBinding: 'JSONRPC', protocolVersion: '1.0' }],
    };
    const rpc = {
      card,
      rpcPath: '/rpc',
      answer: (name: string) => (name === 'SendMessage' ? { result } : unknown),
    };
    const { at, calls } = await start(rpc);
    const agent = { ...at('/rpc'), protocol: '0.3' as const };
    for (let count = 0; count < 2; count += 1) expect(await client.ask(agent, { text: 'x' })).toBe('hello');
    expect(calls).toEqual(['/rpc message/send', '/rpc SendMessage', '/rpc SendMessage']);
    const hidden = await start({ ...rpc, cardPath: '/none' });
    const asked = client.ask({ ...hidden.at('/rpc'), protocol: '0.3' }, { text: 'x' });
    await expect(asked).rejects.toThrow('Method not found');
    expect(hidden.calls).toEqual(['/rpc message/send']);
  });

  it('is reached by the address of a card in a place of its own', async () => {
    const { at } = await start({
      card: { url: 'http://localhost:{port}/agents/one' },
      cardPath: '/agents/one/card.json',
      rpcPath: '/agents/one',
      answer: hello,
    });
    expect(await client.ask(at('/agents/one/card.json'), { text: 'x' })).toBe('hello');
  });

  it('behind a path of its own is reached there, whatever address it believes to have', async () => {
    const { at, calls } = await start({
      card: { url: 'http://0.0.0.0:10000/' },
      cardPath: '/agents/weather/.well-known/agent-card.json',
      rpcPath: '/agents/weather',
      answer: hello,
    });
    expect(await client.ask(at('/agents/weather'), { text: 'x' })).toBe('hello');
    expect(calls).toEqual(['/agents/weather message/send']);
  });

  it('is not taken for the agent at the root of its host', async () => {
    const { at, calls } = await start({
      card: { url: 'http://localhost:{port}/a2a' },
      rpcPath: '/agents/b/a2a',
      answer: hello,
    });
    expect(await client.ask(at('/agents/b/a2a'), { text: 'x' })).toBe('hello');
    expect(calls).toEqual(['/agents/b/a2a message/send']);
  });

  it('whose endpoint was given is asked as the card at the root says that names this endpoint, on its host alone', async () => {
    const many = await start({
      card: interfaces(
        ['http://localhost:{port}/new', 'JSONRPC', '1.0'],
        ['http://localhost:{port}/old', 'JSONRPC', '0.3'],
        ['/rest/', 'HTTP+JSON', '1.0'],
      ),
      rpcPath: '/new',
      answer: () => ({ result: hello10() }),
    });
    for (const path of ['/old', '/rest', '/new/'])
      expect(await client.ask(many.at(path), { text: 'x' })).toBe('hello');
    expect(many.calls).toEqual(Array(3).fill('/new SendMessage'));
    const rest = { card: interfaces(['/rest', 'HTTP+JSON', '1.0']), rpcPath: '/rest/message:send' };
    const alone = await start({ ...rest, answer: hello10 });
    expect(await client.ask(alone.at('/rest'), { text: 'x' })).toBe('hello');
    const other = await start({ rpcPath: '/new', answer: () => ({ result: hello10() }) });
    const named = interfaces([other.at('/new').url, 'JSONRPC', '1.0'], ['/old', 'JSONRPC', '0.3']);
    const here = await start({ card: named, rpcPath: '/old', answer: hello });
    expect(await client.ask(here.at('/old'), { text: 'x' })).toBe('hello');
    expect([here.calls, other.calls]).toEqual([['/old message/send'], []]);
  });

  it('is reached at another port of this machine, unless credentials would go there', async () => {
    const { at: there, calls } = await start({ rpcPath: '/rpc', answer: hello });
    const here = await start({ card: { url: there('/rpc').url }, rpcPath: '/rpc', answer: hello });
    for (const path of ['', '/', '/.well-known/agent-card.json'])
      expect(await client.ask(here.at(path), { text: 'x' })).toBe('hello');
    expect([calls.splice(0), here.calls]).toEqual([Array(3).fill('/rpc message/send'), []]);
    for (const secret of [{ credentials: { bearer: 'sesame' } }, { headers: { 'x-key': 'sesame' } }])
      expect(await client.ask({ ...here.at(''), ...secret }, { text: 'x' })).toBe('hello');
    expect([calls, here.calls]).toEqual([[], Array(2).fill('/rpc message/send')]);
  });

  it.each([
    ['its path', '', '/rpc', '/rpc message/send'],
    ['its own path', '/agents/b', '/agents/b', '/agents/b message/send'],
    ['its path, over REST', '', '/rpc/message:send', '/rpc/message:send undefined'],
  ])(
    'is asked at the configured host by %s where nobody listens at the host that its card names',
    async (_what, path, rpcPath, call) => {
      const binding = call.endsWith('undefined') ? 'HTTP+JSON' : 'JSONRPC';
      const { at, calls } = await start({
        // Only 127.0.0.1 of this machine is listened at.
        card: interfaces([`http://127.0.0.77:{port}/rpc`, binding, binding === 'JSONRPC' ? '0.3' : '1.0']),
        cardPath: `${path}/.well-known/agent-card.json`,
        rpcPath,
        answer: () => ({ ...hello(), ...hello10() }),
      });
      expect(await client.ask(at(path), { text: 'x' })).toBe('hello');
      expect(calls).toEqual([call]);
    },
  );

  it('is spoken to in the newest version that both know, over whatever its card names first for that', async () => {
    const { at, calls } = await start({
      card: interfaces(
        ['/old', 'JSONRPC', '0.3'],
        ['/next', 'JSONRPC', '7.0'],
        ['/rest', 'HTTP+JSON', '1.0.0'],
        ['/new', 'JSONRPC', '1.0'],
      ),
      rpcPath: '/rest/message:send',
      answer: hello10,
    });
    expect(await client.ask(at(''), { text: 'x' })).toBe('hello');
    expect(calls).toEqual(['/rest/message:send undefined']);
  });

  it('is asked at the first of several interfaces of one kind', async () => {
    const { at, calls } = await start({
      card: interfaces(['/one', 'JSONRPC', '1.0'], ['/two', 'JSONRPC', '1.0']),
      rpcPath: '/one',
      answer: () => ({ result: hello10() }),
    });
    expect(await client.ask(at(''), { text: 'x' })).toBe('hello');
    expect(calls).toEqual(['/one SendMessage']);
  });

  it.each(['0.2.5', '0.1.0'])('of version %s is spoken to as one of 0.3', async (protocolVersion) => {
    const { at } = await start({ card: { url: '/', protocolVersion }, answer: hello });
    expect(await client.ask(at(''), { text: 'x' })).toBe('hello');
  });

  it('says all its text, in order', async () => {
    const { at } = await start({
      card: { url: '/' },
      answer: () => ({ result: task('completed', 'Peer ', 'says: ', 'hello') }),
    });
    expect(await client.ask(at(''), { text: 'x' })).toBe('Peer says: hello');
    expect((await client.send(at(''), { text: 'x' })).text).toBe('Peer says: hello');
  });
});

describe('a stream', () => {
  const streaming = { url: '/', capabilities: { streaming: true } };

  it('is not asked for where the card offers none', async () => {
    const { at, calls } = await start({ card: { url: '/', capabilities: {} }, answer: hello });
    const events = await collect(client.stream(at(''), { text: 'x' }));
    expect(calls).toEqual(['/ message/send']);
    expect(events.map(({ type }) => type)).toEqual(['task-start', 'text-delta', 'task-end']);
    expect(textOf(events)).toBe('hello');
  });

  it('that the agent does not know after all becomes a plain request', async () => {
    const refusal = { error: { code: -32601, message: 'Method not found' } };
    const { at, calls } = await start({
      card: streaming,
      answer: (method) => (method === 'message/stream' ? refusal : hello()),
    });
    expect(textOf(await collect(client.stream(at(''), { text: 'x' })))).toBe('hello');
    expect(calls).toEqual(['/ message/stream', '/ message/send']);
  });

  it('that fails by words which only sound like it is not asked for again', async () => {
    const failure = { error: { code: -32603, message: 'MCP error -32601: Method not found' } };
    const { at, calls } = await start({ card: streaming, answer: () => failure });
    await expect(collect(client.stream(at(''), { text: 'x' }))).rejects.toMatchObject({
      code: 'agent_error',
    });
    expect(calls).toEqual(['/ message/stream']);
  });

  it('that is answered with one document is read, and the work not done twice', async () => {
    const { at, calls } = await start({ card: streaming, answer: hello });
    const events = await collect(client.stream(at(''), { text: 'x' }));
    expect(events.at(-1)).toMatchObject({ reply: { state: 'completed', text: 'hello' } });
    expect(calls).toEqual(['/ message/stream']);
  });

  it('that ends before the task does is an error in words', async () => {
    const { at } = await start({ card: streaming, answer: () => [JSON.stringify(task('working', 'hel'))] });
    await expect(collect(client.stream(at(''), { text: 'x' }))).rejects.toMatchObject({
      code: 'agent_error',
      message: 'The agent Foreign answered with an error: its stream ended before the task did',
    });
  });
});

it('streams 0.3 over REST whole, from an agent whose card stands at another of its hosts', async () => {
  const agent = await startAgent(async function* () {
    for (const text of ['Peer ', 'says: ', 'hello']) yield { type: 'text-delta', text };
    yield { type: 'artifact', artifactId: 'list', parts: [{ type: 'text', text: 'draft' }] };
    yield { type: 'artifact', artifactId: 'list', parts: [{ type: 'text', text: 'final' }] };
  });
  const card = { url: agent.url, preferredTransport: 'HTTP+JSON', capabilities: { streaming: true } };
  const { at, calls } = await start({ card, answer: () => ({ error: { code: -32601, message: 'no' } }) });
  const events: RemoteEvent[] = [];
  for await (const event of client.stream({ ...at('/'), cardHosts: ['127.0.0.1'] }, { text: 'x' }))
    events.push(event);
  expect(events.at(-1)).toMatchObject({
    type: 'task-end',
    reply: { state: 'completed', text: 'Peer says: hello\n\nfinal' },
  });
  expect(calls).toEqual([]);
  const address = await start({ card: { ...card, url: 'https://192.0.2.1/' }, answer: () => ({}) });
  const unallowed = client.ask(address.at('/.well-known/agent-card.json'), { text: 'x' });
  await expect(unallowed).rejects.toMatchObject({ code: 'agent_elsewhere' });
});

it('ends a stream with all artifacts, also those without text', async () => {
  const agent = await startAgent(async function* () {
    yield { type: 'artifact', artifactId: 'map', parts: [{ type: 'data', data: { lat: 47 } }] };
    yield { type: 'completed', text: 'Here.' };
  });
  const remote = { name: 'Mapper', url: agent.url };
  const { artifacts } = await client.send(remote, { text: 'x' });
  const events = await collect(client.stream(remote, { text: 'x' }));
  const ids = artifacts.map(({ artifactId }) => artifactId).sort();
  expect(ids).toContain('map');
  const last = events.at(-1);
  const streamed = last?.type === 'task-end' ? last.reply.artifacts : [];
  expect(streamed.map(({ artifactId }) => artifactId).sort()).toEqual(ids);
});
