import { type ScriptedReply, waitFor } from '@trunkline/testing';
import { streamText } from 'ai';
import { afterEach, describe, expect, it } from 'vitest';
import { collect, fakeTiming, prompt, read, setUp, stopServers } from './gateway.suite.ts';
import { activityListener, startLimits } from './limits.ts';
import { listenForWaits, type Timing } from './retry.ts';

afterEach(stopServers);

describe('time limits', () => {
  const limits = { firstTokenTimeoutMs: 60_000, idleTimeoutMs: 70_000, timeoutMs: 90_000 };

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

  it('a whole answer without a limit of its own has the time of a first token, and five minutes at least', async () => {
    const { server, model, limits: running } = await setUp(['Hello', { fault: 'stall' }]);
    await model.doGenerate({ prompt });
    expect(running.size).toBe(0);
    const aborter = new AbortController();
    const answer = expect(model.doGenerate({ prompt, abortSignal: aborter.signal })).rejects.toThrow();
    await waitFor(() => server.requests.length === 2);
    expect([...running.values()].map(({ milliseconds }) => milliseconds)).toEqual([900_000]);
    aborter.abort();
    await answer;
  });

  it('a stall in mid-stream is noticed after the idle limit, and ends as data', async () => {
    const { server, model, strike } = await setUp([{ fault: 'stall', text: 'Hel' }], limits);
    const { stream } = await model.doStream({ prompt });
    const reading = collect(stream);
    await waitFor(() => strike(70_000) > 0);
    const parts = await reading;
    expect(parts.filter((part) => part.type === 'error')).toMatchObject([
      { error: { code: 'timeout', message: expect.stringMatching(/no more .* 70 s; LLM_IDLE_TIMEOUT_S/) } },
    ]);
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
    expect(strike(60_000)).toBe(0);
    server.release();
    const texts = (await collect(stream)).map((part) => (part.type === 'text-delta' ? part.delta : ''));
    expect(texts.join('')).toBe('Hello');
    expect(running.size).toBe(0);
  });

  it('only a reader who waits has a limit', async () => {
    const { server, model, limits: running } = await setUp([{ fault: 'stall', text: 'Hel' }], limits);
    const reader = (await model.doStream({ prompt })).stream.getReader();
    expect(running.size).toBe(0);
    for (let part = await reader.read(); part.value?.type !== 'text-delta'; ) part = await reader.read();
    expect(running.size).toBe(0);
    await reader.cancel();
    await waitFor(() => server.requests[0]?.abandoned);
  });

  it('an answer is no longer than the configuration allows, whatever the call asks for', async () => {
    const profiles = () => ({ outputTokens: 512 });
    const { model, server } = await setUp(['One', 'Two', 'Three'], { profiles });
    for (const asked of [{}, { maxOutputTokens: 100 }, { maxOutputTokens: 4000 }])
      await collect((await model.doStream({ prompt, ...asked })).stream);
    expect(server.chats().map(({ max_tokens: sent }) => sent)).toEqual([512, 100, 512]);
  });

  it('an answer without an end is ended', async () => {
    const { timing } = fakeTiming();
    let hours = 0;
    const moved = { ...timing, now: () => timing.now() + hours++ * 3_600_000 };
    const text = 'again and again '.repeat(20);
    const { model } = await setUp([{ text, dripMs: 1 }], { answerTimeoutMs: 10 * 3_600_000, timing: moved });
    const parts = await collect((await model.doStream({ prompt })).stream);
    expect(parts.filter((part) => part.type === 'error')).toMatchObject([
      { error: { code: 'timeout', message: expect.stringContaining('LLM_ANSWER_TIMEOUT_S sets the limit') } },
    ]);
  });

  it('a slow drip is let finish', async () => {
    const { model } = await setUp([{ text: 'One two three four five', dripMs: 5 }], limits);
    expect((await read(model)).text).toBe('One two three four five');
  });
});

