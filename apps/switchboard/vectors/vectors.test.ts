import { createLogger } from '@trunkline/config';
import {
  type FakeQdrant,
  type JsonReply,
  JsonServer,
  type ModelServer,
  startFakeQdrant,
  startModelServer,
  waitFor,
} from '@trunkline/testing';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { agent } from '../fixtures/crew.ts';
import { type Observer, observe } from '../fixtures/observe.ts';
import { type Json, startSwitchboard, type TestSwitchboard } from '../fixtures/start-switchboard.ts';
import { EmbeddingQueue, QdrantStore, type QueueSettings } from './embedding-queue.ts';
import { passagesOf } from './plugin.ts';

const files = {
  'agents/ava.yaml': agent('ava', 'role: general\ntools: [get_incidents]\nskills: [{ name: chat }]'),
  'agents/mute.yaml': agent('mute', 'role: general\ntools: []\nskills: [{ name: talk }]'),
};

describe('what is said and written', () => {
  let model: ModelServer;
  let qdrant: FakeQdrant;
  let board: TestSwitchboard;
  let seen: Observer;
  beforeAll(async () => {
    model = await startModelServer({ script: () => 'Anchors are heavy.' });
    qdrant = await startFakeQdrant({ apiKey: 'vector-key' });
    board = await startSwitchboard({
      files,
      env: {
        LLM_GATEWAY_URL: model.url,
        LLM_API_KEY: 'k',
        LLM_MODEL: 'm',
        VECTOR_URL: qdrant.url,
        VECTOR_API_KEY: 'vector-key',
        VECTOR_SIZE: '64',
        EMBED_MODEL: 'embedder',
      },
    });
    seen = await observe(board);
  });
  afterAll(async () => {
    seen.close();
    await board.stop();
    await qdrant.stop();
    await model.stop();
  });
  const points = () => [...(qdrant.collections.get('trunkline_switchboard')?.points.values() ?? [])];
  const ask = async (content: string, correlationId: string, skillHint = 'chat') => {
    const payload = { skillHint, content };
    await board.call('/publish', { topic: 'agent.skill.request', payload, correlationId });
    return (await seen.first(`agent.skill.response.${correlationId}`)).payload;
  };

  it('gets a vector from the model of the gateway and goes into the store [S063] [S064] [S065] [S045]', async () => {
    await ask('How heavy is an anchor?', 'v1');
    await waitFor(() => points().length === 2);
    expect(points().map(({ payload }) => [payload.origin, payload.text])).toEqual([
      ['said to ava', 'How heavy is an anchor?'],
      ['said by ava', 'Anchors are heavy.'],
    ]);
    expect(qdrant.collections.get('trunkline_switchboard')?.size).toBe(64);
    const call = model.requests.find(({ path }) => path === '/v1/embeddings');
    expect(call?.body).toMatchObject({ model: 'embedder' });
    expect(call?.headers.authorization).toBe('Bearer k');
  });

  it('is found by agents with tools, by meaning', async () => {
    const text = `Harbour rules.\n\n${'Ropes are checked on Mondays. '.repeat(60)}\n\nThe crane lifts nine tons.`;
    const taken = await board.call('/api/vectors/documents', { id: 'rules', title: 'Harbour', text });
    expect(taken).toMatchObject({ status: 202, body: { data: { passages: 3 } } });
    await board.call('/publish', {
      topic: 'knowledge.document',
      payload: { id: 'menu', text: 'Soup is served at noon.' },
    });
    await waitFor(async () => (await board.call('/api/vectors')).body.data.stored >= 6);
    model.enqueue(
      { toolCalls: [{ name: 'search_knowledge', arguments: { query: 'soup at noon', limit: 1 } }] },
      'ok',
    );
    await ask('when is soup?', 'v2');
    const answer = model
      .chats()
      .at(-1)
      ?.messages.findLast(({ role }) => role === 'tool')?.content;
    expect(answer).toMatch(/^\[document menu, .*\] Soup is served at noon\.$/m);
    const { body } = await board.call('/api/vectors/search?q=crane%20lifts%20tons&limit=4');
    const found = body.data.find(({ text: passage }: Json) => passage.includes('nine tons'));
    expect(found).toMatchObject({ origin: 'document Harbour', score: expect.any(Number) });
    const shorter = { id: 'rules', title: 'Harbour', text: 'Harbour rules, all new.' };
    await board.call('/api/vectors/documents', shorter);
    const ofRules = () => points().filter(({ payload }) => payload.source === 'document rules');
    await waitFor(() => ofRules().length === 1);
    expect(ofRules()[0]?.payload.text).toBe('Harbour rules, all new.');
    await ask('hello', 'v3', 'talk');
    expect(
      model
        .chats()
        .at(-1)
        ?.tools?.map((tool) => tool.function.name),
    ).toEqual(['ask_human']);
  });

  it('holds up no message when the store fails, and is stored when it is back', async () => {
    qdrant.failing = 500;
    expect((await ask('Is anyone there?', 'v4')).taskState).toBe('completed');
    await waitFor(async () => (await board.call('/api/vectors')).body.data.error?.includes('500'));
    expect((await board.call('/api/vectors/search?q=x')).status).toBe(502);
    qdrant.failing = undefined;
    await waitFor(() => points().some(({ payload }) => payload.text === 'Is anyone there?'));
    expect((await board.call('/api/vectors')).body.data).toMatchObject({ lost: 0 });
  });
});

