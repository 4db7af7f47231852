import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { FakeClock, type FakePeer, startFakePeer } from '@trunkline/testing';
import { afterAll, describe, expect, it, onTestFinished } from 'vitest';
import { agentsOfThisFile, asksForName, echo, SteppedAgent } from '../fixtures/agents.ts';
import type { AgentScript, TestAgent } from '../fixtures/start-agent.ts';
import type { Message } from '../protocol/model.ts';
import { createA2aClient } from './client.ts';
import type { RemoteAgent, RemoteEvent } from './remote-agent.ts';

const startAgent = agentsOfThisFile();
const peers: FakePeer[] = [];

afterAll(async () => {
  for (const peer of peers) await peer.stop();
});

const narrator: AgentScript = async function* () {
  yield { type: 'progress', text: 'thinking' };
  yield { type: 'text-delta', text: 'Once ' };
  yield { type: 'text-delta', text: 'upon' };
  yield { type: 'artifact', name: 'table', parts: [{ type: 'data', data: { rows: 3 } }] };
  yield { type: 'completed', text: 'Once upon a time' };
};

function agentAt(server: TestAgent, more: Partial<RemoteAgent> = {}): RemoteAgent {
  return { name: 'Narrator', url: `${server.url}/a2a`, ...more };
}

async function collect(events: AsyncIterable<RemoteEvent>): Promise<RemoteEvent[]> {
  const collected: RemoteEvent[] = [];
  for await (const event of events) collected.push(event);
  return collected;
}

