import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { freePort, type ScriptedReply } from '@trunkline/testing';
import { streamText } from 'ai';
import { afterEach, describe, expect, it } from 'vitest';
import { collect, fakeTiming, prompt, read, setUp, stopServers } from './gateway.suite.ts';
import { createModelGateway } from './gateway.ts';

afterEach(stopServers);

const server500: ScriptedReply = { fault: 'status', status: 500 };

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
    ['45', 45_000],
  ])('after the time that Retry-After: %s asks for', async (retryAfter, waitMs) => {
    const { model, waits } = await setUp([{ fault: 'status', status: 429, retryAfter }, 'Hello']);
    await read(model);
    expect(waits).toEqual([waitMs]);
  });

  it('not before a time that is longer than anybody waits, but on the next model at once', async () => {
    const limited: ScriptedReply = { fault: 'status', status: 429, retryAfter: '300' };
    const alone = await setUp([limited, 'Hello']);
    await expect(read(alone.model)).rejects.toMatchObject({
      code: 'rate-limited',
      retryAfterMs: 300_000,
      message: expect.stringContaining('It asks to wait 5 minutes.'),
    });
    expect([alone.server.requests.length, alone.waits]).toEqual([1, []]);
    const two = await setUp((name) => (name === 'first' ? limited : 'Hello'), { fallbackModels: ['second'] });
    expect((await read(two.model)).text).toBe('Hello');
    expect([two.server.requests.length, two.waits]).toEqual([2, []]);
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

  it('not a web page of another service', async () => {
    const asked: string[] = [];
    const page = createServer((request, response) => {
      asked.push(request.url ?? '');
      response.setHeader('content-type', 'text/html').end('<h1>Welcome</h1>');
    }).listen(0, '127.0.0.1');
    await once(page, 'listening');
    const url = `http://127.0.0.1:${(page.address() as AddressInfo).port}`;
    const model = createModelGateway({ url, model: 'first', timing: fakeTiming().timing }).languageModel();
    await expect(read(model)).rejects.toMatchObject({ code: 'bad-answer' });
    await expect(model.doGenerate({ prompt })).rejects.toMatchObject({ code: 'bad-answer' });
    expect(asked).toHaveLength(2);
    page.closeAllConnections();
    page.close();
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
