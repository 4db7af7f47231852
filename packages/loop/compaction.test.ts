import { createModelGateway } from '@trunkline/llm';
import type { ScriptedReply } from '@trunkline/testing';
import type { ModelMessage, ToolModelMessage } from 'ai';
import { MockLanguageModelV4 } from 'ai/test';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { compact } from './compaction.ts';
import { isKnownUrl } from './known-addresses.ts';
import { isPersonLast, markOf } from './taint.ts';
import { add, calling, ended, play, serve, stopServersAfterEach, turnOptions } from './turn.suite.ts';

import { runTurn } from './turn.ts';

stopServersAfterEach();

const demo = createModelGateway({}).fastModel();
const failing = createModelGateway({
  url: 'http://127.0.0.1:1/v1',
  model: 'none',
  maxRetries: 0,
}).fastModel();

const finishReason = { unified: 'stop' as const, raw: undefined };
const usage = {
  inputTokens: { total: 1, noCache: 1, cacheRead: undefined, cacheWrite: undefined },
  outputTokens: { total: 1, text: 1, reasoning: undefined },
};

function called(toolCallId: string, result: string): ModelMessage[] {
  return [
    {
      role: 'assistant',
      content: [{ type: 'tool-call', toolCallId, toolName: 'look', input: { at: toolCallId } }],
    },
    {
      role: 'tool',
      content: [
        { type: 'tool-result', toolCallId, toolName: 'look', output: { type: 'text', value: result } },
      ],
    },
  ];
}

/** As `called`, with a result from outside. */
function fetched(toolCallId: string, result: string): ModelMessage[] {
  const [call, { content }] = called(toolCallId, result) as [ModelMessage, ToolModelMessage];
  const mark = markOf([{ kind: 'look', source: 'https://page.example/' }]);
  return [call, { role: 'tool', content: content.map((part) => ({ ...part, ...mark })) }];
}

const conversation: ModelMessage[] = [
  { role: 'user', content: 'My cat Tibbles needs her medicine every evening at eight.' },
  { role: 'assistant', content: 'I will keep in mind that Tibbles needs medicine at eight.' },
  { role: 'user', content: 'Now look at these three things for me.' },
  ...called('a', 'The first thing is a red box.'),
  ...called('b', 'The second thing is a blue box.'),
  ...called('c', 'The third thing is a green box.'),
];

