import type { LanguageModelV4, LanguageModelV4StreamPart } from '@ai-sdk/provider';
import {
  freePort,
  type ModelServer,
  type ScriptedReply,
  startModelServer,
  waitFor,
} from '@trunkline/testing';
import { streamText } from 'ai';
import { afterEach, describe, expect, it } from 'vitest';
import { createModelGateway, type ModelGatewayOptions } from './gateway.ts';
import type { ModelCall } from './meter.ts';
import type { ModelError } from './model-error.ts';
import type { Timing } from './retry.ts';

const servers: ModelServer[] = [];
afterEach(async () => {
  await Promise.all(servers.splice(0).map((server) => server.stop()));
});

const server500: ScriptedReply = { fault: 'status', status: 500 };
const prompt = [{ role: 'user' as const, content: [{ type: 'text' as const, text: 'Hi' }] }];

/** Time in the test's hand: waits are noted and over at once, limits strike when the test says so. */
function fakeTiming() {
  const waits: number[] = [];
  const limits: { milliseconds: number; action: () => void }[] = [];
  const timing: Timing = {
    now: () => Date.parse('2026-01-01T00:00:00Z'),
    random: () => 0.5,
    sleep: async (milliseconds, signal) => {
      waits.push(milliseconds);
      signal?.throwIfAborted();
    },
    startTimer(milliseconds, action) {
      const limit = { milliseconds, action };
      limits.push(limit);
      return () => void limits.splice(limits.indexOf(limit), limits.includes(limit) ? 1 : 0);
    },
  };
  const strike = (milliseconds: number) => {
    for (const limit of limits.filter((entry) => entry.milliseconds === milliseconds)) limit.action();
  };
  return { timing, waits, limits, strike };
}

async function setUp(
  script: ScriptedReply[] | ((model: string) => ScriptedReply),
  options: ModelGatewayOptions = {},
) {
  const server = await startModelServer({
    script: Array.isArray(script) ? script : (request) => script(request.model),
  });
  servers.push(server);
  const { timing, ...time } = fakeTiming();
  const calls: ModelCall[] = [];
  const onCall = (call: ModelCall) => calls.push(call);
  const gateway = createModelGateway({ url: server.url, model: 'first', timing, onCall, ...options });
  return { ...time, server, calls, model: gateway.languageModel() };
}

async function read(model: LanguageModelV4, abortSignal?: AbortSignal) {
  const parts: LanguageModelV4StreamPart[] = [];
  const { stream } = await model.doStream({ prompt, ...(abortSignal ? { abortSignal } : {}) });
  for await (const part of stream) parts.push(part);
  const text = parts.map((part) => (part.type === 'text-delta' ? part.delta : '')).join('');
  const errors = parts.flatMap((part) => (part.type === 'error' ? [part.error as ModelError] : []));
  return { parts, text, errors };
}

async function collect<Item>(stream: AsyncIterable<Item>): Promise<Item[]> {
  const items: Item[] = [];
  for await (const item of stream) items.push(item);
  return items;
}

describe('retries', () => {
  it.each<[string, ScriptedReply]>([
    ['429', { fault: 'status', status: 429 }],
    ['500', server500],
    ['503', { fault: 'status', status: 503 }],
    ['a cut before the first token', { fault: 'cut' }],
    ['an error chunk before the first token', { fault: 'error-chunk' }],
  ])('a stream after %s', async (_name, fault) => {
    const { server, model, waits, calls } = await setUp([fault, fault, 'Hello']);
    expect((await read(model)).text).toBe('Hello');
    expect(server.requests).toHaveLength(3);
    expect(waits).toEqual([375, 750]);
    expect(calls.map((call) => call.error?.retryable ?? call.finishReason)).toEqual([true, true, 'stop']);
  });

  it('a whole answer after a cut', async () => {
    const { model } = await setUp([{ fault: 'cut', text: 'Hel' }, 'Hello']);
    expect((await model.doGenerate({ prompt })).content).toEqual([{ type: 'text', text: 'Hello' }]);
  });

  it.each([
    ['7', 7_000],
    ['Thu, 01 Jan 2026 00:00:20 GMT', 20_000],
    ['86400', 30_000],
  ])('after the time that Retry-After: %s asks for, within a cap', async (retryAfter, waitMs) => {
    const { model, waits } = await setUp([{ fault: 'status', status: 429, retryAfter }, 'Hello']);
    await read(model);
    expect(waits).toEqual([waitMs]);
  });

  it('no more often than told', async () => {
    const { server, model } = await setUp(() => server500, { maxRetries: 1 });
    await expect(read(model)).rejects.toMatchObject({ code: 'server-error', status: 500 });
    expect(server.requests).toHaveLength(2);
  });

  it('not what will not get better', async () => {
    const { server, model } = await setUp([
      { fault: 'status', status: 401 },
      { fault: 'status', status: 400 },
      { fault: 'malformed' },
    ]);
    await expect(read(model)).rejects.toMatchObject({ code: 'refused-key' });
    await expect(read(model)).rejects.toMatchObject({ code: 'bad-request' });
    await expect(read(model)).rejects.toMatchObject({ code: 'bad-answer' });
    expect(server.requests).toHaveLength(3);
  });

  it('connections that are refused, then names the address', async () => {
    const { timing, waits } = fakeTiming();
    const url = `http://127.0.0.1:${await freePort()}/v1`;
    const gateway = createModelGateway({ url, model: 'first', fallbackModels: ['second'], timing });
    await expect(read(gateway.languageModel())).rejects.toMatchObject({
      code: 'unreachable',
      message: expect.stringContaining('LLM_GATEWAY_URL'),
    });
    expect(waits).toHaveLength(2);
  });

  it('are not multiplied by the AI SDK', async () => {
    const { server, model } = await setUp(() => server500, { maxRetries: 1 });
    const result = streamText({ model, prompt: 'Hi', onError: () => undefined });
    const parts = await collect(result.stream);
    expect(parts.find((part) => part.type === 'error')).toMatchObject({ error: { code: 'server-error' } });
    expect(server.requests).toHaveLength(2);
  });
});

