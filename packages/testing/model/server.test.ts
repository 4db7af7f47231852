import { afterEach, describe, expect, it } from 'vitest';
import { waitFor } from '../wait.ts';
import type { ScriptedReply } from './reply.ts';
import { type ModelServer, type ModelServerOptions, startModelServer } from './server.ts';

const servers: ModelServer[] = [];
afterEach(async () => {
  await Promise.all(servers.splice(0).map((server) => server.stop()));
});

async function serve(options: ModelServerOptions): Promise<ModelServer> {
  const server = await startModelServer(options);
  servers.push(server);
  return server;
}

function ask(server: ModelServer, body: object = {}, init: RequestInit = {}): Promise<Response> {
  return fetch(`${server.url}/chat/completions`, {
    method: 'POST',
    body: JSON.stringify({ model: 'test-model', messages: [{ role: 'user', content: 'Hi' }], ...body }),
    ...init,
  });
}

interface Chunk {
  choices: {
    delta: { role?: string; content?: string; tool_calls?: ToolDelta[] };
    finish_reason: string | null;
  }[];
  usage?: { prompt_tokens: number; completion_tokens: number } | null;
}
interface ToolDelta {
  index: number;
  id?: string;
  function: { name?: string; arguments: string };
}

function chunksOf(body: string): Chunk[] {
  const data = body.split('\n\n').filter((line) => line.startsWith('data: {'));
  return data.map((line) => JSON.parse(line.slice('data: '.length)) as Chunk);
}

describe('answers', () => {
  it('gives a whole completion with usage', async () => {
    const server = await serve({ script: [{ text: 'Hello there', usage: { input: 7, output: 3 } }] });
    expect(await (await ask(server)).json()).toMatchObject({
      object: 'chat.completion',
      choices: [{ message: { role: 'assistant', content: 'Hello there' }, finish_reason: 'stop' }],
      usage: { prompt_tokens: 7, completion_tokens: 3, total_tokens: 10 },
    });
  });

  it('streams role, fragments, finish, usage and the end mark', async () => {
    const server = await serve({ script: [{ text: 'Hello there 🌊🌊', usage: { input: 7, output: 3 } }] });
    const response = await ask(server, { stream: true, stream_options: { include_usage: true } });
    expect(response.headers.get('content-type')).toBe('text/event-stream');
    const body = await response.text();
    const chunks = chunksOf(body);
    expect(chunks[0]?.choices[0]?.delta).toEqual({ role: 'assistant', content: '' });
    const texts = chunks.map((chunk) => chunk.choices[0]?.delta.content ?? '');
    expect(texts.filter((text) => text !== '').length).toBeGreaterThan(1);
    expect(texts.join('')).toBe('Hello there 🌊🌊');
    expect(chunks.at(-2)?.choices[0]?.finish_reason).toBe('stop');
    expect(chunks.at(-1)).toMatchObject({ choices: [], usage: { prompt_tokens: 7, completion_tokens: 3 } });
    expect(body.endsWith('data: [DONE]\n\n')).toBe(true);
  });

  it('sends no usage chunk that was not asked for', async () => {
    const server = await serve({ script: ['Hello'] });
    const chunks = chunksOf(await (await ask(server, { stream: true })).text());
    expect(chunks.every((chunk) => chunk.usage === undefined && chunk.choices.length === 1)).toBe(true);
  });

  it('streams parallel tool calls in fragments', async () => {
    const toolCalls = [
      { name: 'add', arguments: { left: 1, right: 20_000 } },
      { id: 'mine', name: 'broken', arguments: '{"left": 1' },
    ];
    const server = await serve({ script: [{ text: 'Let me see', toolCalls }] });
    const chunks = chunksOf(await (await ask(server, { stream: true })).text());
    const deltas = chunks.flatMap((chunk) => chunk.choices[0]?.delta.tool_calls ?? []);
    const argumentsOf = (index: number) =>
      deltas.filter((delta) => delta.index === index).map((delta) => delta.function.arguments);
    expect(argumentsOf(0).length).toBeGreaterThan(2);
    expect(JSON.parse(argumentsOf(0).join(''))).toEqual({ left: 1, right: 20_000 });
    expect(argumentsOf(1).join('')).toBe('{"left": 1');
    expect(deltas.filter((delta) => delta.id)).toMatchObject([
      { id: 'call_1', function: { name: 'add' } },
      { id: 'mine', function: { name: 'broken' } },
    ]);
    expect(chunks.at(-1)?.choices[0]?.finish_reason).toBe('tool_calls');
  });

  it('asks a function of the request, after what was queued', async () => {
    const server = await serve({ script: (request, index) => `${index}: ${request.messages[0]?.content}` });
    server.enqueue('queued');
    const texts = [];
    for (let turn = 0; turn < 2; turn += 1) {
      const body = (await (await ask(server)).json()) as { choices: { message: { content: string } }[] };
      texts.push(body.choices[0]?.message.content);
    }
    expect(texts).toEqual(['queued', '1: Hi']);
  });

  it('waits for a function that takes its time', async () => {
    const server = await serve({ script: () => Promise.resolve('looked up') });
    expect(await (await ask(server)).json()).toMatchObject({
      choices: [{ message: { content: 'looked up' } }],
    });
  });

  it('forgets what was queued', async () => {
    const server = await serve({ script: () => 'by the script' });
    server.enqueue('queued');
    server.forget();
    expect(await (await ask(server)).json()).toMatchObject({
      choices: [{ message: { content: 'by the script' } }],
    });
  });

  it('records headers and bodies', async () => {
    const server = await serve({ script: ['Hello'] });
    await (await ask(server, { temperature: 0.5 }, { headers: { authorization: 'Bearer k' } })).text();
    expect(server.requests).toMatchObject([
      { method: 'POST', path: '/v1/chat/completions', headers: { authorization: 'Bearer k' } },
    ]);
    expect(server.chats()[0]).toMatchObject({ temperature: 0.5, model: 'test-model' });
  });
});

