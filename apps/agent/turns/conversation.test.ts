import { createModelGateway } from '@trunkline/llm';
import { type ModelServer, startModelServer } from '@trunkline/testing';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest';
import { answerText, modelEnvironment, startAgent, type TestAgent } from '../fixtures/start-agent.ts';
import { configSchema } from '../setup/config-schema.ts';
import { compileGraph, type Graph } from './graph.ts';
import { runSubagent, Spending, subagentTools } from './subagents.ts';

describe('a conversation over A2A', () => {
  let model: ModelServer;
  let agent: TestAgent;

  beforeEach(async () => {
    model = await startModelServer();
    agent = await startAgent({ env: modelEnvironment(model.url) });
  });
  afterEach(async () => {
    await agent.stop();
    await model.stop();
  });

  it('completes a task with a tool and tells what it used [A001] [A015] [A016] [A017] [A019] [A020]', async () => {
    model.enqueue(
      {
        toolCalls: [{ name: 'calculator', arguments: { expression: '6*7' } }],
        usage: { input: 10, output: 5 },
      },
      { text: 'It is 42.', usage: { input: 20, output: 7 } },
    );
    const task = await agent.send('What is six times seven?');
    expect(task).toMatchObject({ kind: 'task', id: expect.any(String), contextId: expect.any(String) });
    expect(task.status.state).toBe('completed');
    expect(answerText(task)).toBe('It is 42.');
    expect(task.data).toEqual({
      usage: { input_tokens: 30, output_tokens: 12, total_tokens: 42 },
      durationMs: expect.any(Number),
    });
    const results = model.chats()[1]?.messages.filter(({ role }) => role === 'tool');
    expect(results).toMatchObject([{ content: '6*7 = 42' }]);
  });

  it('remembers what was said in the same context and nothing of another [A013]', async () => {
    model.enqueue('Hello Ada.', 'Your name is Ada.', 'I do not know.');
    const first = await agent.send('I am Ada.');
    await agent.send('Who am I?', { contextId: first.contextId });
    await agent.send('Who am I?');
    const [, second, third] = model.chats().map(({ messages }) => messages.map(({ content }) => content));
    expect(second).toEqual(expect.arrayContaining(['I am Ada.', 'Hello Ada.', 'Who am I?']));
    expect(third).not.toContain('I am Ada.');
  });

  it('asks, waits, and goes on from the answer [A012] [A018] [A075] [A106] [A107]', async () => {
    model.enqueue(
      { text: 'Let me ask.', toolCalls: [{ name: 'ask_human', arguments: { question: 'Red or blue?' } }] },
      'Blue it is.',
    );
    const parked = await agent.send('Paint the shed.');
    expect(parked.status.state).toBe('input-required');
    expect(answerText(parked)).toBe('Red or blue?');
    const done = await agent.send('blue', { taskId: parked.id, contextId: parked.contextId });
    expect(done).toMatchObject({ id: parked.id, status: { state: 'completed' } });
    expect(answerText(done)).toContain('Blue it is.');
    expect(model.chats()[1]?.messages.at(-1)).toMatchObject({ role: 'tool', content: 'blue' });
  });
});

describe('demo', () => {
  let agent: TestAgent;

  beforeAll(async () => {
    agent = await startAgent({ config: 'knowledge: { embeddings: "off" }' });
  });
  afterAll(() => agent.stop());

  it('does without any setting: arithmetic, memory, a question and its answer [A075] [A081] [A082]', async () => {
    expect(answerText(await agent.send('What is 12 * 34?'))).toContain('408');
    await agent.send('Remember that my door code is 4711');
    expect(answerText(await agent.send('What is my door code?'))).toContain('4711');
    const parked = await agent.send('Ask me which colour I like');
    expect(parked.status.state).toBe('input-required');
    const done = await agent.send('green', { taskId: parked.id });
    expect([done.status.state, answerText(done)]).toEqual(['completed', expect.stringContaining('green')]);
  });

  it('takes and shows a form [A076]', async () => {
    const parked = await agent.send('Show me a form for name and city');
    expect(parked.status.state).toBe('input-required');
    expect(JSON.stringify(parked.status.message)).toContain('"city"');
  });
});

it('the turn is told while the model of a helper is at work', async () => {
  const server = await startModelServer({ script: ['a hole'] });
  onTestFinished(() => server.stop());
  const gateway = createModelGateway({ url: server.url, model: 'm', maxRetries: 0 });
  const limits = { steps: 4, toolTimeoutMs: 60_000, turnTimeoutMs: 60_000 };
  const graph = {
    model: (name?: string) => gateway.languageModel(name),
    subagents: [{ name: 'digger', description: 'Digs', instructions: '', steps: 4 }],
    tools: [],
    limits: () => limits,
  } as unknown as Graph;
  const onActivity = vi.fn();
  const context = { sessionId: 's', signal: new AbortController().signal, onActivity };
  const deps = { graph, spending: new Spending(limits), onEvent: () => undefined };
  expect(await runSubagent('digger', 'dig', context, deps)).toBe('a hole');
  expect(onActivity).toHaveBeenCalled();
});

it.each([
  ['as long as the model may take to begin', {}, 1800, 1805],
  ['15 minutes where that is longer', {}, 60, 900],
  ['as configured', { turn_timeout_s: 20 }, 1800, 20],
])('a turn waits for a silent model %s', (_, budget, firstToken, expected) => {
  const gateway = createModelGateway({
    url: 'http://127.0.0.1:9/v1',
    model: 'm',
    firstTokenTimeoutMs: firstToken * 1000,
  });
  const config = configSchema.parse({ budget, subagents: [{ name: 'digger', description: 'Digs' }] });
  const graph = compileGraph({
    agentName: 'core',
    config,
    gateway,
    tools: [],
    approvals: {} as never,
    skills: [],
    policy: {} as never,
  });
  const { turnTimeoutMs } = graph.limits(graph.model());
  const deps = { graph, spending: new Spending(graph.limits(graph.model())), onEvent: () => undefined };
  // The tools that hand work to a helper wait as long as its turn.
  const waits = [turnTimeoutMs, ...subagentTools(deps).map(({ timeoutMs = 0 }) => timeoutMs)];
  expect(waits).toEqual(Array.from({ length: 3 }, () => expected * 1000));
});
