import { createModelGateway } from '@trunkline/llm';
import { describe, expect, it } from 'vitest';
import { add, calling, ended, failed, play, stopServersAfterEach } from './turn.suite.ts';

stopServersAfterEach();

describe('faults of the endpoint become the last event, with words', () => {
  it('429, after the retries', async () => {
    const limited = { fault: 'status', status: 429, retryAfter: '0' } as const;
    const { server, events, last } = await play([limited, limited, limited], {}, { maxRetries: 2 });
    expect(server.chats()).toHaveLength(3);
    expect(events).toHaveLength(1);
    expect(last).toMatchObject({ code: 'rate-limited', message: expect.stringContaining('Wait a little') });
  });

  it('nothing, when a retry helps', async () => {
    const { last } = await play(
      [{ fault: 'status', status: 429, retryAfter: '0' }, 'Here.'],
      {},
      { maxRetries: 1 },
    );
    expect(ended(last).text).toBe('Here.');
  });

  it('none, and the waits are told, when the endpoint names a time', async () => {
    const timing = {
      now: Date.now,
      random: () => 0,
      // Waits are over at once; the limits of the call never strike.
      setTimer(milliseconds: number, action: () => void) {
        if (milliseconds < 60_000) setImmediate(action);
        return { cancel: () => undefined };
      },
    };
    const limited = { fault: 'status', status: 429, retryAfter: '42' } as const;
    const { events, last } = await play([limited, limited, 'Here.'], {}, { maxRetries: 2, timing });
    expect(ended(last).text).toBe('Here.');
    const wait = {
      type: 'wait',
      code: 'rate-limited',
      waitMs: 42_000,
      message: 'The model endpoint limits the rate of calls; trying again in 42 s',
    };
    expect(events.slice(0, 3)).toMatchObject([wait, wait, { type: 'text-delta', text: 'Here.' }]);
  });

  it.each([
    [500, 'server-error', 'Try again later'],
    [401, 'refused-key', 'LLM_API_KEY'],
    [404, 'not-found', 'LLM_MODEL'],
    [413, 'context-too-long', 'Shorten it'],
  ])('%i', async (status, code, words) => {
    const { events, last } = await play([{ fault: 'status', status }]);
    expect(events).toHaveLength(1);
    expect(last).toMatchObject({ type: 'error', code, text: '' });
    expect(failed(last).message).toContain(words);
  });

  it('a stall before the first word', async () => {
    const { last } = await play([{ fault: 'stall' }], {}, { firstTokenTimeoutMs: 50 });
    expect(last).toMatchObject({ code: 'timeout', text: '' });
  });

  it('a stall in the middle, with the words that came', async () => {
    const { last } = await play([{ fault: 'stall', text: 'Half' }], {}, { idleTimeoutMs: 200 });
    expect(last).toMatchObject({ code: 'timeout', text: 'Half' });
  });

  it.each(['cut', 'unfinished', 'malformed', 'error-chunk'] as const)(
    'a stream with the fault "%s", with the words that came',
    async (fault) => {
      const { last } = await play([{ fault, text: 'Half' }]);
      expect(last).toMatchObject({
        type: 'error',
        text: 'Half',
        messages: [{ role: 'user' }, { role: 'assistant', content: 'Half' }],
      });
      expect(['interrupted', 'bad-answer', 'server-error']).toContain(failed(last).code);
      expect(failed(last).message).not.toBe('');
    },
  );

  it.each([
    ['interrupted', 'interrupted'],
    ['error', 'server-error'],
  ] as const)('an answer that a provider marks as "%s"', async (unified, code) => {
    const demo = createModelGateway({}).languageModel();
    const marked = new TransformStream({
      transform(part, controller) {
        controller.enqueue(
          part.type === 'finish' ? { ...part, finishReason: { unified, raw: undefined } } : part,
        );
      },
    });
    const model: typeof demo = {
      ...demo,
      doStream: async (options) => ({ stream: (await demo.doStream(options)).stream.pipeThrough(marked) }),
    };
    const { last } = await play([], { model });
    expect(failed(last)).toMatchObject({ code, text: expect.stringContaining('What can I do for you?') });
  });

  it('an endpoint that is not there', async () => {
    const { last } = await play([], {}, { url: 'http://127.0.0.1:1/v1' });
    expect(last).toMatchObject({ code: 'unreachable', message: expect.stringContaining('LLM_GATEWAY_URL') });
  });

  it('a fault in a later step keeps what the earlier ones did', async () => {
    const { last } = await play(
      [
        { text: 'First.', ...calling(['add', { left: 1 }]), usage: { input: 5, output: 5 } },
        { fault: 'cut', text: 'Then' },
      ],
      { tools: [add] },
    );
    expect(last).toMatchObject({ text: 'First.\n\nThen', usage: { totalTokens: 10 } });
    expect(failed(last).messages.map(({ role }) => role)).toEqual(['user', 'assistant', 'tool', 'assistant']);
  });

  it('a broken tool call in a stream that is cut runs nothing', async () => {
    const { events } = await play([{ fault: 'cut' }], { tools: [add] });
    expect(events.map(({ type }) => type)).toEqual(['error']);
  });
});
