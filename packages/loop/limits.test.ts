import { createModelGateway } from '@trunkline/llm';
import { decideByDefault } from '@trunkline/policy';
import { waitFor } from '@trunkline/testing';
import { MockLanguageModelV4 } from 'ai/test';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import {
  add,
  askHuman,
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
  toolOf,
  turnOptions,
} from './turn.suite.ts';
import { runTurn } from './turn.ts';

stopServersAfterEach();

type Stream = Awaited<ReturnType<MockLanguageModelV4['doStream']>>['stream'];
type Part = Stream extends ReadableStream<infer Item> ? Item : never;

const finish = (unified: 'stop' | 'tool-calls'): Part => ({
  type: 'finish',
  finishReason: { unified, raw: undefined },
  usage: {
    inputTokens: { total: 1, noCache: 1, cacheRead: undefined, cacheWrite: undefined },
    outputTokens: { total: 1, text: 1, reasoning: undefined },
  },
});

describe('limits', () => {
  it('begins no tool of a turn that was stopped while its calls were being begun', async () => {
    const [stop, begun] = [new AbortController(), [] as string[]];
    const tool = (name: string) =>
      toolOf(name, async () => {
        begun.push(name);
        return 'done';
      });
    const server = await serve(() => calling(['first', {}], ['second', {}]));
    const options = turnOptions(server, { tools: [tool('first'), tool('second')], signal: stop.signal });
    for await (const event of runTurn(options)) if (event.type === 'tool-start') stop.abort();
    expect(begun).toEqual([]);
  });

  it('stops a model that never comes to an end, in words', async () => {
    const { server, events, last } = await play(() => calling(['add', { left: 1 }]), {
      tools: [add],
      limits: { ...limits, steps: 3 },
    });
    expect(server.chats()).toHaveLength(3);
    expect(last).toMatchObject({
      type: 'end',
      finishReason: 'steps',
      text: expect.stringContaining('I stopped after 3 steps'),
    });
    expect(ended(last).messages.at(-1)).toMatchObject({ role: 'assistant' });
    expect(spokenIn(events)).toBe(ended(last).text);
  });

  it('stops when the tokens are spent', async () => {
    const answer = { ...calling(['add', { left: 1 }]), usage: { input: 400, output: 100 } };
    const { server, last } = await play(() => answer, { tools: [add], limits: { ...limits, tokens: 900 } });
    expect(server.chats()).toHaveLength(2);
    expect(last).toMatchObject({
      finishReason: 'budget',
      usage: { totalTokens: 1000 },
      text: expect.stringContaining('1000 of 900 tokens'),
    });
  });

  it('stops when the money is spent, and adds up costs', async () => {
    const answer = { ...calling(['add', { left: 1 }]), usage: { input: 400, output: 100 } };
    const asked: string[] = [];
    const cost = (model: string) => {
      asked.push(model);
      return 0.25;
    };
    const { server, last } = await play(() => answer, {
      tools: [add],
      cost,
      limits: { ...limits, costUsd: 0.5 },
    });
    expect(server.chats()).toHaveLength(2);
    expect(asked).toEqual(['test-model', 'test-model']);
    expect(last).toMatchObject({
      finishReason: 'budget',
      usage: { costUsd: 0.5 },
      text: expect.stringContaining('$0.5000 of $0.5'),
    });
  });

  it('asks no model once the money of the policy is spent, and pays for summaries too', async () => {
    let paid = 0;
    const policy = {
      agent: 'ada',
      decide: decideByDefault,
      pay: (_: unknown, agent: string, usd: number) => {
        if (agent === 'ada') paid += usd;
      },
      outOfMoney: () => (paid >= 2 ? 'budgets[0] is spent' : undefined),
    };
    const long = [1, 2, 3].map((number) => ({ role: 'user' as const, content: `${number} `.repeat(300) }));
    const demo = createModelGateway({}).fastModel();
    const first = await play(['One.'], {
      policy,
      cost: () => 1,
      messages: long,
      compaction: { model: demo, tokens: 300, keepMessages: 1 },
    });
    expect(first.events.filter(({ type }) => type === 'compaction')).toMatchObject([{ summarised: true }]);
    expect([ended(first.last).text, paid]).toEqual(['One.', 2]);
    const second = await play(['Two.'], { policy, cost: () => 1 });
    expect(second.server.chats()).toEqual([]);
    expect(second.last).toMatchObject({
      type: 'end',
      finishReason: 'budget',
      text: expect.stringContaining('I stopped because budgets[0] is spent.'),
    });
  });

  it('goes on counting the money after a call whose price is not known', async () => {
    const paid: number[] = [];
    const prices = [1, undefined, 1, 1];
    const policy = {
      agent: 'ada',
      decide: decideByDefault,
      pay: (_who: unknown, _agent: string, usd: number) => void paid.push(usd),
    };
    const answer = { ...calling(['add', { left: 1 }]), usage: { input: 4, output: 1 } };
    const { last } = await play(() => answer, {
      tools: [add],
      policy,
      // Each call is asked for twice: by the name it answered with, and the configured one.
      cost: () => prices[paid.length],
      limits: { ...limits, costUsd: 2 },
    });
    expect(paid).toEqual([1, 0, 1]);
    expect(last).toMatchObject({ finishReason: 'budget', text: expect.stringContaining('$2.0000 of $2') });
    expect(ended(last).usage).not.toHaveProperty('costUsd');
  });

  it('lets an answer that spends the last of the budget stand', async () => {
    const { last } = await play([{ text: 'Done.', usage: { input: 500, output: 500 } }], {
      limits: { ...limits, tokens: 100 },
    });
    expect(last).toMatchObject({ finishReason: 'stop', text: 'Done.' });
  });

  it('leaves the cost out when it is not known', async () => {
    const { events, last } = await play([{ text: 'Hi', usage: { input: 1, output: 1 } }], {
      cost: () => undefined,
    });
    expect(ended(last).usage).toEqual({ inputTokens: 1, outputTokens: 1, totalTokens: 2 });
    expect(events).toContainEqual({ type: 'usage', inputTokens: 1, outputTokens: 1, totalTokens: 2 });
  });

  it('does not end a turn whose model still streams, be it words, thoughts or a long tool call', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    onTestFinished(() => void vi.useRealTimers());
    const many = <Piece>(piece: Piece): Piece[] => Array<Piece>(20).fill(piece);
    const thinking = many({ type: 'reasoning-delta' as const, id: 'r', delta: 'hm ' });
    const writing = many({ type: 'tool-input-delta' as const, id: 'c', delta: ' ' });
    const saying = many({ type: 'text-delta' as const, id: 't', delta: 'word ' });
    const call = { toolCallId: 'c', toolName: 'note', input: '{}' };
    const steps = [
      [
        { type: 'reasoning-start' as const, id: 'r' },
        ...thinking,
        { type: 'reasoning-end' as const, id: 'r' },
        { type: 'tool-input-start' as const, id: 'c', toolName: 'note' },
        ...writing,
        { type: 'tool-call' as const, ...call },
        finish('tool-calls'),
      ],
      [
        { type: 'text-start' as const, id: 't' },
        ...saying,
        { type: 'text-end' as const, id: 't' },
        finish('stop'),
      ],
    ];
    // Twenty pieces take more than the limit; the SDK reads a few ahead.
    const slowly = (parts: Part[]) => ({
      stream: new ReadableStream<Part>(
        {
          pull(controller) {
            vi.advanceTimersByTime(1500);
            const part = parts.shift();
            if (part === undefined) controller.close();
            else controller.enqueue(part);
          },
        },
        { highWaterMark: 0 },
      ),
    });
    const model = new MockLanguageModelV4({ doStream: async () => slowly(steps.shift() ?? []) });
    const options = { ...turnOptions(await serve([])), model, tools: [toolOf('note', async () => 'noted')] };
    const events = await collect(runTurn({ ...options, limits: { ...limits, turnTimeoutMs: 15_000 } }));
    expect(resultsOf(events)).toEqual([['note', 'noted']]);
    expect(events.at(-1)).toMatchObject({ type: 'end', text: 'word '.repeat(20) });
  });

  it('ends a turn that takes too long, with what it has', async () => {
    const { last } = await play([{ fault: 'stall', text: 'Half an answer' }], {
      limits: { ...limits, turnTimeoutMs: 1500 },
    });
    expect(last).toMatchObject({ type: 'error', code: 'turn-timeout', text: 'Half an answer' });
    expect(failed(last).message).toContain('longer than 1.5 s');
  });
});

