import { type ScriptedReply, waitFor } from '@trunkline/testing';
import { streamText } from 'ai';
import { afterEach, describe, expect, it } from 'vitest';
import { collect, fakeTiming, prompt, read, setUp, stopServers } from './gateway.suite.ts';
import type { Timing } from './retry.ts';

afterEach(stopServers);

describe('time limits', () => {
  const limits = { firstTokenTimeoutMs: 60_000, timeoutMs: 90_000 };

  it('a stall before the first token goes to the next model', async () => {
    const stallFirst = (name: string): ScriptedReply => (name === 'first' ? { fault: 'stall' } : 'Hello');
    const { server, model, calls, strike } = await setUp(stallFirst, {
      ...limits,
      fallbackModels: ['second'],
    });
    const reading = read(model);
    await waitFor(() => server.requests.length === 1);
    strike(60_000);
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
    strike(90_000);
    await outcome;
  });

  it('a stall in mid-stream ends as data', async () => {
    const { server, model, strike } = await setUp([{ fault: 'stall', text: 'Hel' }], limits);
    const { stream } = await model.doStream({ prompt });
    strike(90_000);
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
    strike(60_000);
    server.release();
    const texts = (await collect(stream)).map((part) => (part.type === 'text-delta' ? part.delta : ''));
    expect(texts.join('')).toBe('Hello');
    expect(running.size).toBe(0);
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
    const setTimer: Timing['setTimer'] = (milliseconds, action) => {
      if (milliseconds >= 60_000) return timing.setTimer(milliseconds, action);
      queueMicrotask(() => aborter.abort(new Error('the caller has its own reason')));
      return { cancel: () => undefined };
    };
    const { server, model } = await setUp([{ fault: 'status', status: 500 }, 'Hello'], {
      timing: { ...timing, setTimer },
    });
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
