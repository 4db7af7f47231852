import { type ModelServer, type ScriptedReply, startModelServer, waitFor } from '@trunkline/testing';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { answerText, modelEnvironment, startAgent, type TestAgent } from '../fixtures/start-agent.ts';

const config = `
budget: { steps: 3, tokens: 5000, turn_timeout_s: 4 }
`;

describe('when the model fails', () => {
  let model: ModelServer;
  let agent: TestAgent;

  beforeAll(async () => {
    model = await startModelServer();
    agent = await startAgent({ env: modelEnvironment(model.url), config });
  });
  afterEach(() => model.release());
  afterAll(async () => {
    await agent.stop();
    await model.stop();
  });

  const limited: ScriptedReply = { fault: 'status', status: 429, retryAfter: '0' };
  const broken: ScriptedReply = { fault: 'status', status: 500, retryAfter: '0' };
  const calling = (name: string, args: unknown): ScriptedReply => ({
    toolCalls: [{ name, arguments: args }],
  });
  const looping = [1, 2, 3].map((step) => calling('calculator', { expression: `${step}+1` }));
  const cases: { name: string; replies: ScriptedReply[]; words: RegExp }[] = [
    {
      name: 'answers 429 for good',
      replies: [limited, limited, limited],
      words: /limits the rate.*Wait a little/,
    },
    { name: 'answers 500 for good', replies: [broken, broken, broken], words: /endpoint failed.*Try again/ },
    { name: 'refuses the key', replies: [{ fault: 'status', status: 401 }], words: /LLM_API_KEY/ },
    { name: 'stalls', replies: [{ fault: 'stall', text: 'One moment' }], words: /longer than 4 s/ },
    {
      name: 'cuts its stream',
      replies: [{ fault: 'cut', text: 'Once upon' }],
      words: /broke off.*Try again/,
    },
    { name: 'loops for ever', replies: looping, words: /stopped after 3 steps.*Ask me to go on/ },
    {
      name: 'spends the budget',
      replies: [
        { ...(calling('calculator', { expression: '1+1' }) as object), usage: { input: 6000, output: 1 } },
      ],
      words: /budget of this turn is spent \(6001 of 5000 tokens\)/,
    },
    { name: 'says nothing', replies: [{ text: '' }, { text: '' }], words: /answered with nothing/ },
  ];

  it('a task that waits for a rate-limited model says so, and is cancelled in the middle of the wait', async () => {
    model.enqueue({ fault: 'status', status: 429, retryAfter: '50' });
    const message = { role: 'user', parts: [{ kind: 'text', text: 'Do it.' }] };
    const { result } = await agent.rpc('message/send', { message, configuration: { blocking: false } });
    const { id } = result;
    const told = await waitFor(async () => {
      const task = await agent.rpc('tasks/get', { id });
      return task.result.status.message?.parts[0]?.text;
    });
    expect(told).toBe('The model endpoint limits the rate of calls; trying again in 50 s');
    const asked = model.chats().length;
    expect((await agent.rpc('tasks/cancel', { id })).result.status.state).toBe('canceled');
    model.enqueue('All well.');
    expect(answerText(await agent.send('And now?'))).toBe('All well.');
    expect(model.chats().length).toBe(asked + 1);
  });

  it.each(cases)('the task fails in words when it $name, and the next turn works [A108]', async (fault) => {
    model.enqueue(...fault.replies);
    const failed = await agent.send('Do it.');
    expect(failed.status.state).toBe('failed');
    expect(answerText(failed)).toMatch(fault.words);
    expect(JSON.stringify(failed)).not.toContain('test-key');
    model.enqueue('All well.');
    const next = await agent.send('And now?', { contextId: failed.contextId });
    expect([next.status.state, answerText(next)]).toEqual(['completed', 'All well.']);
  });

  it.each([
    ['malformed arguments', { name: 'calculator', arguments: '{"expression": 1+' }, /not valid JSON/],
    ['a wrong type', { name: 'calculator', arguments: { expression: 7 } }, /Error: .*expression/s],
    ['an unknown tool', { name: 'teleport', arguments: {} }, /no tool named "teleport"/],
  ])('tells the model of %s and lets it mend the call', async (_, call, told) => {
    model.enqueue({ toolCalls: [call] }, 'I did without.');
    const task = await agent.send('Do it.');
    expect([task.status.state, answerText(task)]).toEqual(['completed', 'I did without.']);
    expect(model.chats().at(-1)?.messages.at(-1)?.content).toMatch(told);
  });
});

it('stops a turn whose money is spent, helpers included', async () => {
  const model = await startModelServer();
  const agent = await startAgent({
    env: modelEnvironment(model.url),
    config: `
model: { prices: { test-model: { input: 1000, output: 1000 } } }
budget: { cost_usd: 5 }
subagents: [{ name: helper, description: Helps }]
`,
  });
  model.enqueue(
    {
      toolCalls: [{ name: 'task', arguments: { agent: 'helper', prompt: 'dig' } }],
      usage: { input: 1000, output: 0 },
    },
    { text: 'dug', usage: { input: 4000, output: 500 } },
  );
  const task = await agent.send('Have it dug.');
  expect(task.status.state).toBe('failed');
  expect(answerText(task)).toMatch(/budget of this turn is spent \(\$1\.0000/);
  expect(task.data?.usage?.total_tokens).toBe(5500);
  await agent.stop();
  await model.stop();
});