describe('abort', () => {
  it('while the model speaks keeps what was said and drops the connection', async () => {
    const server = await serve([{ fault: 'stall', text: 'Half' }]);
    const aborter = new AbortController();
    const events = [];
    for await (const event of runTurn(turnOptions(server, { signal: aborter.signal }))) {
      events.push(event);
      if (event.type === 'text-delta') aborter.abort();
    }
    expect(events.at(-1)).toMatchObject({ type: 'error', code: 'aborted', text: 'Half' });
    expect(failed(events.at(-1)).messages.at(-1)).toEqual({ role: 'assistant', content: 'Half' });
    await waitFor(() => server.requests[0]?.abandoned);
  });

  it('while tools run stops them, closes every call and leaves a sound conversation', async () => {
    const aborter = new AbortController();
    const stuck = toolOf('stuck', () => {
      aborter.abort();
      return new Promise<string>(() => undefined);
    });
    const { events, last } = await play([calling(['stuck', {}], ['add', { left: 1 }])], {
      tools: [stuck, add],
      signal: aborter.signal,
    });
    expect(
      resultsOf(events)
        .map(([name]) => name)
        .sort(),
    ).toEqual(['add', 'stuck']);
    expect(last).toMatchObject({ type: 'error', code: 'aborted', message: expect.any(String) });
    expect(failed(last).messages.at(-1)).toMatchObject({
      role: 'tool',
      content: [{ toolName: 'stuck' }, { toolName: 'add' }],
    });
  });

  it('wins over a question that was to be asked', async () => {
    const aborter = new AbortController();
    const stuck = toolOf('stuck', () => {
      aborter.abort();
      return new Promise<string>(() => undefined);
    });
    const script = [calling(['ask_human', { question: 'Well?' }], ['stuck', {}])];
    const { last } = await play(script, { tools: [stuck, askHuman], signal: aborter.signal });
    expect(failed(last).code).toBe('aborted');
    expect(JSON.stringify(failed(last).messages.at(-1))).toContain(
      'Error: the turn was stopped before this was asked.',
    );
  });

  it('before the start calls nothing', async () => {
    const { server, events } = await play(['Hi'], { signal: AbortSignal.abort() });
    expect(events).toMatchObject([{ type: 'error', code: 'aborted' }]);
    expect(server.requests).toEqual([]);
  });

  it('is what leaving the stream early means', async () => {
    const server = await serve([{ fault: 'stall', text: 'Half' }]);
    for await (const event of runTurn(turnOptions(server))) if (event.type === 'text-delta') break;
    await waitFor(() => server.requests[0]?.abandoned);
  });

  it('reaches a tool when the stream is left early', async () => {
    const stopped = Promise.withResolvers<string>();
    const tool = toolOf('tool', (_, signal) => {
      signal.addEventListener('abort', () => stopped.resolve('stopped'));
      return new Promise<string>(() => undefined);
    });
    const server = await serve([calling(['tool', {}], ['add', { left: 1 }])]);
    for await (const event of runTurn(turnOptions(server, { tools: [tool, add] })))
      if (event.type === 'tool-end') break;
    expect(await stopped.promise).toBe('stopped');
  });
});
