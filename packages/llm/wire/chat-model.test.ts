import { once } from 'node:events';
import { createServer, globalAgent, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text as readText } from 'node:stream/consumers';
import type { LanguageModelV4CallOptions, LanguageModelV4StreamPart } from '@ai-sdk/provider';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { parseEndpoint } from '../endpoint.ts';
import { collect, fakeTiming } from '../gateway.suite.ts';
import { createModelGateway } from '../gateway.ts';
import { startLimits } from '../limits.ts';
import { noteEndpointKind } from '../profiles/endpoint-kind.ts';
import { profileOf } from '../profiles/profile.ts';
import { listenForWaits } from '../retry.ts';
import { createChatModel } from './chat-model.ts';
import { withCallSettings } from './request.ts';

interface Reply {
  status?: number;
  type?: string;
  /** Pieces are written one after the other. */
  body: string | readonly (string | Uint8Array)[];
  headers?: Record<string, string>;
  /** Leaves the connection open after the last piece. */
  held?: boolean;
  /** Is waited for after each piece. */
  gate?: Promise<void>;
}

let server: Server;
let url: string;
let modelNumber = 0;
let replies: (Reply | ((body: Record<string, unknown>) => Reply))[] = [];
const requests: Record<string, unknown>[] = [];

beforeAll(async () => {
  server = createServer((request, response) => {
    respond(request, response).catch((error: Error) => response.destroy(error));
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`;
});

async function respond(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const body = JSON.parse(await readText(request)) as Record<string, unknown>;
  requests.push(body);
  const next = replies.length > 1 ? replies.shift() : replies[0];
  const reply = typeof next === 'function' ? next(body) : (next ?? { body: '' });
  const type = reply.type ?? 'text/event-stream';
  response.writeHead(reply.status ?? 200, { 'content-type': type, ...reply.headers });
  for (const piece of typeof reply.body === 'string' ? [reply.body] : reply.body) {
    await new Promise<void>((resolve) => response.write(piece, () => resolve()));
    await reply.gate;
  }
  if (!reply.held) response.end();
}

afterAll(() => {
  server.closeAllConnections();
  server.close();
});
beforeEach(() => {
  requests.length = 0;
});

/** Each test has a model of its own name: what is learned of a model is remembered. */
function modelFor(...given: typeof replies) {
  replies = given;
  modelNumber += 1;
  return createModelGateway({ url, model: `model-${modelNumber}`, maxRetries: 0 }).languageModel();
}

const prompt: LanguageModelV4CallOptions['prompt'] = [
  { role: 'user', content: [{ type: 'text', text: 'Hi' }] },
];
const inputSchema = { type: 'object' as const, properties: {} };
const tools = [{ type: 'function' as const, name: 'look', inputSchema }];

async function turn(reply: Reply, options: Partial<LanguageModelV4CallOptions> = {}) {
  const { stream } = await modelFor(reply).doStream({ prompt, ...options });
  return summary(await collect(stream));
}

function summary(parts: LanguageModelV4StreamPart[]) {
  const joined = (type: 'text-delta' | 'reasoning-delta') =>
    parts.map((part) => (part.type === type ? part.delta : '')).join('');
  const finish = parts.find((part) => part.type === 'finish');
  return {
    text: joined('text-delta'),
    reasoning: joined('reasoning-delta'),
    calls: parts.flatMap((part) => (part.type === 'tool-call' ? [[part.toolName, part.input]] : [])),
    ids: parts.flatMap((part) => (part.type === 'tool-call' ? [part.toolCallId] : [])),
    finish: finish?.finishReason.unified,
    tokens: [finish?.usage.inputTokens.total, finish?.usage.outputTokens.total],
    cached: finish?.usage.inputTokens.cacheRead,
    errors: parts.flatMap((part) => (part.type === 'error' ? [(part.error as Error).message] : [])),
  };
}

const chunk = (delta: object, finish: string | null = null, more: object = {}) => ({
  id: 'c1',
  object: 'chat.completion.chunk',
  created: 1_700_000_000,
  model: 'm',
  choices: [{ index: 0, delta, finish_reason: finish }],
  ...more,
});
const event = (value: unknown, end = '\n\n') => `data: ${JSON.stringify(value)}${end}`;
const events = (...values: unknown[]) => values.map((value) => event(value)).join('');
const done = 'data: [DONE]\n\n';
const hello = [chunk({ role: 'assistant', content: 'Hel' }), chunk({ content: 'lo' })];
const stop = chunk({}, 'stop');
const whole = {
  id: 'c1',
  object: 'chat.completion',
  model: 'm',
  choices: [{ index: 0, message: { role: 'assistant', content: 'Hello' }, finish_reason: 'stop' }],
  usage: { prompt_tokens: 7, completion_tokens: 2, prompt_tokens_details: { cached_tokens: 4 } },
};
const json = 'application/json';

const frames: [string, Reply][] = [
  ['events', { body: events(...hello, stop) + done }],
  ['no end mark', { body: events(...hello, stop) }],
  ['an end mark without a finish reason', { body: events(...hello) + done }],
  ['CR LF', { body: (events(...hello, stop) + done).replaceAll('\n', '\r\n') }],
  ['CR', { body: (events(...hello, stop) + done).replaceAll('\n', '\r') }],
  ['no space after data:', { body: (events(...hello, stop) + done).replaceAll('data: ', 'data:') }],
  ['no blank lines between events', { body: events(...hello, stop).replaceAll('\n\n', '\n') }],
  [
    'comments and other fields',
    {
      body: `: OPENROUTER PROCESSING\n\nevent: x\nid: 1\nretry: 5\n${events(...hello, stop)}: ping\n\n${done}`,
    },
  ],
  ['a byte order mark', { body: `\uFEFF${events(...hello, stop)}${done}` }],
  [
    'data over several lines',
    {
      body: [...hello, stop]
        .map((value) => `${JSON.stringify(value, null, 1).replaceAll(/^/gm, 'data: ')}\n\n`)
        .join(''),
    },
  ],
  [
    'lines of JSON',
    {
      type: 'application/x-ndjson',
      body: [...hello, stop].map((value) => `${JSON.stringify(value)}\n`).join(''),
    },
  ],
  ['a whole document', { type: json, body: JSON.stringify(whole) }],
  ['a whole document over many lines', { type: json, body: `\n${JSON.stringify(whole, null, 2)}\n` }],
  ['a whole document as the only event', { body: event(whole) + done }],
  ['the role "model"', { body: events(chunk({ role: 'model', content: 'Hello' }), stop) + done }],
  [
    'content in parts',
    {
      body: events(
        chunk({
          content: [
            { type: 'text', text: 'Hel' },
            { type: 'text', text: 'lo' },
          ],
        }),
        stop,
      ),
    },
  ],
  [
    'null content and empty choices',
    { body: events({ choices: [] }, chunk({ content: null }), ...hello, stop, { choices: [], usage: null }) },
  ],
  [
    'the whole message once more at the end',
    { body: events(...hello, { ...whole, choices: [{ ...whole.choices[0], index: 0 }] }) },
  ],
  [
    'an error field that is null',
    { body: events(...[...hello, stop].map((value) => ({ ...value, error: null }))) },
  ],
  ['an end mark on a connection that stays open', { body: events(...hello, stop) + done, held: true }],
  ['empty events', { body: `data:\n\ndata: \n\n${events(...hello, stop)}data: null\n\n${done}` }],
];

describe('a frame of an answer', () => {
  it.each(frames)('%s, streamed', async (_name, reply) => {
    expect(await turn(reply)).toMatchObject({ text: 'Hello', finish: 'stop', errors: [] });
  });

  it.each(frames)('%s, not streamed', async (_name, reply) => {
    const { content, finishReason } = await modelFor(reply).doGenerate({ prompt });
    expect(content).toEqual([{ type: 'text', text: 'Hello' }]);
    expect(finishReason.unified).toBe('stop');
  });

  it('leaves its connection to the next call, though its turn ends before the server ends the answer', async () => {
    const model = modelFor({ body: events(...hello, stop) + done, held: true });
    const caller = new AbortController();
    await collect((await model.doStream({ prompt, abortSignal: caller.signal })).stream);
    const name = globalAgent.getName({ host: '127.0.0.1', port: (server.address() as AddressInfo).port });
    const socket = globalAgent.sockets[name]?.at(-1);
    caller.abort();
    expect(socket?.destroyed).toBe(false);
  });

  it('is read alike wherever it is cut, also inside a character', async () => {
    const body = `: hi\r\n\r\n${events(chunk({ reasoning: 'Hm…' }), chunk({ content: 'Grüße 👋🏽' }), stop).replaceAll('\n', '\r\n')}${done}`;
    const bytes = Buffer.from(body);
    for (const size of [1, 3, 7, 64]) {
      const pieces = Array.from({ length: Math.ceil(bytes.length / size) }, (_, index) =>
        bytes.subarray(index * size, (index + 1) * size),
      );
      expect(await turn({ body: pieces })).toMatchObject({
        text: 'Grüße 👋🏽',
        reasoning: 'Hm…',
        finish: 'stop',
      });
    }
  });

  it('keeps the text around invalid bytes', async () => {
    const [start = '', end = ''] = event(chunk({ content: 'a#b' })).split('#');
    const { text } = await turn({ body: [start, new Uint8Array([0xff, 0xc3]), end, event(stop)] });
    expect(text).toMatch(/^a\uFFFD+b$/);
  });
});

describe('what an answer says', () => {
  const call = (index: object, called: object) => chunk({ tool_calls: [{ ...index, function: called }] });
  const two = [
    ['look', '{"a":1}'],
    ['look', '{"a":2}'],
  ];

  it.each<[string, object[], string[][]]>([
    [
      'in pieces',
      [
        call({ index: 0, id: 'x', type: 'function' }, { name: 'look', arguments: '' }),
        call({ index: 0 }, { arguments: '{"a"' }),
        call({ index: 0 }, { arguments: ':1}' }),
      ],
      two.slice(0, 1),
    ],
    [
      'with an object for arguments',
      [call({ index: 0, id: 'x' }, { name: 'look', arguments: { a: 1 } })],
      two.slice(0, 1),
    ],
    [
      'without index and id',
      [call({}, { name: 'look', arguments: '{"a":1}' }), call({}, { name: 'look', arguments: '{"a":2}' })],
      two,
    ],
    [
      'without index, in pieces',
      [
        call({ id: 'x' }, { name: 'look', arguments: '{"a"' }),
        call({}, { arguments: ':1}' }),
        call({ id: 'y' }, { name: 'look', arguments: '{"a":2}' }),
      ],
      two,
    ],
    [
      'all of index 0',
      [
        call({ index: 0, id: 'x' }, { name: 'look', arguments: '{"a":1}' }),
        call({ index: 0, id: 'y' }, { name: 'look', arguments: '{"a":2}' }),
      ],
      two,
    ],
    [
      'with the name and id in each piece',
      [
        call({ index: 0, id: 'x' }, { name: 'look', arguments: '{"a"' }),
        call({ index: 0, id: 'x' }, { name: 'look', arguments: ':1}' }),
        call({ index: 0, id: 'x' }, { name: 'look', arguments: '' }),
      ],
      two.slice(0, 1),
    ],
    [
      'with a new id in each piece',
      [
        call({ index: 0, id: 'x' }, { name: 'look', arguments: '{"a"' }),
        call({ index: 0, id: 'y' }, { name: null, arguments: ':1}' }),
      ],
      two.slice(0, 1),
    ],
    [
      'with the name after the arguments',
      [
        call({ index: 0, id: 'x' }, { arguments: '{"a"' }),
        call({ index: 0 }, { name: 'look', arguments: ':1}' }),
      ],
      two.slice(0, 1),
    ],
    [
      'with the same id twice',
      [
        call({ index: 0, id: 'x' }, { name: 'look', arguments: '{"a":1}' }),
        call({ index: 1, id: 'x' }, { name: 'look', arguments: '{"a":2}' }),
      ],
      two,
    ],
    ['without arguments', [call({ index: 0, id: 'x' }, { name: 'look' })], [['look', '{}']]],
    [
      'as the older function_call',
      [
        chunk({ function_call: { name: 'look', arguments: '{"a"' } }),
        chunk({ function_call: { arguments: ':1}' } }),
      ],
      two.slice(0, 1),
    ],
  ])('calls %s', async (_name, chunks, calls) => {
    const told = await turn({ body: events(...chunks, chunk({}, 'stop')) + done }, { tools });
    expect(told).toMatchObject({ calls, finish: 'tool-calls', errors: [] });
    expect(new Set(told.ids).size).toBe(calls.length);
  });

  it.each([
    ['stop', 'stop'],
    ['eos', 'stop'],
    ['stop_sequence', 'stop'],
    ['end_turn', 'stop'],
    ['length', 'length'],
    ['max_tokens', 'length'],
    ['content_filter', 'content-filter'],
    ['SAFETY', 'content-filter'],
    ['function_call', 'stop'],
    ['malformed_function_call', 'other'],
  ])('ends with %s as %s', async (raw, unified) => {
    expect((await turn({ body: events(...hello, chunk({}, raw)) })).finish).toBe(unified);
  });

  it.each<[string, object]>([
    ['reasoning_content', { reasoning_content: 'Hm' }],
    ['reasoning', { reasoning: 'Hm' }],
    ['thinking parts', { content: [{ type: 'thinking', thinking: [{ type: 'text', text: 'Hm' }] }] }],
    ['details', { reasoning_details: [{ type: 'reasoning.text', text: 'Hm' }] }],
  ])('thinks in %s', async (_name, delta) => {
    expect(await turn({ body: events(chunk(delta), ...hello, stop) })).toMatchObject({
      text: 'Hello',
      reasoning: 'Hm',
    });
  });

  it('refuses in a field of its own', async () => {
    const told = await turn({ body: events(chunk({ refusal: 'No, ' }), chunk({ refusal: 'sorry.' }), stop) });
    expect(told).toMatchObject({ text: 'No, sorry.', finish: 'stop' });
  });

  it.each<[string, object[]]>([
    ['in a last chunk of its own', [stop, { choices: [], usage: whole.usage }]],
    [
      'in every chunk',
      [
        chunk({}, null, { usage: { prompt_tokens: 7, completion_tokens: 1 } }),
        { ...stop, usage: whole.usage },
      ],
    ],
    [
      'beside the choice',
      [{ choices: [{ index: 0, delta: {}, finish_reason: 'stop', usage: whole.usage }] }],
    ],
    ['in a field of Groq', [{ ...stop, x_groq: { usage: whole.usage } }]],
  ])('counts its tokens %s', async (_name, last) => {
    expect(await turn({ body: events(...hello, ...last) })).toMatchObject({ tokens: [7, 2], cached: 4 });
  });
});

describe('a failure', () => {
  it.each<[string, Reply, RegExp]>([
    [
      'an error object',
      { body: events({ error: { message: 'GPU fell off', type: 'x', code: 500 } }) },
      /GPU fell off/,
    ],
    ['an error as text', { body: events({ error: 'GPU fell off' }) }, /GPU fell off/],
    ['an error event', { body: 'event: error\ndata: GPU fell off\n\n' }, /GPU fell off/],
    ['an error field', { body: 'error: {"message":"GPU fell off"}\n\n' }, /GPU fell off/],
    [
      'an error of a choice',
      {
        body: events({
          choices: [{ index: 0, delta: {}, finish_reason: 'error', error: { message: 'GPU fell off' } }],
        }),
      },
      /GPU fell off/,
    ],
    [
      'a flat error',
      { body: events({ object: 'error', message: 'GPU fell off', code: 500 }) },
      /GPU fell off/,
    ],
    [
      'a JSON error with status 200',
      { type: json, body: '{"error":{"message":"GPU fell off"}}' },
      /GPU fell off/,
    ],
    ['plain words with status 200', { type: 'text/plain', body: 'GPU fell off' }, /GPU fell off/],
    ['a web page', { type: 'text/html', body: '<!doctype html><title>Welcome</title>' }, /web page/],
    ['nothing at all', { body: '' }, /nothing came/],
    ['a stream that stops before its end', { body: 'data: {"choi' }, /nothing came/],
  ])('%s before the first token fails the call', async (_name, reply, words) => {
    await expect(turn(reply)).rejects.toThrow(words);
    await expect(modelFor(reply).doGenerate({ prompt })).rejects.toThrow(
      words.source === 'nothing came' ? /./ : words,
    );
  });

  const megabyte = 'x '.repeat(512 * 1024);
  const called = (index: number, input = '{}') => ({
    index,
    id: `id-${index}`,
    function: { name: 'look', arguments: input },
  });
  const flood = (delta: object, count: number): Reply => ({
    body: [...Array(count).fill(event(chunk(delta))), event(stop), done],
  });

  it.each<[string, Reply, RegExp]>([
    ['text', flood({ content: megabyte }, 9), /more than 8 MB of text/],
    ['reasoning', flood({ reasoning: megabyte }, 5), /more than 4 MB of reasoning/],
    [
      'signed thoughts',
      flood({ reasoning_details: [{ type: 'reasoning.encrypted', data: megabyte }] }, 5),
      /more than 4 MB of signed thoughts/,
    ],
    ['arguments', flood({ tool_calls: [called(0, megabyte)] }, 3), /more than 2 MB of arguments/],
    [
      'calls',
      flood({ tool_calls: Array.from({ length: 10_000 }, (_, index) => called(index)) }, 1),
      /more than 128 tool calls/,
    ],
  ])('of too much: %s', async (_name, reply, words) => {
    await expect(modelFor(reply).doGenerate({ prompt, tools })).rejects.toMatchObject({
      code: 'answer-too-long',
      message: expect.stringMatching(words),
    });
    const { stream } = await modelFor({
      ...reply,
      body: [event(chunk({ content: 'Hi' })), ...reply.body],
    }).doStream({ prompt, tools });
    const told = summary(await collect(stream));
    expect(told).toMatchObject({ finish: 'error', errors: [expect.stringMatching(words)] });
    expect(told.calls.length).toBeLessThanOrEqual(128);
  });

  it('after text keeps the text', async () => {
    const told = await turn({
      body: events(...hello, { error: { message: 'GPU fell off' } }, chunk({ content: 'x' })),
    });
    expect(told).toMatchObject({
      text: 'Hello',
      finish: 'error',
      errors: [expect.stringContaining('GPU fell off')],
    });
  });

  it.each<[string, string]>([
    ['{"object":"error","message":"GPU fell off","type":"BadRequestError","code":400}', json],
    ['{"detail":"GPU fell off"}', json],
    ['{"detail":[{"loc":["body","x"],"msg":"GPU fell off","type":"value_error"}]}', json],
    ['[{"error":{"code":400,"message":"GPU fell off","status":"INVALID_ARGUMENT"}}]', json],
    ['GPU fell off', 'text/plain'],
    ['{"error":"GPU fell off"}', json],
    ['{"type":"error","error":{"type":"invalid_request_error","message":"GPU fell off"}}', json],
    ['{"message":"GPU fell off"}', json],
    ['{"Message":"GPU fell off"}', json],
    ['{"object":"error","message":{"detail":[{"msg":"GPU fell off","loc":["body"]}]}}', json],
    [
      '{"error":{"message":"Provider returned error","code":400,"metadata":{"raw":"{\\"error\\":{\\"message\\":\\"GPU fell off\\"}}"}}}',
      json,
    ],
    ['<html><title>GPU fell off</title></html>', 'text/html'],
  ])('with the body %s says what the endpoint said', async (body, type) => {
    await expect(turn({ status: 400, type, body })).rejects.toThrow(/GPU fell off/);
  });
});

describe('a stream', () => {
  it.each<[string, string[], number]>([
    ['an event without data', ['event: ping\n\n'], 0],
    ['null', ['data: null\n\n'], 0],
    ['null in pieces', ['data: nu', 'll\n\n'], 0],
    ['an empty piece', [event(chunk({ content: '' }))], 0],
    ['a comment', [': here\n\n'], 0],
    ['text', [event(chunk({ content: 'x' }))], 1],
    [
      'a call without its name',
      [event(chunk({ tool_calls: [{ index: 0, function: { arguments: 'x' } }] }))],
      1,
    ],
  ])('that sends %s again and again extends its idle limit as it should', async (_name, pieces, least) => {
    const gate = Promise.withResolvers<void>();
    replies = [{ body: [event(hello[0]), ...Array(8).fill(pieces).flat()], gate: gate.promise }];
    const { timing } = fakeTiming();
    let started = 0;
    const setTimer: typeof timing.setTimer = (...timer) => {
      started += 1;
      return timing.setTimer(...timer);
    };
    const running = startLimits(undefined, { timing: { ...timing, setTimer }, translation: {} });
    running.await({ what: 'nothing', milliseconds: 60_000, setting: 'A_SETTING', extendedBy: 'data' });
    const model = createChatModel({
      endpoint: parseEndpoint(url, undefined),
      model: 'm',
      translation: {},
      profile: () => ({ tools: 'native', omitParameters: [] }),
      cutWindow: () => undefined,
      learn: () => undefined,
    });
    const { stream } = await running.run(() => model.doStream({ prompt }));
    for await (const part of stream) if (part.type === 'text-delta') gate.resolve();
    // The wait itself and the first words start it; how the rest is cut into pieces is up to the network.
    const extended = started - 2;
    expect(Math.min(extended, 1)).toBe(least);
  });
});

describe('a prompt that the endpoint cut without a word', () => {
  const long: typeof prompt = [{ role: 'user', content: [{ type: 'text', text: 'word '.repeat(12_000) }] }];
  const counted = (prompt_tokens: number): Reply => ({
    type: json,
    body: JSON.stringify({ ...whole, usage: { prompt_tokens, completion_tokens: 2 } }),
  });

  it('fails a whole answer as too long, with the window', async () => {
    await expect(modelFor(counted(4096)).doGenerate({ prompt: long })).rejects.toMatchObject({
      code: 'context-too-long',
      contextTokens: 4096,
    });
  });

  it('is told once beside a stream, whose words are out, and remembered', async () => {
    const model = modelFor(counted(4096));
    const notes: string[] = [];
    const listen = () =>
      listenForWaits(
        (wait) => notes.push(wait.message),
        async () => summary(await collect((await model.doStream({ prompt: long })).stream)),
      );
    expect(await listen()).toMatchObject({ text: 'Hello', finish: 'stop' });
    await listen();
    expect(notes).toEqual([expect.stringMatching(/4096 tokens.*num_ctx/)]);
    expect(profileOf(model).contextTokens).toBe(4096);
  });

  it.each([4095, 12_001, 512])('is not seen where %i tokens may be right', async (tokens) => {
    expect((await modelFor(counted(tokens)).doGenerate({ prompt: long })).content).toHaveLength(1);
  });

  it.each([250_000, 200_000])('is not seen by the size in the table: %i tokens', async (tokens) => {
    replies = [counted(tokens)];
    const place = `${url}/litellm`;
    noteEndpointKind(place, new Headers({ 'x-litellm-version': '1' }), undefined);
    const model = createModelGateway({ url: place, model: 'claude-sonnet-4-5' }).languageModel();
    expect(profileOf(model).contextTokens).toBe(200_000);
    expect((await model.doGenerate({ prompt })).content).toHaveLength(1);
    expect(profileOf(model).contextTokens).toBe(200_000);
  });

  it.each([
    ['library', 6000, true],
    ['library', 5998, false],
    ['library', 7000, false],
    ['vllm', 6000, false],
  ])('with a window of 6000 at %s, %i tokens: %s', async (owned_by, tokens, isCut) => {
    replies = [counted(tokens)];
    const place = `${url}/${owned_by}`;
    noteEndpointKind(place, new Headers(), { data: [{ owned_by }] });
    const options = { url: place, model: `filled-${tokens}`, profiles: () => ({ contextTokens: 6000 }) };
    const asked = createModelGateway(options).languageModel().doGenerate({ prompt });
    if (isCut) await expect(asked).rejects.toMatchObject({ code: 'context-too-long', contextTokens: 6000 });
    else expect((await asked).content).toHaveLength(1);
  });
});

describe('a refusal', () => {
  const refuse = (message: string, more: object = {}, status = 400): Reply => ({
    status,
    type: json,
    body: JSON.stringify({ error: { message, ...more } }),
  });
  const answer: Reply = { body: events(...hello, stop) + done };

  it.each([
    ['prompted', false, ['parallel_tool_calls']],
    ['none', false, ['parallel_tool_calls']],
    ['prompted', true, []],
    ['native', false, []],
  ] as const)('with tools %s and parallel_tool_calls %s names %j', async (how, given, expected) => {
    replies = [answer];
    modelNumber += 1;
    const plain = createModelGateway({
      url,
      model: `model-${modelNumber}`,
      profiles: () => ({ tools: how }),
    });
    const named: string[] = [];
    const settings = { providerOptions: { gateway: { parallel_tool_calls: given } } };
    const model = withCallSettings(plain.languageModel(), settings, (names) => void named.push(...names));
    await collect((await model.doStream({ prompt, tools })).stream);
    expect(named).toEqual(expected);
    expect(requests[0]?.parallel_tool_calls).toBe(how === 'native' ? given : undefined);
  });

  it.each<[string, Reply, string, Partial<LanguageModelV4CallOptions>]>([
    [
      'OpenAI',
      refuse("Unsupported value: 'temperature' does not support 0.2 with this model.", {
        param: 'temperature',
        code: 'unsupported_value',
      }),
      'temperature',
      { temperature: 0.2 },
    ],
    [
      'Mistral',
      {
        status: 422,
        type: json,
        body: '{"detail":[{"type":"extra_forbidden","loc":["body","stream_options"],"msg":"Extra inputs are not permitted"}]}',
      },
      'stream_options',
      {},
    ],
    ['Azure', refuse('Unrecognized request argument supplied: stream_options'), 'stream_options', {}],
    [
      'LiteLLM',
      refuse(
        "litellm.UnsupportedParamsError: groq does not support parameters: ['reasoning_effort'], for model=x",
      ),
      'reasoning_effort',
      { reasoning: 'low' },
    ],
    [
      'DeepSeek',
      refuse('This response_format type is unavailable now', { type: 'invalid_request_error' }),
      'response_format',
      { responseFormat: { type: 'json', schema: inputSchema } },
    ],
    [
      'vLLM',
      {
        status: 400,
        type: json,
        body: '{"object":"error","message":"parallel_tool_calls is not supported","code":400}',
      },
      'parallel_tool_calls',
      { tools, providerOptions: { gateway: { parallel_tool_calls: false } } },
    ],
    [
      'a server without tool_choice',
      refuse('tool_choice: this parameter is not allowed'),
      'tool_choice',
      { tools, toolChoice: { type: 'required' } },
    ],
  ])(
    'of %s drops the parameter, tries again at once, and is remembered',
    async (_name, refusal, parameter, options) => {
      const model = modelFor((body) => (parameter in body ? refusal : answer));
      const notes: string[] = [];
      const ask = () =>
        listenForWaits(
          (wait) => notes.push(wait.message),
          async () => summary(await collect((await model.doStream({ prompt, ...options })).stream)),
        );
      expect(await ask()).toMatchObject({ text: 'Hello' });
      expect(await ask()).toMatchObject({ text: 'Hello' });
      expect(requests.map((body) => parameter in body)).toEqual([true, false, false]);
      expect(notes).toEqual([expect.stringContaining(`"${parameter}"`)]);
    },
  );

  it.each([
    ['reasoning_content', 'messages.1.assistant.reasoning_content: Extra inputs are not permitted'],
    ['reasoning', "Unsupported field 'messages.1.reasoning'"],
    ['thinking', 'messages.1.thinking: Extra inputs are not permitted'],
  ])('of thoughts in the field %s leaves them out from then on', async (field, words) => {
    const turns: typeof prompt = [
      ...prompt,
      {
        role: 'assistant',
        content: [
          { type: 'reasoning', text: 'Hm', providerOptions: { gateway: { reasoningField: field } } },
          { type: 'tool-call', toolCallId: 'x', toolName: 'look', input: {} },
        ],
      },
      {
        role: 'tool',
        content: [
          {
            type: 'tool-result',
            toolCallId: 'x',
            toolName: 'look',
            output: { type: 'text', value: 'A cat' },
          },
        ],
      },
    ];
    const thinks = (body: Record<string, unknown>) => JSON.stringify(body.messages).includes(`"${field}"`);
    const model = modelFor((body) => (thinks(body) ? refuse(words, {}, 422) : answer));
    for (let call = 0; call < 2; call += 1) await model.doStream({ prompt: turns, tools });
    expect(requests.map(thinks)).toEqual([true, false, false]);
  });

  const jsonFormat = { responseFormat: { type: 'json' as const, schema: inputSchema } };

  it.each<[string, string, Partial<LanguageModelV4CallOptions>]>([
    [
      "Function calling with a response mime type: 'application/json' is unsupported",
      'response_format',
      { tools, ...jsonFormat },
    ],
    ['Tool use is not supported in JSON mode', 'response_format', { tools, ...jsonFormat }],
    [
      "Invalid parameter: 'tool_choice' names unknown tool",
      'tool_choice',
      { tools, toolChoice: { type: 'tool', toolName: 'look' } },
    ],
    ['Invalid parameter: temperature must be between 0 and 1', 'temperature', { temperature: 2 }],
  ])('of what one call asked for is not remembered: %s', async (words, parameter, options) => {
    const model = modelFor((body) => (parameter in body ? refuse(words) : answer));
    const profile = profileOf(model);
    for (let call = 0; call < 2; call += 1) await model.doStream({ prompt, ...options });
    expect(requests.map((body) => parameter in body)).toEqual([true, false, true, false]);
    expect(requests.every((body) => 'tools' in body === 'tools' in options)).toBe(true);
    expect(profileOf(model)).toEqual(profile);
  });

  it('of max_tokens sends max_completion_tokens instead', async () => {
    const words =
      "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.";
    const model = modelFor((body) =>
      'max_tokens' in body ? refuse(words, { param: 'max_tokens' }) : answer,
    );
    await model.doStream({ prompt, maxOutputTokens: 50 });
    expect(requests.at(-1)).toMatchObject({ max_completion_tokens: 50 });
  });

  it('of a response format asks for the schema in words', async () => {
    const model = modelFor((body) =>
      'response_format' in body ? refuse('response_format is not supported') : answer,
    );
    await model.doStream({
      prompt,
      responseFormat: { type: 'json', schema: { type: 'object', title: 'Where' } },
    });
    expect(requests.at(-1)).toMatchObject({
      messages: [{ role: 'system', content: expect.stringContaining('"Where"') }, {}],
    });
  });

  it.each<[string, number]>([
    ['registry.ollama.ai/library/gemma:latest does not support tools', 400],
    [
      'No endpoints found that support tool use. To learn more about provider routing, visit: https://openrouter.ai',
      404,
    ],
    ['"auto" tool choice requires --enable-auto-tool-choice and --tool-call-parser to be set', 400],
    ['tools param requires --jinja flag', 500],
    ['`tool calling` is not supported with this model', 400],
    ["This model doesn't support tool use.", 400],
    ['Function calling is not enabled for models/gemma-3-27b-it', 400],
    ["litellm.UnsupportedParamsError: ollama does not support parameters: ['tools'], for model=x", 400],
  ])('of tools is remembered, and the call goes without them: %s', async (words, status) => {
    const model = modelFor((body) => ('tools' in body ? refuse(words, {}, status) : answer));
    const notes: string[] = [];
    for (let call = 0; call < 2; call += 1)
      await listenForWaits(
        (wait) => notes.push(wait.message),
        () => model.doStream({ prompt, tools }),
      );
    expect(requests.map((body) => 'tools' in body)).toEqual([true, false, false]);
    expect(notes).toEqual([expect.stringContaining('tools')]);
  });

  it('of a value is not remembered, and a value that the caller must mend is not dropped', async () => {
    const tooLarge = refuse('max_tokens is too large: 99. It must be at most 10.', { param: 'max_tokens' });
    const model = modelFor((body) =>
      body.max_tokens === 99 || body.max_completion_tokens === 99 ? tooLarge : answer,
    );
    await model.doStream({ prompt, maxOutputTokens: 99 });
    await model.doStream({ prompt, maxOutputTokens: 9 });
    expect(requests.at(-1)).toMatchObject({ max_tokens: 9 });
    const hot = modelFor(refuse('temperature must be at most 2', { param: 'temperature' }));
    await expect(hot.doStream({ prompt, temperature: 9 })).rejects.toThrow(/at most 2/);
  });

  it.each<[string, string, Partial<LanguageModelV4CallOptions>]>([
    [
      "Unsupported value: 'reasoning_effort' does not support 'minimal' with this model. Supported values are: 'low' and 'high'.",
      'reasoning_effort',
      { reasoning: 'minimal' },
    ],
    [
      "Invalid schema for response_format 'x': In context=(), 'minLength' is not permitted.",
      'response_format',
      { responseFormat: { type: 'json', schema: inputSchema } },
    ],
    [
      "Invalid schema for function 'look': In context=('properties', 'a'), 'oneOf' is not supported.",
      'tools',
      { tools },
    ],
  ])("of one caller's value or schema holds for that call alone: %s", async (words, parameter, options) => {
    const model = modelFor(refuse(words), answer);
    await model.doStream({ prompt, ...options });
    await model.doStream({ prompt, ...options });
    expect(requests.map((body) => parameter in body)).toEqual([true, false, true]);
  });

  it('of everything fails with what the endpoint says', async () => {
    const model = modelFor(refuse("temperature is not supported, nor is 'stream_options'"));
    await expect(model.doStream({ prompt, temperature: 1 })).rejects.toMatchObject({
      code: 'bad-request',
      message: expect.stringContaining('nor is'),
    });
    expect(requests).toHaveLength(3);
  });
});
