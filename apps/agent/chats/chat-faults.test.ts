import { globSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { startModelServer } from '@trunkline/testing';
import { afterEach, expect, it } from 'vitest';
import { answerText, modelEnvironment, startAgent, type TestAgent } from '../fixtures/start-agent.ts';
import type { ChatTurn } from './transcript.ts';

let agent: TestAgent;
afterEach(() => agent.stop());

const titles = async () => {
  const listed = (await (await agent.fetch('/api/chat/sessions?limit=30&from=all')).json()) as {
    sessions: { title: string; state: string }[];
  };
  return listed.sessions.map(({ title, state }) => `${title}: ${state}`);
};

it('a chat that cannot be written for a while holds up no turn, and is kept once there is room', async () => {
  agent = await startAgent();
  const [file = ''] = globSync('**/turns.db', { cwd: agent.home });
  const disk = new DatabaseSync(join(agent.home, file));
  disk.exec(`CREATE TRIGGER full BEFORE INSERT ON chat_turn BEGIN SELECT RAISE(ABORT, 'no room'); END`);
  expect((await agent.send('What is 2 + 3?')).status.state).toBe('completed');
  expect(await titles()).toEqual([]);
  disk.exec('DROP TRIGGER full');
  disk.close();
  await expect.poll(titles, { timeout: 10_000 }).toEqual(['What is 2 + 3?: completed']);
});

it('shows what the model thinks apart from the answer, and sends it back to nobody', async () => {
  const model = await startModelServer();
  agent = await startAgent({ env: modelEnvironment(model.url) });
  model.enqueue('<think>\nThey greet.\n</think>\n\nHello!', 'Bye.');
  const task = await agent.send('Hi', { contextId: 'thinking' });
  expect(answerText(task)).toBe('Hello!');
  const turns = async () =>
    ((await (await agent.fetch('/api/chat/sessions/thinking')).json()) as { turns: ChatTurn[] }).turns;
  expect((await turns())[0]?.entries).toMatchObject([
    { kind: 'user' },
    { kind: 'reasoning', text: 'They greet.\n' },
    { kind: 'text', text: 'Hello!' },
  ]);
  await agent.send('Go on', { contextId: 'thinking' });
  expect(JSON.stringify(model.chats().at(-1))).not.toContain('They greet');
  await model.stop();
});
