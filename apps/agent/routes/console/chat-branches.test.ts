import { type ModelServer, startModelServer, temporaryDirectory, waitFor } from '@trunkline/testing';
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { ChatTurn } from '../../chats/transcript.ts';
import { modelEnvironment, post, startAgent, type TestAgent } from '../../fixtures/start-agent.ts';

let model: ModelServer;
let agent: TestAgent;
const home = temporaryDirectory();
const settings = () => ({
  home: home.path,
  env: modelEnvironment(model.url),
  config: 'knowledge: { embeddings: "off" }',
});
beforeAll(async () => {
  model = await startModelServer();
  agent = await startAgent(settings());
});
afterAll(async () => {
  await agent.stop();
  await model.stop();
  home.remove();
});

interface Shown {
  branch: string;
  branches: Record<string, string[]>;
  turns: ChatTurn[];
  chat: { title: string; state: string } | null;
}

const read = async <Body>(path: string) => (await (await agent.fetch(path)).json()) as Body;
const shown = (session: string, query = '') => read<Shown>(`/api/chat/sessions/${session}${query}`);
const send = async (path: string, body: object, method = 'POST') => {
  const response = await agent.fetch(path, { ...post(body), method });
  return { status: response.status, ...((await response.json()) as { task_id: string; branch: string }) };
};
const settled = (session: string, state = 'completed') =>
  waitFor(async () => {
    const { turns } = await shown(session);
    return turns.at(-1)?.state === state ? turns.at(-1) : undefined;
  });
const say = async (session: string, text: string, answer: string, more: object = {}) => {
  model.enqueue(answer);
  const { task_id } = await send(`/api/chat/sessions/${session}/messages`, { text, ...more });
  await settled(session);
  return task_id;
};
const fork = async (session: string, body: { task_id: string; text?: string }, answer: string) => {
  model.enqueue(answer);
  const made = await send(`/api/chat/sessions/${session}/branches`, body);
  if (made.status === 200) await settled(session);
  return made;
};
const said = ({ turns }: Shown) =>
  turns.map(({ entries }) => entries.map((entry) => ('text' in entry ? entry.text : entry.kind)).join(' | '));
/** What the model was last given of people and its own answers. */
const seen = () =>
  ((model.chats().at(-1)?.messages ?? []) as { role: string; content: unknown }[])
    .filter(({ role }) => role !== 'system')
    .map(({ content }) => content);

it('edits a message in a branch of its own: the model sees the path that is shown, and the old one is kept', async () => {
  const attachments = [{ name: 'a.txt', text: 'file text' }];
  await say('tree', 'One', 'First.');
  const second = await say('tree', 'Two', 'Second.', { attachments });
  await say('tree', 'Three', 'Third.');
  const edited = await fork('tree', { task_id: second, text: 'Zwei' }, 'Zweite.');
  expect(seen()).toEqual(['One', 'First.', expect.stringContaining('Zwei')]);
  expect(JSON.stringify(seen())).toContain('file text');
  const now = await shown('tree');
  expect(said(now)).toEqual(['One | First.', 'Zwei | Zweite.']);
  expect(now.branches).toEqual({ [edited.task_id]: ['tree', edited.branch] });

  await say('tree', 'Drei', 'Dritte.');
  expect(seen()).toEqual(['One', 'First.', expect.stringContaining('Zwei'), 'Zweite.', 'Drei']);
  const again = await fork('tree', { task_id: edited.task_id }, 'Noch einmal.');
  expect((await shown('tree')).branches[again.task_id]).toEqual(['tree', edited.branch, again.branch]);
  expect(said(await shown('tree'))).toEqual(['One | First.', 'Zwei | Noch einmal.']);

  await send('/api/chat/sessions/tree/branch', { branch: 'tree' }, 'PUT');
  expect(said(await shown('tree'))).toEqual(['One | First.', 'Two | Second.', 'Three | Third.']);
  await say('tree', 'Four', 'Fourth.');
  expect(seen()).toHaveLength(7);
  expect(JSON.stringify(seen())).not.toContain('Zwei');
  await say('tree', 'Vier', 'Vierte.', { branch: edited.branch });
  expect(said(await shown('tree'))).toEqual([
    'One | First.',
    'Zwei | Zweite.',
    'Drei | Dritte.',
    'Vier | Vierte.',
  ]);
});

