import { type ModelServer, startModelServer, temporaryDirectory, waitFor } from '@trunkline/testing';
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { ChatTurn } from '../../chats/transcript.ts';
import { modelEnvironment, post, startAgent, type TestAgent } from '../../fixtures/start-agent.ts';

let model: ModelServer;
let agent: TestAgent;
const home = temporaryDirectory();
const begin = () =>
  startAgent({
    home: home.path,
    env: modelEnvironment(model.url),
    config: 'knowledge: { embeddings: "off" }',
  });

beforeAll(async () => {
  model = await startModelServer();
  agent = await begin();
});
afterAll(async () => {
  await agent.stop();
  await model.stop();
  home.remove();
});

interface Listed {
  session_id: string;
  title: string;
  origin: string;
  state: string;
}

const read = async <Body>(path: string) => (await (await agent.fetch(path)).json()) as Body;
const list = async (query = '') =>
  (await read<{ sessions: Listed[] }>(`/api/chat/sessions?${query}`)).sessions;
const titles = async (query: string) => (await list(query)).map(({ title }) => title);
const turnsOf = async (session: string) =>
  (await read<{ turns: ChatTurn[] }>(`/api/chat/sessions/${encodeURIComponent(session)}`)).turns;

it('lists chats from everywhere, each with where it began, and narrows the list', async () => {
  model.enqueue('One.', 'Two.', 'Three.', 'Four.');
  await agent.send('By another agent', { contextId: 'from-agent' });
  await agent.send('In the terminal', { contextId: 'from-terminal' }, { metadata: { channel: 'terminal' } });
  await agent.fetch('/api/chat', post({ message: 'By the chat API', session_id: 'from-api' }));
  await agent.fetch('/api/inbox', post({ text: 'The bell rang', priority: 'now', source: 'door' }));
  await waitFor(async () => (await list('from=inbox'))[0]?.state === 'completed');
  expect((await list()).map(({ session_id, origin }) => [session_id, origin])).toEqual([
    ['system:activity', 'inbox'],
    ['from-api', 'chat'],
    ['from-terminal', 'terminal'],
    ['from-agent', 'a2a'],
  ]);
  expect(await titles('from=people')).toEqual(['By the chat API', 'In the terminal']);
  expect(await titles('from=a2a')).toEqual(['By another agent']);
  expect((await titles('from=inbox'))[0]).toMatch(/^The bell rang/);
  expect(await titles('from=all&q=agent')).toEqual(['By another agent']);
  expect((await agent.fetch('/api/chat/sessions?from=nowhere')).status).toBe(400);
});

it('tells a chat of another agent with its words and tools, and goes on with it', async () => {
  model.enqueue({ toolCalls: [{ name: 'calculator', arguments: { expression: '6*7' } }] }, 'It is 42.');
  await agent.send('What is 6*7?', { contextId: 'sums' });
  expect((await turnsOf('sums'))[0]?.entries).toMatchObject([
    { kind: 'user', text: 'What is 6*7?' },
    { kind: 'tool', name: 'calculator', result: '6*7 = 42' },
    { kind: 'text', text: 'It is 42.' },
  ]);
  model.enqueue('Half is 21.');
  await agent.fetch('/api/chat/sessions/sums/messages', post({ text: 'And half of it?' }));
  await waitFor(
    async () => (await turnsOf('sums')).at(-1)?.state === 'completed' && (await turnsOf('sums'))[1],
  );
  expect(JSON.stringify(model.chats().at(-1)?.messages)).toContain('It is 42.');
  expect((await list('from=a2a')).find(({ session_id }) => session_id === 'sums')?.title).toBe(
    'What is 6*7?',
  );
});

it('has a question to another agent answered here, also after a restart', async () => {
  model.enqueue({ toolCalls: [{ name: 'ask_human', arguments: { question: 'Which colour?' } }] });
  const task = await agent.send('Paint it', { contextId: 'paint' });
  expect(task.status.state).toBe('input-required');
  expect((await list('q=paint'))[0]).toMatchObject({ state: 'input-required', origin: 'a2a' });
  await agent.stop();
  agent = await begin();
  model.enqueue('Painted.');
  const answer = { text: 'blue', task_id: task.id };
  expect((await agent.fetch('/api/chat/sessions/paint/messages', post(answer))).status).toBe(200);
  await waitFor(async () => (await turnsOf('paint'))[0]?.state === 'completed');
  expect((await turnsOf('paint'))[0]?.entries.map(({ kind }) => kind)).toEqual([
    'user',
    'question',
    'user',
    'text',
  ]);
});

it('leaves turns of schedules to the activity', async () => {
  model.enqueue('Stretched.');
  const metadata = { scheduler_job_id: 'job-1', channel: 'a2a' };
  await agent.send('Time to stretch', { contextId: 'fired' }, { metadata });
  expect(await titles('q=stretch')).toEqual([]);
});
