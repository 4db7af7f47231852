import { globSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { afterEach, expect, it } from 'vitest';
import { startAgent, type TestAgent } from '../fixtures/start-agent.ts';

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
