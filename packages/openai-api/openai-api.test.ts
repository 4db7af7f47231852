import { createLogger } from '@trunkline/config';
import { createApp, type RunningServer, serve } from '@trunkline/http';
import OpenAI, { type APIError } from 'openai';
import { afterEach, expect, it } from 'vitest';
import { type AnswerEvent, mountOpenAiApi, type OpenAiApi, openAiErrorBody } from './index.ts';

let server: RunningServer | undefined;
const log: string[] = [];
afterEach(async () => {
  await server?.stop();
  log.length = 0;
});

/** A service whose one model answers by the generator that the test brings. */
async function connect(
  answer: (signal: AbortSignal) => AsyncGenerator<AnswerEvent, void>,
  more: Partial<OpenAiApi> = {},
) {
  const logger = createLogger({ name: 'test', destination: { write: (line) => log.push(line) } });
  const app = createApp({
    service: 'test',
    logger,
    version: '1',
    description: 'test',
    renderError: (error) => ({ body: openAiErrorBody(error) }),
    health: () => ({ status: 200, body: {} }),
  });
  mountOpenAiApi(app, {
    ownedBy: 'test',
    models: () => ['toy'],
    findModel: (id) => (id === 'toy' ? ({ signal }) => answer(signal) : undefined),
    images: false,
    ...more,
  });
  server = await serve(app, { host: '127.0.0.1', port: 0, portVariable: 'PORT', logger });
  const client = new OpenAI({ baseURL: `${server.url}/v1`, apiKey: 'any', maxRetries: 0 });
  const messages = [{ role: 'user' as const, content: 'Hi' }];
  return {
    create: (more: object) => client.chat.completions.create({ model: 'toy', messages, ...more }),
    whole: () => client.chat.completions.create({ model: 'toy', messages }),
    stream: () =>
      client.chat.completions.create({
        model: 'toy',
        messages,
        stream: true,
        stream_options: { include_usage: true },
      }),
  };
}

const end: AnswerEvent = { type: 'end', finishReason: 'stop' };

it('begins a stream whose first word takes long, and tells a late failure in it', async () => {
  const { promise: word, resolve: speak } = Promise.withResolvers<void>();
  const { stream } = await connect(
    async function* () {
      await word;
      yield { type: 'text-delta', text: 'Late.' };
      throw new Error('secret cause');
    },
    { statusWaitMs: 1 },
  );
  // The answer has begun although the model has said nothing.
  const chunks = await stream();
  speak();
  let text = '';
  const read = async () => {
    for await (const chunk of chunks) text += chunk.choices[0]?.delta.content ?? '';
  };
  const error = await read().catch((thrown: APIError) => thrown);
  expect([text, (error as APIError).type]).toEqual(['Late.', 'server_error']);
  expect(JSON.stringify(error)).not.toContain('secret cause');
  await expect.poll(() => log.join('')).toContain('secret cause');
});

it('tells an unexpected failure before the first word as 500, without its cause', async () => {
  const { whole, stream } = await connect(async function* () {
    if (log.length >= 0) throw new Error('secret cause');
    yield end;
  });
  for (const ask of [whole, stream]) {
    const error = (await ask().catch((thrown: unknown) => thrown)) as APIError;
    expect([error.status, error.type]).toEqual([500, 'server_error']);
    expect(error.message).not.toContain('secret cause');
  }
});

it('tells an answer that ends without an end as 502', async () => {
  const { whole } = await connect(async function* () {
    yield { type: 'text-delta', text: 'Once' };
  });
  await expect(whole()).rejects.toMatchObject({ status: 502, type: 'upstream_error' });
});

it('shows reasoning apart, tool calls, the finish reason and usage in chunks as in the whole', async () => {
  const toolCalls = [
    { id: 'call_1', type: 'function' as const, function: { name: 'look', arguments: '{}' } },
  ];
  const { whole, stream } = await connect(async function* () {
    yield { type: 'reasoning-delta', text: 'Hm.' };
    yield { type: 'end', finishReason: 'tool_calls', toolCalls, usage: { inputTokens: 3, outputTokens: 4 } };
  });
  const usage = { prompt_tokens: 3, completion_tokens: 4, total_tokens: 7 };
  const answer = await whole();
  expect(answer.choices[0]).toMatchObject({
    finish_reason: 'tool_calls',
    message: { content: null, reasoning_content: 'Hm.', tool_calls: toolCalls },
  });
  expect(answer.usage).toEqual(usage);
  const chunks = [];
  for await (const chunk of await stream()) chunks.push(chunk);
  expect(chunks.map(({ choices }) => choices[0]?.delta)).toEqual([
    { role: 'assistant', content: '' },
    { reasoning_content: 'Hm.' },
    { tool_calls: [{ index: 0, ...toolCalls[0] }] },
    {},
    undefined,
  ]);
  expect(chunks.at(-2)?.choices[0]?.finish_reason).toBe('tool_calls');
  expect(chunks.at(-1)?.usage).toEqual(usage);
  expect(new Set(chunks.map(({ id }) => id)).size).toBe(1);
});

