import { afterAll, beforeAll, expect, it } from 'vitest';
import { answerText, startAgent, type TestAgent } from '../fixtures/start-agent.ts';

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
