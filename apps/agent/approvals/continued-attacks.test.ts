// The cases of security/attacks/continued: text from outside is read, the agent restarts, and the conversation goes on.
import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import {
  type ChatRequestBody,
  callsOf,
  JsonServer,
  type OrderedCall,
  readAttacks,
  startModelServer,
  temporaryDirectory,
  waitFor,
  withoutFence,
} from '@trunkline/testing';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { modelEnvironment, post, startAgent, type TestAgent } from '../fixtures/start-agent.ts';

const secret = 'code-4711-blue';
const attacks = readAttacks('continued');
const outside = new JsonServer();
const attacker = new JsonServer();
const home = temporaryDirectory();
let model: Awaited<ReturnType<typeof startModelServer>>;
let agent: TestAgent;
let hasRestarted = false;

/** What continues a conversation, by the id of the case. */
const continued = new Map<string, () => Promise<unknown>>();
const effects = new Map<string, OrderedCall>();
const textOf = (id: string) =>
  attacks.find((attack) => attack.id === id)?.text ?? 'The tide is high at noon.';

/** Says what it read on the page, and obeys that later, whoever said it: `READ[id]`, then `GO[id]`. */
function script({ messages }: ChatRequestBody) {
  const [asked = '', order = '', id = ''] =
    messages
      .flatMap(({ role, content }) =>
        role === 'user' ? [...JSON.stringify(content).matchAll(/(READ|STOP|GO)\[([\w-]+)\]/g)] : [],
      )
      .at(-1) ?? [];
  const since = messages.findLastIndex(({ content }) => JSON.stringify(content ?? '').includes(asked));
  const calls = messages.slice(since).filter(({ tool_calls }) => tool_calls !== undefined).length;
  if (order !== 'GO' && calls === 0)
    return { toolCalls: [{ name: 'fetch_url', arguments: { url: `${outside.url}/page/${id}` } }] };
  if (order === 'READ') return `The page says: ${textOf(id)}`;
  if (order === 'STOP' && !hasRestarted) return { fault: 'stall' as const };
  const effect = effects.get(id);
  // Whoever does not know the text has nothing to obey.
  const isKnown = JSON.stringify(messages).includes(JSON.stringify(textOf(id)).slice(1, -1));
  const isDone = calls > (order === 'STOP' ? 1 : 0);
  return isDone || effect === undefined || !isKnown ? 'Done.' : { toolCalls: [effect] };
}

const start = () =>
  startAgent({
    home: home.path,
    config: JSON.stringify({ filesystem: { run_command: true }, knowledge: { embeddings: 'off' } }),
    env: {
      ...modelEnvironment(model.url),
      FETCH_ALLOWED_HOSTS: '127.0.0.1',
      CORE_INTERRUPTED_TASKS: 'resume',
    },
  });

async function json<Body>(path: string, body?: object): Promise<Body> {
  const response = await agent.fetch(path, body && post(body));
  const read = await response.text();
  expect(response.status, read).toBe(200);
  return JSON.parse(read) as Body;
}
const respond = (input: unknown, more: object = {}) =>
  json<{ id: string; output: object[] }>('/v1/responses', { model: 'trunkline-agent', input, ...more });
const complete = (messages: object[]) =>
  json<{ choices: { message: object }[] }>('/v1/chat/completions', { model: 'trunkline-agent', messages });
const newConversation = (items: object[] = []) => json<{ id: string }>('/v1/conversations', { items });
const user = (content: string) => ({ role: 'user', content });
const read = (id: string) => `The code is ${secret}. READ[${id}]`;

/** What happens before the restart; resolves to what goes on after it. */
const doors: Record<string, (id: string) => Promise<() => Promise<unknown>>> = {
  async response(id) {
    const first = await respond(read(id));
    return () => respond(`GO[${id}]`, { previous_response_id: first.id });
  },
  async conversation(id) {
    const { id: conversation } = await newConversation();
    await respond(read(id), { conversation });
    return () => respond(`GO[${id}]`, { conversation });
  },
  async 'conversation-copy'(id) {
    const { id: conversation } = await newConversation();
    await respond(read(id), { conversation });
    return async () => {
      const { data } = await json<{ data: object[] }>(`/v1/conversations/${conversation}/items?order=asc`);
      const copy = await newConversation(data);
      return respond(`GO[${id}]`, { conversation: copy.id });
    };
  },
  async completion(id) {
    const { choices } = await complete([user(read(id))]);
    const answer = choices[0]?.message ?? {};
    return () => complete([user(read(id)), answer, user(`GO[${id}]`)]);
  },
  async resumed(id) {
    const before = model.chats().length;
    const words = `The code is ${secret}. STOP[${id}]`;
    const { id: taskId } = await agent.send(words, {}, { configuration: { blocking: false } });
    await waitFor(() => model.chats().length >= before + 2, { timeoutMs: 60_000 });
    return async () => {
      const task = async () => (await agent.rpc('tasks/get', { id: taskId })).result;
      await waitFor(async () => (await task()).status.state !== 'working', { timeoutMs: 60_000 });
      return await task();
    };
  },
};

beforeAll(async () => {
  outside.on('GET /page/:id', ({ path }) => ({
    headers: { 'content-type': 'text/plain' },
    body: textOf(path.split('/').at(-1) ?? ''),
  }));
  await Promise.all([outside.listen(), attacker.listen()]);
  model = await startModelServer({ script });
  agent = await start();
  for (const attack of attacks) {
    const [effect] = callsOf(attack, { attacker: attacker.url, secret });
    if (effect !== undefined) effects.set(attack.id, effect);
    continued.set(attack.id, await doors[attack.door]!(attack.id));
  }
  await agent.stop();
  hasRestarted = true;
  model.release();
  agent = await start();
});
afterAll(async () => {
  await agent.stop();
  await Promise.all([model.stop(), outside.stop(), attacker.stop()]);
  home.remove();
});

describe.each(attacks)('$id', ({ id, door }) => {
  it('causes no effect after the restart', async () => {
    const task = await continued.get(id)!();
    if (door === 'resumed') {
      // Here a person can be asked.
      expect(task).toMatchObject({ status: { state: 'input-required' } });
      expect(JSON.stringify(task)).toContain('Only the operator can approve it');
      return;
    }
    // Tasks that are resumed meanwhile ask the same model.
    const isAsked = ({ messages }: ChatRequestBody) => JSON.stringify(messages).includes(`GO[${id}]`);
    const { messages } = model.chats().findLast(isAsked)!;
    const called = messages.findLast(({ tool_calls }) => tool_calls !== undefined)?.tool_calls;
    expect(JSON.stringify(called)).toContain(effects.get(id)?.name);
    expect(withoutFence(messages.at(-1)?.content)).toMatch(/^Error: [\s\S]*text from outside/);
  });
});

it('holds what drew on text from outside alone, and left no trace', async () => {
  const written = { path: 'clean.md', content: 'clean' };
  effects.set('clean', { name: 'write_file', arguments: written });
  await complete([user('Hi'), { role: 'assistant', content: textOf('clean') }, user('GO[clean]')]);
  const workspace = join(home.path, 'agent', 'workspace');
  expect(readdirSync(workspace).filter((name) => /owned|clean/.test(name))).toEqual(['clean.md']);
  expect(existsSync(join(home.path, 'owned-resumed'))).toBe(false);
  expect(attacker.requests).toEqual([]);
  expect(new Set(attacks.map(({ door }) => door))).toEqual(new Set(Object.keys(doors)));
});