it('marks usage as estimated that no endpoint counted', async () => {
  const { whole, stream } = await connect(async function* () {
    yield {
      type: 'end',
      finishReason: 'stop',
      text: 'Four.',
      usage: { inputTokens: 3, outputTokens: 4, estimated: true },
    };
  });
  const usage = { prompt_tokens: 3, completion_tokens: 4, total_tokens: 7, estimated: true };
  expect((await whole()).usage).toEqual(usage);
  const chunks = [];
  for await (const chunk of await stream()) chunks.push(chunk);
  expect(chunks.at(-1)?.usage).toEqual(usage);
});

it('names parameters that the model refused in the header, and in the stream where that has begun', async () => {
  const told: AnswerEvent = { type: 'ignored-parameters', names: ['seed'] };
  const { promise: word, resolve: speak } = Promise.withResolvers<void>();
  const { whole, stream } = await connect(
    async function* () {
      yield told;
      yield { type: 'text-delta', text: 'Yes.' };
      await word;
      yield { type: 'ignored-parameters', names: ['stop'] };
      yield end;
    },
    { parameters: () => ['seed', 'stop'] },
  );
  const { data, response } = await stream().withResponse();
  expect(response.headers.get('x-ignored-parameters')).toBe('seed');
  speak();
  const late: unknown[] = [];
  for await (const chunk of data) if ('ignored_parameters' in chunk) late.push(chunk.ignored_parameters);
  expect(late).toEqual([['stop']]);
  const headers = (await whole().withResponse()).response.headers;
  expect(headers.get('x-ignored-parameters')).toBe('seed, stop');
});

it('ends the answer when a caller leaves in the middle', async () => {
  let isClosed = false;
  const { stream } = await connect(async function* (signal) {
    try {
      yield { type: 'text-delta', text: 'Wait' };
      await new Promise((resolve) => signal.addEventListener('abort', resolve));
    } finally {
      isClosed = true;
    }
  });
  for await (const chunk of await stream()) if (chunk.choices[0]?.delta.content) break;
  await expect.poll(() => isClosed).toBe(true);
});

it('refuses what OpenAI refuses, and names it', async () => {
  const { create } = await connect(async function* () {
    yield end;
  });
  const named = async (more: object) => {
    const error = (await create(more).catch((thrown: unknown) => thrown)) as APIError;
    return [error.status, error.type, error.param];
  };
  const tool = (name: string) => [{ type: 'function', function: { name } }];
  const refused = {
    'response_format.type': { response_format: { type: 'xml' } },
    'response_format.json_schema.schema': { response_format: { type: 'json_schema' } },
    'tools.0.function.name': { tools: tool('a b!') },
    temperature: { temperature: 9 },
    top_p: { top_p: 2 },
    n: { n: 2 },
    'messages.0.content': { messages: [{ role: 'user', content: null }] },
    'messages.0.role': { messages: [{ role: 'king', content: 'Hi' }] },
  };
  for (const [param, more] of Object.entries(refused))
    expect(await named(more)).toEqual([400, 'invalid_request_error', param]);
  const call = { id: 'c', type: 'function', function: { name: 'f', arguments: '{}' } };
  const taken = [
    { role: 'user', content: '' },
    { role: 'assistant', content: null, tool_calls: [call] },
    { role: 'tool', tool_call_id: 'c', content: 'done' },
    { role: 'user', content: 'Hi' },
  ];
  expect((await create({ messages: taken, tools: tool('a.b-c_1') })).choices).toHaveLength(1);
});

it('tells a body that is too large as 413, not as a connection that broke', async () => {
  const { create } = await connect(async function* () {
    yield end;
  });
  const content = 'x'.repeat(40_000_000);
  await expect(create({ messages: [{ role: 'user', content }] })).rejects.toMatchObject({
    status: 413,
    code: 'body_too_large',
  });
});