describe.each(['0.3', '1.0'] as const)('an agent whose card is of %s', (onlyVersion) => {
  const client = createA2aClient();
  const start = (script: AgentScript) => startAgent(script, { onlyVersion });

  it('is asked, answered and looked up', async () => {
    const agent = agentAt(await start(asksForName));
    const asking = await client.send(agent, { text: 'hello' });
    expect(asking).toMatchObject({ state: 'input-required', statusText: 'What is your name?' });
    const { taskId = '', contextId = '' } = asking;
    const done = await client.send(agent, { text: 'Ada', taskId, contextId });
    expect(done).toMatchObject({ taskId, state: 'completed', text: 'Hello Ada' });
    expect(await client.get(agent, taskId)).toMatchObject({ state: 'completed', text: 'Hello Ada' });
  });

  it('streams what it tells, the whole reply at the end', async () => {
    const agent = agentAt(await start(narrator));
    const events = await collect(client.stream(agent, { text: 'tell me' }));
    expect(events.map(({ type }) => type)).toEqual([
      'task-start',
      'status',
      'text-delta',
      'text-delta',
      'artifact',
      'text-delta',
      'status',
      'task-end',
    ]);
    const text = events.flatMap((event) => (event.type === 'text-delta' ? event.text : [])).join('');
    expect(text).toBe('Once upon a time');
    expect(events.at(-1)).toMatchObject({ reply: { state: 'completed', text: 'Once upon a time' } });
  });

  it('is told to stop', async () => {
    const stepped = new SteppedAgent();
    const server = await start(stepped.script);
    const agent = agentAt(server);
    const events = client.stream(agent, { text: 'work' })[Symbol.asyncIterator]();
    const first = await events.next();
    const { taskId } = first.value as Extract<RemoteEvent, { type: 'task-start' }>;
    expect(await client.cancel(agent, taskId)).toMatchObject({ state: 'canceled' });
    const rest = await collect({ [Symbol.asyncIterator]: () => events });
    expect(rest.at(-1)).toMatchObject({ type: 'task-end', reply: { state: 'canceled' } });
    expect(server.engine.running).toBe(0);
  });

  it('is followed again, and stopped by a signal', async () => {
    const stepped = new SteppedAgent();
    const server = await start(stepped.script);
    const agent = agentAt(server);
    const leaving = new AbortController();
    const first = client.stream(agent, { text: 'work' }, { signal: leaving.signal })[Symbol.asyncIterator]();
    const { taskId } = (await first.next()).value as Extract<RemoteEvent, { type: 'task-start' }>;
    leaving.abort(new Error('enough'));
    await expect(first.next()).rejects.toThrow('enough');
    expect(server.engine.running).toBe(1);
    const stopping = new AbortController();
    const options = { signal: stopping.signal, cancelOnAbort: true };
    const again = client.subscribe(agent, taskId, options)[Symbol.asyncIterator]();
    expect(await again.next()).toMatchObject({ value: { type: 'task-start', taskId } });
    stepped.step({ type: 'text-delta', text: 'so far' });
    expect(await again.next()).toMatchObject({ value: { type: 'text-delta', text: 'so far' } });
    stopping.abort(new Error('stop it'));
    await expect(again.next()).rejects.toThrow('stop it');
    expect(await client.get(agent, taskId)).toMatchObject({ state: 'canceled' });
    expect((await collect(client.subscribe(agent, taskId))).at(-1)).toMatchObject({
      type: 'task-end',
      reply: { taskId, state: 'canceled' },
    });
  });

  it('has webhooks set, shown, listed and removed', async () => {
    const server = await startAgent(asksForName, { onlyVersion, push: { allowedHosts: ['127.0.0.1'] } });
    const agent = agentAt(server);
    const { taskId = '' } = await client.send(agent, { text: 'hi' });
    const url = 'http://127.0.0.1:9/hook';
    const set = await client.setPush(agent, taskId, { id: 'mine', url, token: 'sesame' });
    expect(set).toEqual({ id: 'mine', taskId, url });
    expect(await client.getPush(agent, taskId, 'mine')).toEqual(set);
    await client.setPush(agent, taskId, { id: 'other', url });
    expect((await client.listPush(agent, taskId)).map(({ id }) => id).sort()).toEqual(['mine', 'other']);
    await client.deletePush(agent, taskId, 'other');
    expect(await client.listPush(agent, taskId)).toEqual([set]);
    const closed = client.setPush(agent, taskId, { url: 'http://10.0.0.1/' });
    await expect(closed).rejects.toThrow(/webhook url rejected/);
  });

  it('gets data and files beside the text', async () => {
    const seen: Message[] = [];
    const server = await start(async function* ({ message }) {
      seen.push(message);
      yield { type: 'completed', text: 'ok' };
    });
    await client.ask(agentAt(server), {
      text: 'look',
      parts: [
        { type: 'data', data: { a: 1 }, metadata: { from: 'test' } },
        { type: 'file', bytes: 'aGk=', name: 'hi.txt', mediaType: 'text/plain' },
      ],
      extensions: ['urn:x'],
      acceptedOutputModes: ['text/plain'],
    });
    expect(seen[0]).toMatchObject({
      parts: [
        { type: 'text', text: 'look' },
        { type: 'data', data: { a: 1 }, metadata: { from: 'test' } },
        { type: 'file', bytes: 'aGk=', name: 'hi.txt', mediaType: 'text/plain' },
      ],
      extensions: ['urn:x'],
    });
  });

  it('says in words what went wrong', async () => {
    const agent = agentAt(await start(echo));
    await expect(client.get(agent, 'nowhere')).rejects.toMatchObject({
      code: 'agent_error',
      message: expect.stringMatching(/^The agent Narrator answered with an error: .*nowhere/),
    });
  });

  it('works with each credential it asks for, and not without', async () => {
    const server = await startAgent(echo, { onlyVersion, credentials: { bearer: 'token', apiKey: 'key' } });
    const both = agentAt(server, { credentials: { bearer: 'token', apiKey: 'key' } });
    expect(await client.ask(both, { text: 'x' })).toBe('You said x');
    const none = agentAt(server);
    await expect(client.ask(none, { text: 'x' })).rejects.toMatchObject({ code: 'agent_unauthorized' });
    await expect(collect(client.stream(none, { text: 'x' }))).rejects.toMatchObject({
      code: 'agent_unauthorized',
    });
  });

  it('shows its card', async () => {
    const agent = agentAt(await start(echo));
    expect(await client.card(agent)).toEqual({
      name: 'Test agent',
      description: 'Answers as its script says.',
      streaming: true,
      pushNotifications: true,
      signature: 'none',
      skills: [{ id: 'chat', name: 'Chat', description: 'Talks.' }],
    });
  });
});

it('lists the tasks of an agent page by page', async () => {
  const agent = agentAt(await startAgent(asksForName));
  const client = createA2aClient();
  const contextId = crypto.randomUUID();
  const ids: (string | undefined)[] = [];
  for (const text of ['one', 'two', 'three'])
    ids.unshift((await client.send(agent, { text, contextId })).taskId);
  const first = await client.list(agent, { contextId, state: 'input-required', pageSize: 2 });
  const second = await client.list(agent, { contextId, pageSize: 2, pageToken: first.nextPageToken });
  expect([...first.tasks, ...second.tasks].map(({ taskId }) => taskId)).toEqual(ids);
  expect([first.totalSize, second.nextPageToken]).toEqual([3, '']);
  expect((await client.list(agent, { contextId, state: 'failed' })).tasks).toEqual([]);
});