describe('fallback', () => {
  it('tries the models in order, each with its retries', async () => {
    const { server, model, calls } = await setUp((name) => (name === 'third' ? 'Hello' : server500), {
      maxRetries: 1,
      fallbackModels: ['second', 'third', 'fourth'],
    });
    expect((await read(model)).text).toBe('Hello');
    expect(server.chats().map((chat) => chat.model)).toEqual(['first', 'first', 'second', 'second', 'third']);
    expect(calls.at(-1)).toMatchObject({ model: 'third', finishReason: 'stop' });
  });

  it('throws the last failure when all fail', async () => {
    const status = (name: string) => (name === 'first' ? 500 : 404);
    const { model } = await setUp((name) => ({ fault: 'status', status: status(name) }), {
      maxRetries: 0,
      fallbackModels: ['second'],
    });
    await expect(model.doGenerate({ prompt })).rejects.toMatchObject({ code: 'not-found' });
  });

  it('is not tried with a key that was refused', async () => {
    const { server, model } = await setUp(() => ({ fault: 'status', status: 401 }), {
      fallbackModels: ['second'],
    });
    await expect(read(model)).rejects.toMatchObject({ code: 'refused-key' });
    expect(server.requests).toHaveLength(1);
  });
});

describe('after the first token', () => {
  it.each<[ScriptedReply, string]>([
    [{ fault: 'cut', text: 'Hello' }, 'interrupted'],
    [{ fault: 'unfinished', text: 'Hello' }, 'interrupted'],
    [{ fault: 'malformed', text: 'Hello' }, 'bad-answer'],
    [{ fault: 'error-chunk', text: 'Hello', message: 'overloaded' }, 'server-error'],
  ])('a failure is data and is not retried: %j', async (fault, code) => {
    const { server, model, calls } = await setUp([fault, 'never asked'], { fallbackModels: ['second'] });
    const { parts, text, errors } = await read(model);
    expect(text).toBe('Hello');
    expect(errors.map((error) => error.code)).toEqual([code]);
    expect(parts.at(-1)).toMatchObject({ type: 'finish', finishReason: { unified: 'error' } });
    expect(server.requests).toHaveLength(1);
    expect(calls).toMatchObject([{ error: { code }, firstTokenMs: expect.any(Number) }]);
  });

  it('a failure shows in the stream of the AI SDK', async () => {
    const { model } = await setUp([{ fault: 'cut', text: 'Hello' }]);
    const result = streamText({ model, prompt: 'Hi', onError: () => undefined });
    const parts = await collect(result.stream);
    expect(parts.find((part) => part.type === 'error')).toMatchObject({ error: { code: 'interrupted' } });
    expect(parts.at(-1)).toMatchObject({ type: 'finish', finishReason: 'error' });
  });
});

