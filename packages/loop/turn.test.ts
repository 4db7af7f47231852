import { setTimeout as delay } from 'node:timers/promises';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import {
  add,
  calling,
  collect,
  ended,
  failed,
  limits,
  play,
  resultsOf,
  serve,
  spokenIn,
  stopServersAfterEach,
  toolMessages,
  toolOf,
  turnOptions,
} from './turn.suite.ts';
import { runTurn } from './turn.ts';
import { addUsage, estimateTokens, noUsage, promptBudget } from './usage.ts';

stopServersAfterEach();

describe('a turn', () => {
  it('streams text and ends with the conversation', async () => {
    const { server, events, last } = await play([
      { text: 'Hello there, friend.', usage: { input: 10, output: 4 } },
    ]);
    expect(events.filter((event) => event.type === 'text-delta').length).toBeGreaterThan(1);
    expect(last).toMatchObject({
      type: 'end',
      text: 'Hello there, friend.',
      finishReason: 'stop',
      usage: { inputTokens: 10, outputTokens: 4, totalTokens: 14 },
      messages: [
        { role: 'user' },
        { role: 'assistant', content: [{ type: 'text', text: 'Hello there, friend.' }] },
      ],
    });
    expect(server.chats()[0]?.messages[0]).toMatchObject({ role: 'system', content: 'Be brief.' });
  });

  it('passes on reasoning apart from text', async () => {
    const { events, last } = await play([{ reasoning: 'Let me think.', text: 'Yes.' }]);
    expect(events.flatMap((event) => (event.type === 'reasoning-delta' ? [event.text] : [])).join('')).toBe(
      'Let me think.',
    );
    expect(ended(last).text).toBe('Yes.');
  });

  it('runs a tool, with defaults of its schema, and lets the model read the result', async () => {
    const { server, events, last } = await play(
      [{ text: 'One moment.', ...calling(['add', { left: 2 }]) }, 'It is 3.'],
      { tools: [add] },
    );
    expect(events.filter((event) => event.type.startsWith('tool-'))).toEqual([
      { type: 'tool-start', toolCallId: 'call_1', name: 'add', input: { left: 2 } },
      {
        type: 'tool-end',
        toolCallId: 'call_1',
        name: 'add',
        result: '3',
        failed: false,
        durationMs: expect.any(Number),
      },
    ]);
    expect(server.chats()[1]?.messages.at(-1)).toMatchObject({
      role: 'tool',
      tool_call_id: 'call_1',
      content: '3',
    });
    expect(ended(last).text).toBe('One moment.\n\nIt is 3.');
    expect(spokenIn(events)).toBe(ended(last).text);
  });

  it('runs the calls of one step side by side and keeps their order in the conversation', async () => {
    const gate = Promise.withResolvers<string>();
    const slow = toolOf('slow', () => gate.promise);
    const quick = toolOf('quick', async () => 'quick done');
    const server = await serve([calling(['slow', {}], ['quick', {}]), 'Both.']);
    const events = [];
    for await (const event of runTurn(turnOptions(server, { tools: [slow, quick] }))) {
      events.push(event);
      if (event.type === 'tool-end' && event.name === 'quick') gate.resolve('slow done');
    }
    expect(resultsOf(events)).toEqual([
      ['quick', 'quick done'],
      ['slow', 'slow done'],
    ]);
    expect(toolMessages(server)).toEqual(['slow done', 'quick done']);
  });

  it('gives tools their session, call and signal', async () => {
    const seen: unknown[] = [];
    const tool = {
      ...add,
      execute: async (_: unknown, context: unknown) => JSON.stringify(seen.push(context)),
    };
    await play([calling(['add', { left: 1 }]), 'Done.'], { tools: [tool] });
    expect(seen).toEqual([
      {
        sessionId: 'session-1',
        toolCallId: 'call_1',
        signal: expect.any(AbortSignal),
        addOrigins: expect.any(Function),
        ownWords: expect.any(Function),
        permits: expect.any(Function),
        report: expect.any(Function),
        onActivity: expect.any(Function),
      },
    ]);
  });

  it('passes on what a running tool says of its progress, the first words of many', async () => {
    // However slow the machine, all words come at once.
    vi.useFakeTimers({ toFake: ['performance'] });
    onTestFinished(() => void vi.useRealTimers());
    const tool = toolOf('copy', async (_, _signal, { report }) => {
      for (let count = 0; count < 100; count += 1) report?.(`file ${count}`);
      return 'done';
    });
    const { server, events } = await play([calling(['copy', {}]), 'Copied.'], { tools: [tool] });
    expect(events.filter(({ type }) => type === 'tool-progress')).toEqual([
      { type: 'tool-progress', toolCallId: 'call_1', name: 'copy', text: 'file 0' },
    ]);
    expect(toolMessages(server)).toEqual(['done']);
  });

  it('does not touch the messages it was given', async () => {
    const messages = [{ role: 'user' as const, content: 'Hi' }];
    await play([calling(['add', { left: 1 }]), 'Done.'], { tools: [add], messages });
    expect(messages).toEqual([{ role: 'user', content: 'Hi' }]);
  });

  it('reports why the model stopped', async () => {
    expect(ended((await play([{ text: 'Cut', finishReason: 'length' }])).last).finishReason).toBe('length');
    expect(failed((await play([{ text: '', finishReason: 'content_filter' }])).last)).toMatchObject({
      code: 'content-filter',
      message: expect.stringContaining('content filter'),
    });
  });
});