it('stays off without VECTOR_URL, and says how to switch it on [S063]', async () => {
  const board = await startSwitchboard({ files });
  const { body } = await board.call('/api/plugins');
  expect(body.data.find(({ name }: Json) => name === 'vectors')).toEqual({
    name: 'vectors',
    description: expect.stringContaining('search_knowledge'),
    state: 'off',
    words: expect.stringContaining('VECTOR_URL'),
  });
  expect((await board.call('/api/vectors')).status).toBe(404);
  await board.stop();
});

describe('the queue', () => {
  const logger = createLogger({ name: 'test', destination: { write: () => true } });
  const passage = (id: string) => ({
    source: id,
    part: 0,
    text: id,
    origin: 'test',
    at: 0,
    owner: 'anonymous',
  });
  const queueOf = (more: Partial<QueueSettings>) =>
    new EmbeddingQueue({
      embed: async (texts) => texts.map(() => [1, 0]),
      store: { put: async () => undefined, trim: async () => undefined },
      size: 2,
      pauseMs: 1,
      logger,
      ...more,
    });

  it('gives up after four attempts, and goes on with the next', async () => {
    let calls = 0;
    const queue = queueOf({
      embed: async (texts) => {
        calls++;
        if (texts.includes('bad')) throw new Error('no wind');
        return texts.map(() => [1, 0]);
      },
    });
    queue.add([passage('bad')]);
    await waitFor(() => queue.status().lost === 1);
    expect([calls, queue.status().error]).toEqual([4, 'no wind']);
    queue.add([passage('good')]);
    await waitFor(() => queue.status().stored === 1);
    expect(queue.status().error).toBeNull();
    await queue.close();
  });

  it('names the setting when the vectors have another size', async () => {
    const queue = queueOf({ size: 768 });
    queue.add([passage('a')]);
    await waitFor(() => queue.status().error?.includes('VECTOR_SIZE'));
    await queue.close();
  });

  it('drops the oldest when too many wait', async () => {
    const gate = Promise.withResolvers<number[][]>();
    const queue = queueOf({ embed: () => gate.promise });
    queue.add(Array.from({ length: 2100 }, (_, index) => passage(String(index))));
    await waitFor(() => queue.status().lost > 0);
    expect(queue.status().waiting).toBeLessThanOrEqual(2000);
    gate.reject(new Error('over'));
    await queue.close();
  });
});

describe('the store', () => {
  const { signal } = new AbortController();
  const start = async (answer: () => JsonReply) => {
    const server = new JsonServer();
    server.on('GET /collections/c', answer);
    await server.listen();
    onTestFinished(() => server.stop());
    const settings = { url: server.url, apiKey: 'vector-key', collection: 'c', size: 2 };
    return { server, store: new QdrantStore(settings) };
  };

  it('is the only one that gets the key', async () => {
    const elsewhere = await start(() => ({ body: {} }));
    const headers = { location: `${elsewhere.server.url}/collections/c` };
    const { store } = await start(() => ({ status: 307, headers }));
    await expect(store.trim('a', 0, signal)).rejects.toThrow(/the vector store answered 307.*VECTOR_URL/);
    expect(elsewhere.server.requests).toEqual([]);
  });

  it('is read up to a limit', async () => {
    const { store } = await start(() => ({ body: { rest: 'x'.repeat(40 * 2 ** 20) } }));
    await expect(store.trim('a', 0, signal)).rejects.toThrow('the answer is larger than');
  });
});

it.each([
  ['', 0],
  ['one\n\ntwo', 1],
  ['x'.repeat(4000), 3],
  [`${'word '.repeat(400)}\n\nend`, 2],
])('cuts %s into pieces that hold everything', (text, count) => {
  const pieces = passagesOf(text);
  expect(pieces).toHaveLength(count);
  expect(pieces.every((piece) => piece.length <= 1500)).toBe(true);
  expect(pieces.join('').replace(/\s/g, '')).toBe(text.replace(/\s/g, ''));
});
