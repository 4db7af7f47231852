import { type ModelServer, type ModelServerOptions, startModelServer } from '@trunkline/testing';
import { generateText, isStepCount, Output, streamText, tool } from 'ai';
import { afterEach, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { collect } from './gateway.suite.ts';
import { createModelGateway } from './gateway.ts';
import type { ModelGatewayOptions } from './gateway-options.ts';
import type { ModelCall } from './meter.ts';
import { ModelError } from './model-error.ts';

const servers: ModelServer[] = [];
afterEach(async () => {
  await Promise.all(servers.splice(0).map((server) => server.stop()));
});

async function setUp(server: ModelServerOptions, options: ModelGatewayOptions = {}) {
  const started = await startModelServer(server);
  servers.push(started);
  const calls: ModelCall[] = [];
  const onCall = (call: ModelCall) => calls.push(call);
  const gateway = createModelGateway({ url: started.url, model: 'gpt-4o', onCall, ...options });
  return { server: started, gateway, calls };
}

describe('an endpoint', () => {
  it('streams text, and reports usage and cost', async () => {
    const { server, gateway, calls } = await setUp({
      script: [{ text: 'Hello there', usage: { input: 1_000, output: 100 } }],
    });
    const result = streamText({ model: gateway.languageModel(), prompt: 'Hi' });
    expect((await collect(result.textStream)).join('')).toBe('Hello there');
    expect(server.chats()[0]).toMatchObject({ stream: true, stream_options: { include_usage: true } });
    expect(calls).toEqual([
      {
        model: 'gpt-4o',
        finishReason: 'stop',
        inputTokens: 1_000,
        outputTokens: 100,
        costUsd: expect.closeTo(0.0035, 6),
        latencyMs: expect.any(Number),
        firstTokenMs: expect.any(Number),
        error: undefined,
      },
    ]);
  });

  it('is estimated, and marked so, where it counts nothing', async () => {
    const { gateway, calls } = await setUp({
      script: () => ({ text: 'Hello there, my friend', usage: { input: 0, output: 0 } }),
    });
    const prompt = 'Tell me something. '.repeat(20);
    await collect(streamText({ model: gateway.languageModel(), prompt }).textStream);
    await generateText({ model: gateway.languageModel(), prompt });
    const estimate = { inputTokens: expect.closeTo(100, -2), outputTokens: 6, costUsd: expect.any(Number) };
    expect(calls).toMatchObject([
      { ...estimate, estimated: true },
      { ...estimate, estimated: true },
    ]);
    expect(calls[0]?.costUsd).toBeGreaterThan(0);
  });

  it('answers in one piece, with a key and no guessed cost', async () => {
    const { server, gateway, calls } = await setUp(
      { script: ['Hello'], apiKey: 'right' },
      { apiKey: 'right', model: 'house-model' },
    );
    expect((await generateText({ model: gateway.languageModel(), prompt: 'Hi' })).text).toBe('Hello');
    expect(server.requests[0]?.headers.authorization).toBe('Bearer right');
    expect(calls).toMatchObject([{ model: 'house-model', finishReason: 'stop', costUsd: undefined }]);
  });

  it('runs tools over several steps', async () => {
    const { server, gateway } = await setUp({
      script: [{ toolCalls: [{ name: 'double', arguments: { number: 21 } }] }, 'It is 42.'],
    });
    const double = tool({
      description: 'Doubles.',
      inputSchema: z.object({ number: z.number() }),
      execute: async ({ number }) => String(number * 2),
    });
    const result = await generateText({
      model: gateway.languageModel(),
      prompt: 'Twice 21?',
      tools: { double },
      stopWhen: isStepCount(3),
    });
    expect(result.text).toBe('It is 42.');
    expect(server.chats()[1]?.messages.at(-1)).toMatchObject({ role: 'tool', content: '42' });
  });

  it('hands an unknown tool and broken arguments on as data', async () => {
    const toolCalls = [
      { name: 'nothing_like_it', arguments: {} },
      { name: 'double', arguments: '{"number": ' },
    ];
    const { gateway, calls } = await setUp({ script: [{ toolCalls }] });
    const double = tool({ inputSchema: z.object({ number: z.number() }), execute: async () => 'never' });
    const result = streamText({ model: gateway.languageModel(), prompt: 'Go', tools: { double } });
    const parts = await collect(result.stream);
    expect(parts.filter((part) => part.type === 'tool-error')).toHaveLength(2);
    expect(calls).toMatchObject([{ finishReason: 'tool-calls', error: undefined }]);
  });

  it('asks for structured output by its schema', async () => {
    const { server, gateway } = await setUp({ script: ['{"city":"Oslo"}'] });
    const output = Output.object({ schema: z.object({ city: z.string() }) });
    const result = await generateText({ model: gateway.languageModel(), prompt: 'Where?', output });
    expect(result.output).toEqual({ city: 'Oslo' });
    expect(server.chats()[0]).toMatchObject({ response_format: { type: 'json_schema' } });
  });

  it('chooses the named model, the fast one, or the main one for fast jobs', async () => {
    const { server, gateway } = await setUp({ script: () => 'ok' }, { fastModel: 'small' });
    await generateText({ model: gateway.languageModel('other'), prompt: 'Hi' });
    await generateText({ model: gateway.fastModel(), prompt: 'Hi' });
    const plain = createModelGateway({ url: server.url, model: 'gpt-4o' });
    await generateText({ model: plain.fastModel(), prompt: 'Hi' });
    expect(server.chats().map((chat) => chat.model)).toEqual(['other', 'small', 'gpt-4o']);
  });

  it('goes on when the listener fails', async () => {
    const warnings: string[] = [];
    const { gateway } = await setUp(
      { script: ['Hello'] },
      {
        logger: { warn: (_facts, message) => warnings.push(message) },
        onCall: () => {
          throw new Error('listener broke');
        },
      },
    );
    expect((await generateText({ model: gateway.languageModel(), prompt: 'Hi' })).text).toBe('Hello');
    expect(warnings).toEqual(['failed to report model call']);
  });
});

describe('the address', () => {
  it('is described without credentials, and works with them', async () => {
    const { server } = await setUp({ script: ['Hello'] });
    const url = server.url.replace('//', '//user:pass%20word@').concat('/?version=secret');
    const gateway = createModelGateway({ url, model: 'gpt-4o' });
    expect(gateway.describe()).toEqual({ name: 'gpt-4o', url: server.url, demo: false });
    expect((await generateText({ model: gateway.languageModel(), prompt: 'Hi' })).text).toBe('Hello');
    const basic = Buffer.from('user:pass word').toString('base64');
    expect(server.requests[0]?.headers.authorization).toBe(`Basic ${basic}`);
  });

  it('may be the full path of chat completions', async () => {
    const { server } = await setUp({ script: ['Hello'] });
    const gateway = createModelGateway({ url: `${server.url}/chat/completions`, model: 'gpt-4o' });
    expect((await generateText({ model: gateway.languageModel(), prompt: 'Hi' })).text).toBe('Hello');
  });

  it.each(['not an address', 'ftp://host/v1'])('is refused when it is %s', (url) => {
    expect(() => createModelGateway({ url })).toThrow(/LLM_GATEWAY_URL/);
  });

  it('needs a model name beside it', () => {
    const gateway = createModelGateway({ url: 'http://127.0.0.1:9/v1' });
    expect(() => gateway.languageModel()).toThrow(ModelError);
    expect(() => gateway.languageModel()).toThrow(/LLM_MODEL/);
  });
});

describe('with no endpoint', () => {
  it('the demo model answers, at no cost', async () => {
    const calls: ModelCall[] = [];
    const gateway = createModelGateway({ onCall: (call) => calls.push(call) });
    const { text } = await generateText({ model: gateway.languageModel(), prompt: 'Hello' });
    expect(text).not.toBe('');
    expect(gateway.describe()).toEqual({ name: calls[0]?.model, url: undefined, demo: true });
    expect(calls).toMatchObject([{ costUsd: 0, error: undefined }]);
    expect(await gateway.check()).toMatchObject({
      ok: true,
      message: expect.stringContaining('LLM_GATEWAY_URL'),
    });
    expect(gateway.embed).toBeUndefined();
  });

  it('the demo model streams too, also where it is asked for beside an address', async () => {
    const gateway = createModelGateway({ url: 'http://127.0.0.1:9/v1', model: 'gpt-4o', demo: true });
    const result = streamText({ model: gateway.fastModel(), prompt: 'Hello' });
    expect((await collect(result.textStream)).join('')).not.toBe('');
  });
});

describe('embeddings', () => {
  it('come in the order of the texts, in batches', async () => {
    const { server, gateway, calls } = await setUp({}, { embeddingModel: 'text-embedding-3-small' });
    const texts = Array.from({ length: 150 }, (_, index) => `text number ${index % 5}`);
    const vectors = await gateway.embed!(texts);
    expect(vectors).toHaveLength(150);
    expect(vectors[3]).toEqual(vectors[148]);
    expect(vectors[3]).not.toEqual(vectors[4]);
    expect(server.requests.map((request) => (request.body as { input: string[] }).input.length)).toEqual([
      128, 22,
    ]);
    expect(calls[0]).toMatchObject({
      model: 'text-embedding-3-small',
      outputTokens: 0,
      costUsd: expect.any(Number),
    });
  });

  it('fail with words, and can be cancelled', async () => {
    const { gateway } = await setUp({ apiKey: 'right' }, { apiKey: 'wrong', embeddingModel: 'e' });
    await expect(gateway.embed!(['a'])).rejects.toMatchObject({ code: 'refused-key' });
    await expect(gateway.embed!(['a'], AbortSignal.abort())).rejects.toMatchObject({ code: 'aborted' });
  });
});