describe('tool failures the model can read [A179]', () => {
  const boom = toolOf('boom', async () => {
    throw new Error('the disk is full');
  });

  it.each([
    ['an unknown tool', 'nope', {}, 'Error: there is no tool named "nope". There are: add, boom.'],
    [
      'arguments that are no JSON',
      'add',
      '{"left": ',
      'Error: the arguments for add are not valid JSON: {"left": ',
    ],
    [
      'arguments that do not fit',
      'add',
      { left: 'two' },
      'Error: the arguments for add do not fit: ✖ Invalid input: expected number, received string\n  → at left',
    ],
    ['a tool that throws', 'boom', {}, 'Error: the disk is full'],
    [
      'a name of every object',
      'constructor',
      {},
      'Error: there is no tool named "constructor". There are: add, boom.',
    ],
  ])('%s', async (_, name, input, result) => {
    const { server, events, last } = await play([calling([name, input]), 'I see.'], { tools: [add, boom] });
    expect(events.find((event) => event.type === 'tool-end')).toMatchObject({ name, result, failed: true });
    expect(server.chats()[1]?.messages.at(-1)).toMatchObject({ role: 'tool', content: result });
    expect(ended(last).text).toBe('I see.');
  });

  it('stops a tool that takes too long, even when it does not listen', async () => {
    let stopped = false;
    const deaf = toolOf(
      'deaf',
      (_, signal) => {
        signal.addEventListener('abort', () => {
          stopped = true;
        });
        return new Promise<string>(() => undefined);
      },
      { timeoutMs: 30 },
    );
    const { events, last } = await play([calling(['deaf', {}], ['add', { left: 1 }]), 'On we go.'], {
      tools: [deaf, add],
    });
    expect(resultsOf(events)).toEqual([
      ['add', '2'],
      ['deaf', 'Error: deaf took longer than 0.03 s and was stopped.'],
    ]);
    expect(stopped).toBe(true);
    expect(ended(last).text).toBe('On we go.');
  });

  it('takes the limit of the turn for tools without their own', async () => {
    const deaf = toolOf('deaf', () => new Promise<string>(() => undefined));
    const { events } = await play([calling(['deaf', {}]), 'Well.'], {
      tools: [deaf],
      limits: { ...limits, toolTimeoutMs: 20 },
    });
    expect(resultsOf(events)).toEqual([['deaf', 'Error: deaf took longer than 0.02 s and was stopped.']]);
  });

  it('lets a tool go on that says that another model works for it, and tells the caller', async () => {
    const asking = toolOf('asking', async (_input, signal, { onActivity }) => {
      onActivity?.(60_000);
      await delay(200, undefined, { signal });
      return 'answered';
    });
    const told: number[] = [];
    const { events } = await play([calling(['asking', {}]), 'Well.'], {
      tools: [asking],
      limits: { ...limits, toolTimeoutMs: 50 },
      onActivity: (silentMs) => void told.push(silentMs),
    });
    expect(resultsOf(events)).toEqual([['asking', 'answered']]);
    expect(told).toContain(60_000);
  });

  it('does not run the same failing call for ever', async () => {
    let runs = 0;
    const flaky = toolOf('flaky', async () => {
      runs += 1;
      return 'Error: no luck.';
    });
    const { events } = await play(
      [
        calling(['flaky', { a: 1 }]),
        calling(['flaky', { a: 1 }]),
        calling(['flaky', { a: 1 }]),
        calling(['flaky', { a: 2 }]),
        'Enough.',
      ],
      { tools: [flaky] },
    );
    expect(runs).toBe(3);
    expect(resultsOf(events)[2]?.[1]).toMatch(
      /^Error: this call of flaky with the same arguments has failed 2 times and was not run again/,
    );
  });

  it('makes text of whatever a tool gives back, within bounds', async () => {
    const odd = toolOf('odd', async () => JSON.parse('{"a": 1}'));
    const nothing = toolOf('nothing', async () => JSON.parse('{}').missing);
    const huge = toolOf('huge', async () => 'x'.repeat(200_000));
    const script = [calling(['odd', {}], ['nothing', {}], ['huge', {}]), 'Fine.'];
    const { server, last } = await play(script, { tools: [odd, nothing, huge] });
    expect(toolMessages(server).map((text) => String(text).slice(-12))).toEqual([
      '{"a":1}',
      '',
      'x…[truncated]'.slice(-12),
    ]);
    expect(ended(last).text).toBe('Fine.');
  });

  it('runs no more than 32 calls of one step', async () => {
    const calls = Array.from({ length: 40 }, (_, left): [string, unknown] => ['add', { left }]);
    const { events } = await play([calling(...calls), 'Done.'], { tools: [add] });
    const results = resultsOf(events).map(([, result]) => result);
    expect(results.filter((result) => result.startsWith('Error: too many calls'))).toHaveLength(8);
    expect(results.filter((result) => /^\d+$/.test(result))).toHaveLength(32);
  });
});