it('keeps branches and the one that is shown over a restart, and lists the chat once', async () => {
  const before = await shown('tree');
  await agent.stop();
  agent = await startAgent(settings());
  expect(await shown('tree')).toEqual(before);
  const { sessions } = await read<{ sessions: object[] }>('/api/chat/sessions');
  expect(sessions).toMatchObject([{ session_id: 'tree', title: 'One' }]);
});

it('leaves a question of another branch where it is', async () => {
  model.enqueue({ toolCalls: [{ name: 'ask_human', arguments: { question: 'Which colour?' } }] });
  const { task_id } = await send('/api/chat/sessions/asks/messages', { text: 'Paint it' });
  await settled('asks', 'input-required');
  await fork('asks', { task_id, text: 'Leave it' }, 'I leave it.');
  expect(seen()).toEqual(['Leave it']);
  expect(await shown('asks')).toMatchObject({
    chat: { state: 'completed' },
    turns: [{ state: 'completed' }],
  });
  await say('asks', 'Thanks', 'Welcome.');
  expect(seen()).toEqual(['Leave it', 'I leave it.', 'Thanks']);
  await send('/api/chat/sessions/asks/branch', { branch: 'asks' }, 'PUT');
  expect(await shown('asks')).toMatchObject({ chat: { state: 'input-required' } });
  model.enqueue('Painted.');
  await send('/api/chat/sessions/asks/messages', { text: 'blue', task_id });
  await settled('asks');
  expect(JSON.stringify(seen())).not.toContain('leave');
});

it('makes a failed turn again, also one that failed before it began', async () => {
  const { task_id } = await send('/api/chat/sessions/fails/messages', { text: 'Try', skill: 'Plums' });
  const failed = await settled('fails', 'failed');
  expect(failed?.entries.at(-1)).toMatchObject({ kind: 'note', failed: true });
  const skill = { name: 'Plums', description: '', body: 'Be brief.' };
  expect((await send('/api/skills/plums', skill, 'PUT')).status).toBe(200);
  expect(await fork('fails', { task_id }, 'Done.')).toMatchObject({ status: 200 });
  expect(said(await shown('fails'))).toEqual(['Try | Done.']);
});

it('refuses turns and branches of another chat', async () => {
  const { turns } = await shown('asks');
  const task_id = turns[0]?.task_id ?? '';
  expect((await send('/api/chat/sessions/tree/branches', { task_id })).status).toBe(404);
  expect((await send('/api/chat/sessions/tree/branch', { branch: 'asks' }, 'PUT')).status).toBe(404);
  expect((await send('/api/chat/sessions/tree/messages', { text: 'Hi', branch: 'asks' })).status).toBe(404);
});

it('finds words in all branches, shows the place, and opens the branch that holds it', async () => {
  const { places } = await read<{ places: { task_id: string; session_id: string }[] }>(
    '/api/chat/search?q=NOCH%20ein',
  );
  expect(places).toMatchObject([
    { session_id: 'tree', title: 'One', by: 'agent', before: '', match: 'Noch ein', after: 'mal.' },
  ]);
  const found = await shown('tree', `?limit=1&task=${places[0]?.task_id}`);
  expect(said(found)).toEqual(['Zwei | Noch einmal.']);
  expect((await read<{ places: object[] }>('/api/chat/search?q=completed')).places).toEqual([]);
  expect((await agent.fetch('/api/chat/search?q=a')).status).toBe(400);
});

it('forgets a chat with all its branches', async () => {
  const { branch } = await shown('tree');
  await agent.fetch('/api/chat/sessions/tree', { method: 'DELETE' });
  expect((await shown('tree')).turns).toEqual([]);
  expect((await shown(branch)).turns).toEqual([]);
  expect((await read<{ places: object[] }>('/api/chat/search?q=Zweite')).places).toEqual([]);
});