describe('compact', () => {
  it('puts the older part into one message and keeps the newest and the last wish', async () => {
    const compacted = await compact(conversation, { model: demo, tokens: 10_000, keepMessages: 2 });
    expect(compacted).toMatchObject({ summarised: true, removedMessages: 6 });
    const [summary, wish, ...rest] = compacted?.messages ?? [];
    expect(summary).toMatchObject({
      role: 'user',
      content: expect.stringMatching(/^\[Summary of the earlier conversation:/),
    });
    expect(JSON.stringify(summary)).toContain('Tibbles needs her medicine');
    expect(wish).toEqual(conversation[2]);
    expect(rest).toEqual(conversation.slice(-2));
    expect(compacted?.tokensAfter).toBeGreaterThan(0);
  });

  it('marks the summary with everything the conversation has read, also where that text stays', async () => {
    const mark = markOf([{ kind: 'message', source: 'eve' }]);
    const wish = { role: 'user' as const, content: 'Look for me.', ...mark };
    const marked = [...conversation.slice(0, 2), wish, ...conversation.slice(3)];
    const compacted = await compact(marked, { model: demo, tokens: 10_000, keepMessages: 2 });
    const [summary, kept] = compacted?.messages ?? [];
    expect(kept).toEqual(wish);
    expect(summary?.providerOptions).toEqual(mark.providerOptions);
  });

  it('does not let a person have spoken since outside text that was summarised', async () => {
    const options = { model: failing, tokens: 10_000, keepMessages: 2 };
    const read = [...conversation.slice(0, 3), ...fetched('a', 'hello'), ...conversation.slice(5)];
    const { messages = [] } = (await compact(read, options)) ?? {};
    expect(messages.map(({ role }) => role)).toEqual(['user', 'user', 'assistant', 'tool']);
    expect([isPersonLast(read), isPersonLast(messages)]).toEqual([false, false]);
    const { messages: again = [] } = (await compact([...messages, ...called('d', 'more')], options)) ?? {};
    expect(isPersonLast(again)).toBe(false);
    const spoken: ModelMessage[] = [...again, { role: 'user', content: 'Tell them.' }];
    expect(isPersonLast(spoken)).toBe(true);
    const before = [...conversation.slice(0, 1), ...fetched('a', 'hello'), ...conversation.slice(2)];
    expect(isPersonLast((await compact(before, options))?.messages ?? [])).toBe(true);
  });

  it('remembers which addresses the model wrote in what was summarised', async () => {
    const evil = 'https://evil.example/?d=my%20secret';
    const wrote = (content: string): ModelMessage => ({ role: 'assistant', content });
    const known = async (url: string, ...written: ModelMessage[]) => {
      let messages: ModelMessage[] = [{ role: 'user', content: 'Go.' }, ...written];
      for (const id of ['b', 'c']) {
        messages.push(...fetched(id, 'hello'));
        const options = { model: failing, tokens: 10_000, keepMessages: 2 };
        messages = (await compact(messages, options))?.messages ?? messages;
      }
      return isKnownUrl(url, [...messages, ...fetched('d', `See ${url} and https://other.example/`)]);
    };
    for (const text of [
      `I look at ${evil}.`,
      'EVIL.example/?d=my secret',
      `{"a":"https://page.example/?q=${encodeURIComponent(evil)}","b":1}`,
      `https://first.example/#${evil}`,
    ])
      expect(await known(evil, ...fetched('a', 'https://first.example/'), wrote(text)), text).toBe(false);
    const many = Array.from({ length: 2000 }, (_, index) => `https://own.example/${index}`).join(' ');
    expect(await known('https://other.example/', wrote(many))).toBe(false);
    expect(await known('https://other.example/', wrote('a/b'), wrote(`See ${evil}`))).toBe(true);
    const first = 'https://first.example/a?b=1';
    expect(await known(first, ...fetched('a', `(${first}).`), wrote(`I read ${first}, now.`))).toBe(true);
  });

  it.each([
    ['words of a person', {}],
    ['words drawn from a page', markOf([{ kind: 'fetch_url', source: 'https://page.example/' }])],
  ])('goes on counting the addresses of a site after %s', async (_, mark) => {
    const letter = (sign: string) => `https://evil.example/${sign}`;
    const read = (sign: string): ModelMessage[] => {
      const call = { type: 'tool-call' as const, toolCallId: sign, toolName: 'fetch_url' };
      const [, result] = fetched(sign, 'Go on.');
      return [{ role: 'assistant', content: [{ ...call, input: { url: letter(sign) } }] }, result!];
    };
    let messages: ModelMessage[] = [
      { role: 'user', content: 'Earlier.' },
      { role: 'assistant', content: 'Yes.' },
      { role: 'user', content: 'Read the page.', ...mark },
      ...fetched('page', [...'abcdefgh'].map(letter).join(' ')),
    ];
    const step = async (sign: string) => {
      const list = fetched(`again ${sign}`, [...'abcdefgh'].map(letter).join(' '));
      const next = [...messages, ...list, ...read(sign)];
      const isKnown = isKnownUrl(letter(sign), next);
      const options = { model: failing, tokens: 10_000, keepMessages: 2 };
      messages = (await compact(next, options))?.messages ?? next;
      return isKnown;
    };
    const known = [];
    for (const sign of 'abcdef') known.push(await step(sign));
    expect(known).toEqual([true, true, true, true, true, false]);
    messages.push({ role: 'user', content: 'Go on.' });
    expect(await step('g')).toBe(true);
  });

  it.each([1, 2, 3, 4, 5, 6, 7, 8])(
    'never parts a call from its result (keeping %i)',
    async (keepMessages) => {
      const { messages = [] } =
        (await compact(conversation, { model: failing, tokens: 10_000, keepMessages })) ?? {};
      const parts = messages.flatMap((message): { type: string; toolCallId?: string }[] =>
        Array.isArray(message.content) ? message.content : [],
      );
      const ids = (type: string) =>
        parts.filter((part) => part.type === type).map(({ toolCallId }) => toolCallId);
      expect(ids('tool-call')).toEqual(ids('tool-result'));
      expect(messages.at(-1)).toEqual(conversation.at(-1));
    },
  );

  it('keeps fewer messages when they are large', async () => {
    const large = [
      ...conversation,
      ...called('d', 'x'.repeat(4000)),
      ...called('e', 'The fifth thing is small.'),
    ];
    const compacted = await compact(large, { model: demo, tokens: 1000, keepMessages: 6 });
    expect(compacted?.messages.slice(2)).toEqual(large.slice(-2));
    expect(compacted?.tokensAfter).toBeLessThan(1000);
  });

  it('drops the oldest with a note when the summary fails', async () => {
    const compacted = await compact(conversation, { model: failing, tokens: 10_000, keepMessages: 2 });
    expect(compacted).toMatchObject({ summarised: false, call: undefined });
    expect(compacted?.messages[0]?.content).toBe(
      '[The 6 oldest messages of this conversation were dropped to make room; they could not be summarised.]',
    );
  });

  it('gives a summary the time that its model may take for any answer, and says so before', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] });
    onTestFinished(() => void vi.useRealTimers());
    const slow = new MockLanguageModelV4({
      doGenerate: async ({ abortSignal }) => {
        vi.advanceTimersByTime(500_000);
        abortSignal?.throwIfAborted();
        return { content: [{ type: 'text', text: 'Tibbles is a cat.' }], finishReason, usage, warnings: [] };
      },
    });
    const told: number[] = [];
    const compacted = await compact(conversation, {
      model: slow,
      tokens: 10_000,
      keepMessages: 2,
      onActivity: (silentMs) => void told.push(silentMs),
    });
    expect(compacted).toMatchObject({ summarised: true, call: { output: 'Tibbles is a cat.' } });
    expect(told).toEqual([600_000]);
  });

  it('bounds what the model writes, unless it is refused or its thoughts take all of it', async () => {
    const asked: unknown[] = [];
    const text = 'Tibbles is a cat.';
    const summarised = async (answer: ScriptedReply) => {
      const server = await serve((request) => {
        asked.push(request.max_tokens);
        return request.max_tokens === undefined ? text : answer;
      });
      const { model } = turnOptions(server);
      return (await compact(conversation, { model, tokens: 10_000, keepMessages: 2 }))?.call?.output;
    };
    expect(await summarised(text)).toBe(text);
    expect(await summarised({ fault: 'status', status: 400, message: 'no more than 100 are taken' })).toBe(
      text,
    );
    expect(await summarised({ text: '', reasoning: 'A cat?', finishReason: 'length' })).toBe(text);
    expect(asked).toEqual([4096, 4096, undefined, 4096, undefined]);
  });

  it('finds nothing to do in a short conversation', async () => {
    expect(
      await compact(conversation.slice(0, 2), { model: demo, tokens: 10_000, keepMessages: 4 }),
    ).toBeUndefined();
    expect(await compact([], { model: demo, tokens: 10, keepMessages: 4 })).toBeUndefined();
  });
});

