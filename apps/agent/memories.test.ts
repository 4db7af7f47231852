// One caller's words never stand in another caller's prompt.
import { readFileSync } from 'node:fs';
import { openAccounts } from '@trunkline/accounts';
import {
  encodePrincipal,
  operatorAccess,
  type Principal,
  principalHeader,
  type Role,
} from '@trunkline/identity';
import { type ModelServer, startModelServer, temporaryDirectory, waitFor } from '@trunkline/testing';
import { afterEach, beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { modelEnvironment, post, startAgent, type TestAgent } from './fixtures/start-agent.ts';

const serviceToken = 'the-service-token';
let model: ModelServer;
let agent: TestAgent;

beforeEach(async () => {
  model = await startModelServer();
});
afterEach(async () => {
  await agent.stop();
  await model.stop();
});

async function begin(config = '', env: Record<string, string> = {}, home?: string) {
  agent = await startAgent({
    env: { ...modelEnvironment(model.url), TRUNKLINE_OPEN: '0', ...env },
    config: `knowledge: { embeddings: "off" }\n${config}`,
    serviceToken,
    ...(home !== undefined && { home }),
  });
}

const operator = () => ({
  authorization: `Bearer ${readFileSync(operatorAccess(agent.home).keyFile, 'utf8').trim()}`,
});
const person = (id: string) => handed({ kind: 'person', id, via: ['voice'] });
const handed = (principal: Principal) => ({
  authorization: `Bearer ${serviceToken}`,
  [principalHeader]: encodePrincipal(principal),
});
const token = { authorization: 'Bearer token' };
type Headers = Record<string, string>;

/** Sends a message over A2A and waits for its answer. */
async function say(headers: Headers, text: string, contextId: string, metadata: object = {}) {
  const message = { role: 'user', parts: [{ kind: 'text', text }], contextId };
  const init = post({ jsonrpc: '2.0', id: 1, method: 'message/send', params: { message, metadata } });
  const response = await agent.fetch('/a2a', { ...init, headers: { ...init.headers, ...headers } });
  expect(response.status).toBe(200);
  return await response.json();
}

const prompt = () => JSON.stringify(model.chats().at(-1)?.messages);
const tool = (name: string, args: object = {}) => ({ toolCalls: [{ name, arguments: args }] });

/** What is known of a secret that a first caller told, in a prompt or by a tool of a second. */
async function leaks(first: Headers, second: Headers, metadata: object = {}): Promise<string[]> {
  model.enqueue(tool('memory_ingest', { content: 'The code is PINEAPPLE', heading: 'code' }), 'Kept.');
  await say(first, 'My code is PINEAPPLE.', 'one', metadata);
  model.enqueue(tool('daily_log', { content: 'PINEAPPLE day' }), 'Logged.');
  await say(first, 'Log it.', 'one', metadata);
  model.enqueue(
    tool('memory_recall', { query: 'code PINEAPPLE' }),
    tool('memory_list'),
    tool('memory_stats'),
    tool('daily_log', { content: 'nothing' }),
    tool('memory_list'),
    'Done.',
  );
  await say(second, 'What do you know?', 'two', metadata);
  const [start, ...rest] = model.chats().slice(-6);
  return [
    ...(JSON.stringify(start?.messages).includes('PINEAPPLE') ? ['the prompt'] : []),
    ...rest.flatMap(({ messages }) => {
      const result = String(messages.at(-1)?.content);
      return /PINEAPPLE|total: [1-9]/.test(result) ? [result] : [];
    }),
  ];
}

describe('memories', () => {
  it.each<[string, () => Headers, () => Headers, Record<string, string>]>([
    ['of the operator stay from a stranger', operator, () => ({}), {}],
    ['of one stranger stay from another', () => ({}), () => ({}), {}],
    ['of one person stay from another', () => person('voice:ava'), () => person('voice:ben'), {}],
    ['of a person stay from the operator', () => person('voice:ava'), operator, {}],
    ['of the operator stay from a person', operator, () => person('voice:ava'), {}],
    [
      'of one conversation of a token holder stay from the next',
      () => token,
      () => token,
      { A2A_AUTH_TOKEN: 'token' },
    ],
  ])('%s', async (_, first, second, env) => {
    await begin('', env);
    expect(await leaks(first(), second())).toEqual([]);
  });

  it.each<[string, () => Headers, () => Headers]>([
    ['the operator has in every chat', operator, operator],
    [
      'a person has in every chat, by whatever way they come',
      () => person('voice:ava'),
      () => handed({ kind: 'approver', id: 'voice:ava', via: ['switchboard'] }),
    ],
  ])('%s', async (_, first, second) => {
    await begin();
    expect((await leaks(first(), second())).length).toBeGreaterThan(3);
  });

  it('are of the user whom a token holder names', async () => {
    await begin('', { A2A_AUTH_TOKEN: 'token' });
    expect((await leaks(token, token, { user: 'ann' })).length).toBeGreaterThan(3);
    model.enqueue(tool('memory_recall', { query: 'PINEAPPLE' }), 'Done.');
    await say(token, 'And me?', 'three', { user: 'ben' });
    expect(model.chats().at(-1)?.messages.at(-1)?.content).toBe('No matches.');
  });

  it('are everybody’s when the operator shares them', async () => {
    await begin('memory: { shared: true }');
    expect((await leaks(operator(), {})).length).toBeGreaterThan(3);
  });

  it('show to the operator in the console, and to others only their own', async () => {
    await begin();
    await leaks(person('voice:ava'), {});
    const read = async (path: string, headers: Headers) => (await agent.fetch(path, { headers })).text();
    for (const path of ['/api/knowledge/search?q=PINEAPPLE', '/api/knowledge/chunks']) {
      expect(await read(path, operator())).toContain('PINEAPPLE');
      expect(await read(path, person('voice:ava'))).toContain('PINEAPPLE');
      expect(await read(path, {})).not.toContain('PINEAPPLE');
      expect(await read(path, person('voice:ben'))).not.toContain('PINEAPPLE');
    }
    const { chunks } = JSON.parse(await read('/api/knowledge/chunks', operator())) as {
      chunks: { id: number }[];
    };
    for (const { id } of chunks) {
      const removed = await agent.fetch(`/api/knowledge/chunks/${id}`, { method: 'DELETE' });
      expect(removed.status).toBe(404);
    }
  });

  it('stay apart after a restart', async () => {
    const home = temporaryDirectory();
    onTestFinished(home.remove);
    await begin('', {}, home.path);
    model.enqueue('Hello, Ava.');
    await say(person('voice:ava'), 'My code is PINEAPPLE.', 'one');
    await agent.stop();
    await begin('', {}, home.path);
    model.enqueue('Hello.', 'Hello again.');
    await say(person('voice:ben'), 'Hi', 'two');
    expect(prompt()).not.toContain('PINEAPPLE');
    await say(person('voice:ava'), 'Hi', 'three');
    expect(prompt()).toContain('PINEAPPLE');
  });

  it('of a schedule are those of whoever planned it', async () => {
    await begin();
    model.enqueue(tool('memory_ingest', { content: 'The code is PINEAPPLE' }), 'Kept.');
    await say(operator(), 'Remember.', 'one');
    const plan = async (headers: Headers, job_id: string) => {
      model.enqueue(tool('memory_recall', { query: 'PINEAPPLE' }), 'Ran.');
      const before = model.chats().length;
      const when = new Date(Date.now() + 60_000).toISOString();
      const init = post({ prompt: 'Recall.', when, job_id });
      const sent = { ...init, headers: { ...init.headers, ...headers } };
      expect((await agent.fetch('/api/scheduler/jobs', sent)).status).toBe(200);
      await agent.fetch(`/api/scheduler/jobs/${job_id}/run`, { method: 'POST', headers });
      await waitFor(() => model.chats().length === before + 2);
      return model.chats().at(-1)?.messages.at(-1)?.content;
    };
    expect(await plan(operator(), 'a')).toContain('PINEAPPLE');
    expect(await plan({}, 'b')).toBe('No matches.');
    expect(await plan(person('voice:ava'), 'c')).toBe('No matches.');
  });
});

describe('a conversation', () => {
  const chat = async (headers: Headers, message: string, session_id?: string) => {
    const init = post({ message, ...(session_id !== undefined && { session_id }) });
    const response = await agent.fetch('/api/chat', { ...init, headers: { ...init.headers, ...headers } });
    return await response.text();
  };

  it('is neither read nor continued by others', async () => {
    await begin();
    for (const headers of [operator(), person('voice:ava')]) {
      model.enqueue('One.');
      const name = crypto.randomUUID();
      await chat(headers, 'My code is PINEAPPLE.', name);
      const before = model.chats().length;
      for (const others of [{}, person('voice:ben')]) {
        expect(await chat(others, 'POISON', name)).toContain('belongs to somebody else');
        expect(JSON.stringify(await say(others, 'POISON', name))).toContain('belongs to somebody else');
        const read = await agent.fetch(`/api/chat/sessions/${name}`, { headers: others });
        expect([read.status, (await read.text()).includes('PINEAPPLE')]).toEqual([403, false]);
        await agent.fetch(`/api/chat/sessions/${name}`, { method: 'DELETE', headers: others });
      }
      expect(model.chats()).toHaveLength(before);
      model.enqueue('Two.');
      await chat(headers, 'What is my code?', name);
      expect(prompt()).toContain('PINEAPPLE');
      expect(prompt()).not.toContain('POISON');
    }
  });

  it('that a stranger has begun is not where the operator goes on unawares', async () => {
    await begin();
    model.enqueue('One.', 'Two.', 'Three.');
    await chat({}, 'POISON');
    await chat(operator(), 'Hello');
    expect(prompt()).not.toContain('POISON');
    await say({}, 'POISON', 'ctx');
    expect(JSON.stringify(await say(operator(), 'Hello', 'ctx'))).toContain('belongs to somebody else');
    expect(model.chats()).toHaveLength(3);
  });

  it('of a stranger is one that the operator can go on with on the page', async () => {
    await begin();
    model.enqueue('One.', 'Two.', 'Three.');
    await say({}, 'I am a STRANGER.', 'ctx');
    const init = post({ text: 'How can I help?' });
    const path = '/api/chat/sessions/ctx/messages';
    await agent.fetch(path, { ...init, headers: { ...init.headers, ...operator() } });
    await waitFor(() => model.chats().length === 2);
    expect(prompt()).toContain('STRANGER');
    await say({}, 'Thanks.', 'ctx');
    expect(prompt()).toContain('How can I help?');
  });

  it('on a chat surface is shared by those who write there', async () => {
    await begin();
    model.enqueue('One.', 'Two.');
    await say(person('chat:1'), 'We meet at NOON.', 'chat:room');
    await say(person('chat:2'), 'When do we meet?', 'chat:room');
    expect(prompt()).toContain('NOON');
    const accounts = openAccounts({ home: agent.home, logger: { warn: () => undefined } });
    onTestFinished(() => accounts.close());
    const account = (role: Role) => `user:${accounts.create({ name: role, role }).id}`;
    const inRoom = (kind: Principal['kind'], id: string) => handed({ kind, id, via: ['switchboard'] });
    for (const who of [
      inRoom('person', 'discord:5'),
      inRoom('person', account('member')),
      inRoom('operator', account('operator')),
    ]) {
      model.enqueue('Noted.');
      await say(who, 'I come too.', 'chat:room');
      expect(prompt()).toContain('NOON');
    }
    expect(JSON.stringify(await say(person(account('member')), 'POISON', 'chat:room'))).toContain(
      'somebody else',
    );
  });

  it('whose question waits is not answered by others, and by the operator it is', async () => {
    await begin();
    const question = tool('ask_human', { question: 'Which colour?' });
    model.enqueue(question, 'Painted.');
    await chat(person('voice:ava'), 'Paint it.', 's');
    const tasks = async () => {
      const response = await agent.fetch('/api/tasks', { headers: operator() });
      return ((await response.json()) as { tasks: { id: string; state: string }[] }).tasks;
    };
    const id = (await tasks())[0]?.id ?? '';
    const answer = (headers: Headers) => {
      const init = post({ text: 'POISON' });
      return agent.fetch(`/api/tasks/${id}/answer`, { ...init, headers: { ...init.headers, ...headers } });
    };
    expect(await chat({}, 'POISON', 's')).toContain('belongs to somebody else');
    expect((await answer(person('voice:ben'))).status).toBe(404);
    expect(await tasks()).toMatchObject([{ id, state: 'input-required' }]);
    expect(model.chats()).toHaveLength(1);
    await answer(operator());
    await waitFor(async () => (await tasks())[0]?.state === 'completed');
  });
});