describe('bytes', () => {
  const wait = { what: 'nothing', milliseconds: 60_000, setting: 'A_SETTING' } as const;

  function start() {
    const time = fakeTiming();
    const running = startLimits(undefined, { timing: time.timing, translation: {} });
    return { ...time, running, onActivity: running.run(activityListener) };
  }

  it.each([
    ['every byte', 'keep-alive', true],
    ['every byte', undefined, true],
    ['data', 'keep-alive', false],
    ['data', undefined, true],
    ['nothing', undefined, false],
  ] as const)('a limit that %s extends starts anew with %s: %s', (extendedBy, kind, isExtended) => {
    const { running, onActivity, limits } = start();
    running.await({ ...wait, extendedBy });
    const [timer] = limits.keys();
    onActivity(kind);
    expect(limits.size).toBe(1);
    expect(limits.has(timer ?? {})).toBe(!isExtended);
  });

  it.each(['every byte', 'data'] as const)(
    'extend a limit (%s) no longer than the whole answer may take',
    (extendedBy) => {
      let now = 0;
      const time = fakeTiming();
      const timing = { ...time.timing, now: () => now };
      const running = startLimits(undefined, { timing, translation: {} }, 200_000);
      const onActivity = running.run(activityListener);
      const waits = () => [...time.limits.values()].map(({ milliseconds }) => milliseconds);
      running.await({ ...wait, extendedBy });
      for (const at of [50_000, 100_000, 130_000]) {
        now = at;
        onActivity();
        expect(waits()).toEqual([60_000]);
      }
      now = 200_000;
      onActivity();
      expect([waits(), running.signal.aborted]).toEqual([[], true]);
      const message = expect.stringMatching(/no end of the answer within 4 minutes; LLM_ANSWER_TIMEOUT_S/);
      expect(running.explain(new Error('broken'))).toMatchObject({ code: 'timeout', message });
    },
  );

  it('that come while nothing is waited for start no limit', () => {
    const { running, onActivity, limits } = start();
    running.await({ ...wait, extendedBy: 'data' });
    running.rest();
    onActivity();
    expect(limits.size).toBe(0);
  });
});

describe('a model that is being loaded', () => {
  const loading = (message: string, status = 503): ScriptedReply => ({ fault: 'status', status, message });

  it.each([
    'Loading model',
    'Model acme/tiny is currently loading',
    'llm server loading model',
    'Model tiny is not ready',
  ])('is waited for, and the person is told once: %s', async (message) => {
    const { server, model, waits } = await setUp([...Array(5).fill(loading(message)), 'Hello']);
    const notes: string[] = [];
    const { text } = await listenForWaits(
      (wait) => notes.push(wait.message),
      () => read(model),
    );
    expect(text).toBe('Hello');
    expect(server.requests).toHaveLength(6);
    expect(waits).toEqual([3000, 3000, 3000, 3000, 3000]);
    expect(notes).toEqual(['The model is being loaded; waiting for it, up to 10 minutes']);
  });

  it.each([
    ['0', 1000],
    ['7', 7000],
  ])('that says Retry-After: %s is asked again after %i ms', async (retryAfter, waitMs) => {
    const busy: ScriptedReply = { fault: 'status', status: 503, message: 'Loading model', retryAfter };
    const { model, waits } = await setUp([busy, busy, 'Hello']);
    expect((await read(model)).text).toBe('Hello');
    expect(waits).toEqual([waitMs, waitMs]);
  });

  it('is given up after the set time, or when the caller leaves', async () => {
    const script = () => loading('Loading model');
    const { server, model } = await setUp(script, { loadingTimeoutMs: 10_000 });
    await expect(read(model)).rejects.toMatchObject({
      code: 'loading',
      message: expect.stringContaining('LLM_LOADING_TIMEOUT_S'),
    });
    expect(server.requests).toHaveLength(4);
    const aborter = new AbortController();
    const leaving = listenForWaits(
      () => aborter.abort(),
      () => read(model, aborter.signal),
    );
    await expect(leaving).rejects.toMatchObject({ code: 'aborted' });
  });

  it('is not one that failed to load', async () => {
    const { model } = await setUp(() => loading('error loading model', 500));
    await expect(read(model)).rejects.toMatchObject({ code: 'server-error' });
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
