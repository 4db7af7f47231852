import { describe, expect, it } from 'vitest';
import { agentsOfThisFile } from '../fixtures/agents.ts';
import { foreignAgentsOfThisFile, hello, hello10, interfaces, task } from '../fixtures/foreign-agents.ts';
import { createA2aClient } from './client.ts';
import type { RemoteEvent } from './remote-agent.ts';

const client = createA2aClient();
const start = foreignAgentsOfThisFile();
const startAgent = agentsOfThisFile();

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
        ['/rest', 'HTTP+JSON', '1.0.1'],
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
  const message = (part: object) => ({ kind: 'message', messageId: 'm1', role: 'agent', parts: [part] });

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

  it.each(['text/json', ''])(
    'that is answered with one document of the type %j is read too',
    async (type) => {
      const { at, calls } = await start({ card: streaming, type, answer: hello });
      const events = await collect(client.stream(at(''), { text: 'x' }));
      expect(events.at(-1)).toMatchObject({ reply: { state: 'completed', text: 'hello' } });
      expect(calls).toEqual(['/ message/stream']);
    },
  );

  it.each([
    [404, '1.0', '/rest'],
    [405, '1.0', '/rest'],
    [501, '1.0', '/rest'],
    [404, '0.3', '/rest/v1'],
  ])('for which REST has no route (%i, %s) becomes a plain request', async (status, version, base) => {
    const { at, calls } = await start({
      card: { ...interfaces(['/rest', 'HTTP+JSON', version]), capabilities: { streaming: true } },
      rpcPath: `${base}/message:send`,
      elsewhere: { status },
      answer: hello10,
    });
    expect(textOf(await collect(client.stream(at(''), { text: 'x' })))).toBe('hello');
    expect(calls).toEqual([`${base}/message:stream undefined`, `${base}/message:send undefined`]);
  });

  it.each([
    ['input-required', 'Which town?'],
    ['completed', 'It rains.'],
    ['failed', 'no wind'],
  ])('of one task that is %s and says %j about it ends as a plain request does', async (state, text) => {
    const said = {
      ...task(state),
      artifacts: [],
      status: { state, message: message({ kind: 'text', text }) },
    };
    const document = await start({ card: streaming, answer: () => ({ result: said }) });
    const frame = await start({ card: streaming, answer: () => [JSON.stringify(said)] });
    const reply = await client.send(document.at(''), { text: 'x' });
    expect(reply).toMatchObject({ state, text, statusText: text });
    for (const { at } of [document, frame]) {
      const events = await collect(client.stream(at(''), { text: 'x' }));
      expect(events.at(-1)).toEqual({ type: 'task-end', reply });
    }
  });

  it('ends with the files of its last status alone', async () => {
    const file = (name: string) => ({ kind: 'file', file: { name, mimeType: 'text/plain', bytes: 'aGk=' } });
    const status = (state: string, name: string) => ({ state, message: message(file(name)) });
    const frames = [
      { ...task('working'), artifacts: [], status: status('working', 'draft.txt') },
      {
        kind: 'status-update',
        taskId: 't1',
        contextId: 'c1',
        status: status('completed', 'end.txt'),
        final: true,
      },
    ];
    const { at } = await start({ card: streaming, answer: () => frames.map((one) => JSON.stringify(one)) });
    const events = await collect(client.stream(at(''), { text: 'x' }));
    expect(events.at(-1)).toMatchObject({
      reply: { artifacts: [{ artifactId: 'status', parts: [{ name: 'end.txt' }] }] },
    });
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