describe('the card of an agent', () => {
  const card = () => ({
    name: 'Peer',
    protocolVersion: '0.3.0',
    url: 'http://example.com/',
    preferredTransport: 'JSONRPC',
  });

  it('is read once in ten minutes, and anew when asked for', async () => {
    const clock = new FakeClock('2026-03-01T12:00:00Z');
    const client = createA2aClient(clock);
    const peer = await startFakePeer({ card });
    peers.push(peer);
    const agent: RemoteAgent = { name: 'Peer', url: peer.url };
    const reads = () => peer.requests.filter(({ line }) => line.startsWith('GET ')).length;
    await client.ask(agent, { text: 'x' });
    await clock.advanceBy(9 * 60_000);
    await client.ask(agent, { text: 'x' });
    expect(reads()).toBe(1);
    await client.card(agent);
    expect(reads()).toBe(2);
    await clock.advanceBy(10 * 60_000);
    await client.ask(agent, { text: 'x' });
    expect(reads()).toBe(3);
  });

  it('is kept as long as its server says, and then asked for by its tag', async () => {
    const clock = new FakeClock('2026-03-01T12:00:00Z');
    const client = createA2aClient(clock);
    const seen: [string | undefined, number][] = [];
    let name = 'Peer';
    let seconds = 60;
    const server = createServer((request, response) => {
      if (request.method !== 'GET') return response.end('{}');
      const status = request.headers['if-none-match'] === `"${name}"` ? 304 : 200;
      seen.push([request.headers['if-none-match'], status]);
      const headers = { etag: `"${name}"`, 'cache-control': `public, max-age=${seconds}` };
      response.writeHead(status, { ...headers, 'content-type': 'application/json' });
      return response.end(status === 304 ? '' : JSON.stringify({ ...card(), name }));
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    onTestFinished(() => void server.close());
    const { port } = server.address() as AddressInfo;
    const looked = async (laterMs: number) => {
      await clock.advanceBy(laterMs);
      await expect(client.ask({ name, url: `http://127.0.0.1:${port}` }, { text: 'x' })).rejects.toThrow();
      return seen.splice(0);
    };
    expect(await looked(0)).toEqual([[undefined, 200]]);
    expect(await looked(59_000)).toEqual([]);
    expect(await looked(2_000)).toEqual([['"Peer"', 304]]);
    expect(await looked(59_000)).toEqual([]);
    name = 'Another';
    // The new card came with the answer, which says for how long it may be kept.
    seconds = 30;
    expect(await looked(2_000)).toEqual([['"Peer"', 200]]);
    expect(await looked(29_000)).toEqual([]);
    seconds = 120;
    expect(await looked(2_000)).toEqual([['"Another"', 304]]);
    expect(await looked(119_000)).toEqual([]);
  });

  it('may be missing: then the agent is taken to speak 0.3', async () => {
    const peer = await startFakePeer();
    peers.push(peer);
    const client = createA2aClient();
    expect(await client.ask({ name: 'Peer', url: peer.url }, { text: 'x' })).toBe('Hello from the peer');
    const events = await collect(client.stream({ name: 'Peer', url: peer.url }, { text: 'x' }));
    expect(events.at(-1)).toMatchObject({ type: 'task-end', reply: { text: 'Hello from the peer' } });
    expect(peer.requests.filter(({ line }) => line === 'POST /a2a').map(({ body }) => body.method)).toEqual([
      'message/send',
      'message/stream',
    ]);
  });

  it('that cannot be read is an error in words', async () => {
    const peer = await startFakePeer({
      card: () => ({ name: 'Peer', skills: 'many', supportedInterfaces: 3 }),
    });
    peers.push(peer);
    await expect(createA2aClient().ask({ name: 'Peer', url: peer.url }, { text: 'x' })).rejects.toMatchObject(
      {
        name: 'RemoteAgentError',
        message: expect.stringContaining('The agent Peer'),
      },
    );
  });
});

it('gives a stream new time with each of its events', async () => {
  const clock = new FakeClock('2026-03-01T12:00:00Z');
  const stepped = new SteppedAgent();
  const server = await startAgent(stepped.script);
  const stream = createA2aClient(clock).stream(agentAt(server), { text: 'x' }, { timeoutMs: 400 });
  const events = stream[Symbol.asyncIterator]();
  await events.next();
  for (let count = 0; count < 3; count += 1) {
    await clock.advanceBy(399);
    stepped.step({ type: 'text-delta', text: '.' });
    expect(await events.next()).toMatchObject({ value: { type: 'text-delta' } });
  }
  const ended = expect(events.next()).rejects.toMatchObject({ code: 'agent_timeout' });
  await clock.advanceBy(400);
  await ended;
});