describe('faults', () => {
  it.each<[ScriptedReply, number, string | null]>([
    [{ fault: 'status', status: 429, retryAfter: '7' }, 429, '7'],
    [{ fault: 'status', status: 500 }, 500, null],
    [{ fault: 'status', status: 401 }, 401, null],
  ])('answers with a scripted status %#', async (reply, status, retryAfter) => {
    const server = await serve({ script: [reply] });
    const response = await ask(server);
    expect([response.status, response.headers.get('retry-after')]).toEqual([status, retryAfter]);
    expect(await response.json()).toHaveProperty('error.message');
  });

  it('says so when the script is used up', async () => {
    const response = await ask(await serve({ script: [] }));
    expect(response.status).toBe(400);
    expect(await response.text()).toContain('no reply for request 1');
  });

  it.each([true, false])('sends malformed JSON (stream: %s)', async (stream) => {
    const server = await serve({ script: [{ fault: 'malformed', text: 'Hello' }] });
    const body = await (await ask(server, { stream })).text();
    expect(() => (stream ? chunksOf(body) : JSON.parse(body))).toThrow(SyntaxError);
  });

  it.each([true, false])('cuts the socket after some bytes (stream: %s)', async (stream) => {
    const server = await serve({ script: [{ fault: 'cut', text: 'Hello' }] });
    const response = await ask(server, { stream });
    const received: string[] = [];
    const reading = async () => {
      for await (const bytes of response.body ?? [])
        received.push(Buffer.from(bytes as Uint8Array).toString());
    };
    await expect(reading()).rejects.toThrow();
    expect(received.join('')).toContain(stream ? '"content":"Hello"' : '"object":"chat.completion"');
  });

  it('ends a stream without its finish', async () => {
    const server = await serve({ script: [{ fault: 'unfinished', text: 'Hello' }] });
    const body = await (await ask(server, { stream: true })).text();
    expect(body).not.toContain('[DONE]');
    expect(chunksOf(body).every((chunk) => chunk.choices[0]?.finish_reason === null)).toBe(true);
  });

  it('puts an error into the stream', async () => {
    const server = await serve({ script: [{ fault: 'error-chunk', text: 'Hello', message: 'overloaded' }] });
    expect(await (await ask(server, { stream: true })).text()).toContain('"message":"overloaded"');
  });

  it('stalls until it is released', async () => {
    const server = await serve({ script: [{ fault: 'stall', answer: 'At last' }] });
    let answered = false;
    const response = ask(server).then((value) => {
      answered = true;
      return value;
    });
    await waitFor(() => server.requests.length === 1);
    expect(answered).toBe(false);
    server.release();
    expect(await (await response).text()).toContain('At last');
  });

  it('notes that a client gave up', async () => {
    const server = await serve({ script: [{ fault: 'stall', text: 'Hel' }] });
    const aborter = new AbortController();
    const response = await ask(server, { stream: true }, { signal: aborter.signal });
    expect(server.requests[0]?.abandoned).toBe(false);
    aborter.abort();
    await expect(response.text()).rejects.toThrow();
    await waitFor(() => server.requests[0]?.abandoned);
  });

  it('drips slowly', async () => {
    const server = await serve({ script: [{ text: 'Hello there', dripMs: 1 }] });
    const chunks = chunksOf(await (await ask(server, { stream: true })).text());
    expect(chunks.map((chunk) => chunk.choices[0]?.delta.content ?? '').join('')).toBe('Hello there');
  });
});

describe('beside chat', () => {
  it('lists models and refuses a wrong key', async () => {
    const server = await serve({ apiKey: 'right', models: ['a', 'b'] });
    const get = (key: string) =>
      fetch(`${server.url}/models`, { headers: { authorization: `Bearer ${key}` } });
    expect((await get('wrong')).status).toBe(401);
    expect(await (await get('right')).json()).toMatchObject({
      object: 'list',
      data: [{ id: 'a' }, { id: 'b' }],
    });
  });

  it('embeds the same text the same way, and likeness as nearness', async () => {
    const server = await serve({});
    const input = ['the cat sat', 'the cat ran', 'quarterly tax return', 'the cat sat'];
    const response = await fetch(`${server.url}/embeddings`, {
      method: 'POST',
      body: JSON.stringify({ model: 'embedder', input }),
    });
    const { data } = (await response.json()) as { data: { embedding: number[] }[] };
    const vectors = data.map((entry) => entry.embedding);
    const dot = (a: number[], b: number[]) =>
      a.reduce((sum, value, place) => sum + value * (b[place] ?? 0), 0);
    expect(vectors[0]).toEqual(vectors[3]);
    expect(dot(vectors[0]!, vectors[1]!)).toBeGreaterThan(dot(vectors[0]!, vectors[2]!));
  });

  it('knows no other route, and is gone after stop', async () => {
    const server = await serve({});
    expect((await fetch(`${server.url}/other`)).status).toBe(404);
    await server.stop();
    await expect(fetch(`${server.url}/models`)).rejects.toThrow();
  });
});