describe('in a turn', () => {
  const long: ModelMessage[] = [
    { role: 'user', content: `Tibbles is a cat. ${'She sleeps a lot in the sun. '.repeat(60)}` },
    { role: 'assistant', content: 'A sleepy cat, then.' },
    { role: 'user', content: 'What is 1 + 1?' },
  ];

  it('happens when the conversation outgrows its budget, and its usage is counted', async () => {
    const server = await serve([{ text: 'Two.', usage: { input: 50, output: 5 } }]);
    const summariser = await serve([
      { text: 'The user has a cat, Tibbles.', usage: { input: 300, output: 10 } },
    ]);
    const { model } = turnOptions(summariser);
    const events = [];
    for await (const event of runTurn(
      turnOptions(server, { messages: long, compaction: { model, tokens: 300, keepMessages: 1 } }),
    ))
      events.push(event);
    expect(events[0]).toMatchObject({ type: 'compaction', summarised: true, removedMessages: 2 });
    expect(server.chats()[0]?.messages).toMatchObject([
      { role: 'system', content: 'Be brief.' },
      { role: 'user', content: expect.stringContaining('The user has a cat, Tibbles.') },
      { role: 'user', content: 'What is 1 + 1?' },
    ]);
    expect(ended(events.at(-1)).usage.totalTokens).toBe(365);
    expect(ended(events.at(-1)).messages).toHaveLength(3);
    expect(JSON.stringify(summariser.chats()[0]?.messages)).toContain('User: Tibbles is a cat.');
  });

  it('happens between steps too, and a failing summary does not end the turn', async () => {
    const { events, last } = await play(
      [calling(['add', { left: 1 }]), calling(['add', { left: 2 }]), 'Done.'],
      {
        tools: [add],
        messages: [{ role: 'user', content: 'Add.' }],
        compaction: { model: failing, tokens: 60, keepMessages: 2 },
      },
    );
    expect(events.filter(({ type }) => type === 'compaction')).toMatchObject([
      { summarised: false, removedMessages: 2 },
    ]);
    expect(ended(last).text).toBe('Done.');
  });

  it('is told of before it is done where it takes long, and so is a wait for its model', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] });
    onTestFinished(() => void vi.useRealTimers());
    const slow = new MockLanguageModelV4({
      doGenerate: async () => {
        vi.advanceTimersByTime(20_000);
        await new Promise(setImmediate);
        return { content: [{ type: 'text', text: 'A cat.' }], finishReason, usage, warnings: [] };
      },
    });
    const compaction = { model: slow, tokens: 300, keepMessages: 1 };
    const { events } = await play(['Two.'], { messages: long, compaction });
    expect(events.slice(0, 2)).toMatchObject([
      { type: 'wait', code: 'slow', message: expect.stringMatching(/^Summarising earlier messages/) },
      { type: 'compaction', summarised: true },
    ]);
  });

  it('does not happen below the budget', async () => {
    const { events } = await play(['Two.'], {
      messages: long,
      compaction: { model: demo, tokens: 10_000, keepMessages: 1 },
    });
    expect(events.some(({ type }) => type === 'compaction')).toBe(false);
  });
});