it('keeps turns that run at the same time apart', async () => {
  const server = await serve((request) => `You said ${request.messages.at(-1)?.content}`);
  const turns = ['a', 'b', 'c'].map((content) =>
    collect(runTurn(turnOptions(server, { messages: [{ role: 'user', content }] }))),
  );
  const texts = (await Promise.all(turns)).map((events) => ended(events.at(-1)).text);
  expect(texts).toEqual(['You said a', 'You said b', 'You said c']);
});

const call = {
  models: ['answered', 'configured'],
  reported: undefined,
  input: 'x'.repeat(400),
  output: 'y'.repeat(40),
};

it('estimates where the endpoint reports nothing, so that budgets hold', () => {
  expect(addUsage(noUsage, call, undefined)).toEqual({
    inputTokens: 100,
    outputTokens: 10,
    totalTokens: 110,
    estimated: true,
  });
});

it('takes the price of the configured model when that of the answering one is not known', () => {
  const cost = (model: string) => (model === 'configured' ? 0.1 : undefined);
  expect(addUsage(noUsage, call, cost).costUsd).toBe(0.1);
});

it('does not know the sum when one cost is not known', () => {
  const unknown = addUsage(noUsage, call, () => undefined);
  expect(addUsage(unknown, call, () => 1)).not.toHaveProperty('costUsd');
});

it('leaves the room for an answer that its limit asks for', () => {
  const left = (limit?: number) => promptBudget(20_000, limit);
  expect([left(), left(512), left(8000), left(64_000)]).toEqual([14_904, 18_488, 11_000, 9000]);
});

it('counts four ASCII characters as one token and others as one each', () => {
  expect(estimateTokens('')).toBe(0);
  expect(estimateTokens('abcd'.repeat(10))).toBe(10);
  expect(estimateTokens('abcde')).toBe(2);
  expect(estimateTokens('日本語')).toBe(3);
});

it('counts every part of a conversation', () => {
  expect(estimateTokens([{ role: 'user', content: 'abcd' }])).toBe(5);
  const picture = { type: 'file' as const, mediaType: 'image/png', data: 'A'.repeat(100_000) };
  expect(estimateTokens([{ role: 'user', content: [picture] }])).toBe(1004);
  const call = {
    type: 'tool-call' as const,
    toolCallId: 'a',
    toolName: 'look',
    input: { at: 'x'.repeat(400) },
  };
  expect(estimateTokens([{ role: 'assistant', content: [call] }])).toBeGreaterThan(100);
});
