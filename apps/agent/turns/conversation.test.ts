import { type ModelServer, startModelServer } from '@trunkline/testing';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { answerText, modelEnvironment, startAgent, type TestAgent } from '../fixtures/start-agent.ts';

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