describe('time limits', () => {
  const limits = { firstTokenTimeoutMs: 1_000, timeoutMs: 5_000 };

  it('a stall before the first token goes to the next model', async () => {
    const stallFirst = (name: string): ScriptedReply => (name === 'first' ? { fault: 'stall' } : 'Hello');
    const { server, model, calls, strike } = await setUp(stallFirst, {
      ...limits,
      fallbackModels: ['second'],
    });
    const reading = read(model);
    await waitFor(() => server.requests.length === 1);
    strike(1_000);
    expect((await reading).text).toBe('Hello');
    expect(server.chats().map((chat) => chat.model)).toEqual(['first', 'second']);
    expect(calls[0]?.error).toMatchObject({
      code: 'timeout',
      message: expect.stringContaining('no first token'),
    });
    await waitFor(() => server.requests[0]?.abandoned);
  });

  it('a stall of the only model is a time-out, by the clock of the system', async () => {
    const options = { firstTokenTimeoutMs: 30, timing: undefined };
    const { model } = await setUp([{ fault: 'stall' }], options);
    await expect(read(model)).rejects.toMatchObject({ code: 'timeout', name: 'ModelError' });
  });

  it('a whole answer has the total limit', async () => {
    const { server, model, strike } = await setUp([{ fault: 'stall' }], limits);
    const answer = model.doGenerate({ prompt });
    const outcome = expect(answer).rejects.toMatchObject({ code: 'timeout' });
    await waitFor(() => server.requests.length === 1);
    strike(5_000);
    await outcome;
  });

  it('a stall in mid-stream ends as data', async () => {
    const { server, model, strike } = await setUp([{ fault: 'stall', text: 'Hel' }], limits);
    const { stream } = await model.doStream({ prompt });
    strike(5_000);
    const parts = await collect(stream);
    expect(parts.filter((part) => part.type === 'error')).toMatchObject([{ error: { code: 'timeout' } }]);
    expect(parts.at(-1)).toMatchObject({ type: 'finish', finishReason: { unified: 'error' } });
    await waitFor(() => server.requests[0]?.abandoned);
  });

  it('the first token ends its limit, the last one all limits', async () => {
    const {
      server,
      model,
      strike,
      limits: running,
    } = await setUp([{ fault: 'stall', text: 'Hel', answer: 'lo' }], limits);
    const { stream } = await model.doStream({ prompt });
    strike(1_000);
    server.release();
    const texts = (await collect(stream)).map((part) => (part.type === 'text-delta' ? part.delta : ''));
    expect(texts.join('')).toBe('Hello');
    expect(running).toEqual([]);
  });

  it('a slow drip is let finish', async () => {
    const { model } = await setUp([{ text: 'One two three four five', dripMs: 5 }], limits);
    expect((await read(model)).text).toBe('One two three four five');
  });
});

describe('abort', () => {
  it('before the first token is told apart from a time-out, and is not retried', async () => {
    const { server, model, calls } = await setUp([{ fault: 'stall' }], { fallbackModels: ['second'] });
    const aborter = new AbortController();
    const reading = read(model, aborter.signal);
    await waitFor(() => server.requests.length === 1);
    aborter.abort();
    await expect(reading).rejects.toMatchObject({ code: 'aborted', name: 'AbortError' });
    await waitFor(() => server.requests[0]?.abandoned);
    expect(server.requests).toHaveLength(1);
    expect(calls).toMatchObject([{ error: { code: 'aborted' } }]);
  });

  it('wins when it comes while waiting for a retry', async () => {
    const aborter = new AbortController();
    const { timing } = fakeTiming();
    const sleep: Timing['sleep'] = async (_milliseconds, signal) => {
      aborter.abort(new Error('the caller has its own reason'));
      signal?.throwIfAborted();
    };
    const { server, model } = await setUp([server500, 'Hello'], { timing: { ...timing, sleep } });
    await expect(read(model, aborter.signal)).rejects.toMatchObject({ code: 'aborted' });
    expect(server.requests).toHaveLength(1);
  });

  it('in mid-stream breaks the stream, and the AI SDK sees an abort', async () => {
    const { server, model } = await setUp([{ fault: 'stall', text: 'Hel' }]);
    const aborter = new AbortController();
    const result = streamText({ model, prompt: 'Hi', abortSignal: aborter.signal });
    const types: string[] = [];
    for await (const part of result.stream) {
      types.push(part.type);
      if (part.type === 'text-delta') aborter.abort();
    }
    expect(types.at(-1)).toBe('abort');
    expect(types).not.toContain('error');
    await waitFor(() => server.requests[0]?.abandoned);
  });

  it('a reader that goes away frees the connection', async () => {
    const { server, model, calls } = await setUp([{ fault: 'stall', text: 'Hel' }]);
    const { stream } = await model.doStream({ prompt });
    const reader = stream.getReader();
    await reader.read();
    await reader.cancel();
    await waitFor(() => server.requests[0]?.abandoned);
    expect(calls).toMatchObject([{ error: { code: 'aborted' } }]);
  });
});
