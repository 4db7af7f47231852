// Who may see and touch what. Things are made by one caller; to the others they are as if they did not exist.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { openAccounts } from '@trunkline/accounts';
import { createLogger } from '@trunkline/config';
import { readSse } from '@trunkline/http';
import { encodePrincipal, operatorAccess, type Principal, principalHeader } from '@trunkline/identity';
import { type ModelServer, startModelServer, temporaryDirectory, waitFor } from '@trunkline/testing';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { ChatStore } from './chats/chat-store.ts';
import { modelEnvironment, post, startAgent, type TestAgent } from './fixtures/start-agent.ts';
import { createOwners } from './owners.ts';
import { BeadsStore } from './stores/beads-store.ts';
import { SessionStore } from './turns/session-store.ts';
import { openState } from './turns/turn-state.ts';

const serviceToken = 'the-service-token';
const silent = createLogger({ name: 'test', destination: { write: () => undefined } });
let model: ModelServer;
let agent: TestAgent;

beforeAll(async () => {
  model = await startModelServer({ script: () => 'Done.' });
  agent = await startAgent({
    env: { ...modelEnvironment(model.url), TRUNKLINE_OPEN: '0', QUOTA_MB: '1' },
    config: 'knowledge: { embeddings: "off" }\n',
    serviceToken,
  });
});
afterAll(async () => {
  await agent.stop();
  await model.stop();
});

const handed = (principal: Principal) => ({
  authorization: `Bearer ${serviceToken}`,
  [principalHeader]: encodePrincipal(principal),
});
const callers: Record<string, () => Record<string, string>> = {
  ava: () => handed({ kind: 'person', id: 'voice:ava', via: ['voice'], role: 'member' }),
  bob: () => handed({ kind: 'person', id: 'voice:bob', via: ['voice'], role: 'member' }),
  cy: () => handed({ kind: 'person', id: 'voice:cy', via: ['voice'], role: 'member' }),
  program: () => handed({ kind: 'agent', id: 'a2a', via: ['switchboard'] }),
  operator: () => ({
    authorization: `Bearer ${readFileSync(operatorAccess(agent.home).keyFile, 'utf8').trim()}`,
  }),
  nobody: () => ({}),
};

type Call = [method: string, path: string, body?: object];

async function ask(who: string, [method, path, body]: Call, headers: Record<string, string> = {}) {
  const init = body === undefined ? {} : post(body);
  const response = await agent.fetch(path, {
    ...init,
    method,
    headers: { ...init.headers, ...callers[who]?.(), ...headers },
  });
  return { status: response.status, text: await response.text() };
}

const read = async (who: string, path: string) => JSON.parse((await ask(who, ['GET', path])).text);
const rpc = (method: string, params: object): Call => [
  'POST',
  '/a2a',
  { jsonrpc: '2.0', id: 1, method, params },
];
const parts = (text: string) => [{ kind: 'text', text }];
const message = (text: string, more: object = {}) => ({ role: 'user', parts: parts(text), ...more });

/** A task that waits for an answer, so that it can be answered and stopped. */
async function makeTask(who: string, text: string): Promise<string> {
  model.enqueue({ toolCalls: [{ name: 'ask_human', arguments: { question: `${text}?` } }] });
  const { result } = JSON.parse((await ask(who, rpc('message/send', { message: message(text) }))).text);
  return result.id;
}

const job = (id: string, prompt = 'Go.'): Call => [
  'POST',
  '/api/scheduler/jobs',
  { prompt, when: '0 9 * * *', job_id: id },
];

interface Kind {
  /** Makes one that holds the text; gives its id. */
  create(who: string, text: string): Promise<string>;
  /** Where it is listed. */
  lists: Call[];
  unknown: string;
  /** Everything else that can be done with one. */
  calls(id: string): Call[];
}

const noTask = '0199a0a0-0000-7000-8000-000000000000';
const hook = { url: 'https://example.com/hook' };
const v10 = { 'a2a-version': '1.0' };

const kinds: Record<string, Kind> = {
  'a file of a message': {
    async create(who, text) {
      const body = new FormData();
      body.append('file', new File([text], 'a.txt'));
      const response = await agent.fetch('/api/chat/files', {
        method: 'POST',
        body,
        headers: callers[who]?.() ?? {},
      });
      return ((await response.json()) as { id: string }).id;
    },
    lists: [],
    unknown: 'AAAAAAAAAAAAAAAAAAAAAA',
    calls: (id) => [
      ['GET', `/api/chat/files/${id}`],
      ['GET', `/files/${id}`],
      ['POST', '/api/chat/sessions/with-a-file-of-others/messages', { text: 'Read it.', files: [id] }],
    ],
  },
  'a task over A2A 0.3': {
    create: makeTask,
    lists: [],
    unknown: noTask,
    calls: (id) => [
      rpc('tasks/get', { id }),
      rpc('tasks/cancel', { id }),
      rpc('tasks/resubscribe', { id }),
      rpc('tasks/pushNotificationConfig/set', { taskId: id, pushNotificationConfig: hook }),
      rpc('tasks/pushNotificationConfig/get', { id }),
      rpc('tasks/pushNotificationConfig/list', { id }),
      rpc('tasks/pushNotificationConfig/delete', { id, pushNotificationConfigId: 'x' }),
      ['GET', `/v1/tasks/${id}`],
      ['POST', `/v1/tasks/${id}:cancel`, {}],
      ['POST', `/v1/tasks/${id}:subscribe`, {}],
    ],
  },
  'a task over A2A 1.0': {
    create: makeTask,
    lists: [rpc('ListTasks', {}), ['GET', '/tasks'], ['GET', '/tasks?status=TASK_STATE_INPUT_REQUIRED']],
    unknown: noTask,
    calls: (id) => [
      rpc('GetTask', { id }),
      rpc('CancelTask', { id }),
      rpc('SubscribeToTask', { id }),
      rpc('CreateTaskPushNotificationConfig', { taskId: id, ...hook }),
      rpc('ListTaskPushNotificationConfigs', { taskId: id }),
      rpc('SendMessage', {
        message: { messageId: 'm', role: 'ROLE_USER', parts: [{ text: 'x' }], taskId: id },
      }),
      ['GET', `/tasks/${id}`],
      ['POST', `/tasks/${id}:cancel`, {}],
      ['GET', `/tasks/${id}:subscribe`],
      ['GET', `/tasks/${id}/pushNotificationConfigs`],
      ['GET', `/tasks/${id}/pushDeliveries`],
    ],
  },
  'a task on the console': {
    create: makeTask,
    lists: [
      ['GET', '/api/tasks'],
      ['GET', '/api/chat/sessions'],
    ],
    unknown: noTask,
    calls: (id) => [
      ['GET', `/api/tasks/${id}`],
      ['GET', `/api/tasks/${id}/events`],
      ['GET', `/api/tasks/${id}/deliveries`],
      ['POST', `/api/tasks/${id}/cancel`, {}],
      ['POST', `/api/tasks/${id}/answer`, { text: 'x' }],
      ['GET', `/api/chat/turns/${id}/events`],
      ['POST', '/api/chat/sessions/new/messages', { text: 'x', task_id: id }],
    ],
  },
  'an issue': {
    create: async (who, title) =>
      JSON.parse((await ask(who, ['POST', '/api/beads/issues', { title }])).text).issue.id,
    lists: [['GET', '/api/beads/issues']],
    unknown: 'bd-999999',
    calls: (id) => [['PATCH', `/api/beads/issues/${id}`, { title: 'x' }]],
  },
  'an inbox item': {
    create: async (who, text) => {
      const { item } = JSON.parse((await ask(who, ['POST', '/api/inbox', { text, dedup_key: 'k' }])).text);
      await ask('operator', ['GET', '/api/inbox']);
      return String(item.id);
    },
    lists: [
      ['GET', '/api/inbox'],
      ['GET', '/api/activity'],
    ],
    unknown: '999999',
    calls: (id) => [['POST', `/api/inbox/${id}/deliver`, {}]],
  },
  'a schedule': {
    async create(who, text) {
      const id = text.replace('secret', 'job');
      expect((await ask(who, job(id, text))).status).toBe(200);
      return id;
    },
    lists: [['GET', '/api/scheduler/jobs']],
    unknown: 'nothing',
    calls: (id) => [
      ...['pause', 'resume', 'run'].map(
        (action): Call => ['POST', `/api/scheduler/jobs/${id}/${action}`, {}],
      ),
      ['DELETE', `/api/scheduler/jobs/${id}`],
    ],
  },
  'a goal': {
    async create(who, condition) {
      model.enqueue({ toolCalls: [{ name: 'set_goal', arguments: { condition } }] }, 'Set.', 'YES, done.');
      const contextId = condition.replace('secret', 'goal');
      await ask(who, rpc('message/send', { message: message('Set it.', { contextId }) }));
      return contextId;
    },
    lists: [['GET', '/api/goals']],
    unknown: 'nothing',
    calls: (id) => [['DELETE', `/api/goals/${id}`]],
  },
  'a memory': {
    create: async (who, content) =>
      String(JSON.parse((await ask(who, ['POST', '/api/knowledge/chunks', { content }])).text).chunk.id),
    lists: [
      ['GET', '/api/knowledge/chunks?limit=100'],
      ['GET', '/api/knowledge/search?q=secret'],
    ],
    unknown: '999999',
    calls: (id) => [
      ['PUT', `/api/knowledge/chunks/${id}`, { content: 'x' }],
      ['DELETE', `/api/knowledge/chunks/${id}`],
    ],
  },
};

/** What everybody is answered to a call with an id that there is not. */
const unknownAnswers = new Map<string, ReturnType<typeof ask>>();
function askUnknown(who: string, call: Call, headers: Record<string, string>) {
  const key = JSON.stringify([who, call, headers]);
  const answer = unknownAnswers.get(key) ?? ask(who, call, headers);
  unknownAnswers.set(key, answer);
  return answer;
}

let count = 0;
const newText = () => {
  count += 1;
  return `secret-${count}`;
};

/** 1.0 has its names of methods and paths; all others are sent as they always were. */
const headersOf = (name: string) => (name.endsWith('1.0') ? v10 : {});

describe.each(Object.entries(kinds))('%s', (name, { create, lists, unknown, calls }) => {
  it.each([
    ['ava', ['bob', 'program', 'nobody']],
    ['operator', ['ava', 'program', 'nobody']],
    ['program', ['ava', 'nobody']],
  ])('of %s does not exist for %s', async (owner, others) => {
    const text = newText();
    const id = await create(owner, text);
    for (const other of others) {
      for (const list of lists)
        expect((await ask(other, list, headersOf(name))).text, `${other} ${list[1]}`).not.toContain(text);
      for (const [index, call] of calls(id).entries()) {
        const [given, expected] = [
          await ask(other, call, headersOf(name)),
          await askUnknown(other, calls(unknown)[index] ?? call, headersOf(name)),
        ];
        expect(given.text, `${other} ${call[1]}`).not.toContain(text);
        expect({ ...given, text: given.text.replaceAll(id, unknown) }).toEqual(expected);
      }
    }
    for (const viewer of [owner, 'operator'])
      for (const list of lists)
        expect((await ask(viewer, list, headersOf(name))).text, `${viewer} ${list[1]}`).toContain(text);
  });

  it('of nobody is everybody’s', async () => {
    if (name === 'a memory') return;
    const text = newText();
    await create('nobody', text);
    for (const viewer of ['ava', 'bob', 'operator', 'nobody'])
      for (const list of lists)
        expect((await ask(viewer, list, headersOf(name))).text, `${viewer} ${list[1]}`).toContain(text);
  });
});

it('refuses what takes the name of another’s schedule, and leaves that as it was', async () => {
  await ask('ava', job('daily', 'Of Ava.'));
  expect(await ask('bob', job('daily', 'Of Bob.'))).toMatchObject({ status: 409 });
  expect(await read('ava', '/api/scheduler/jobs')).toMatchObject({
    jobs: expect.arrayContaining([expect.objectContaining({ id: 'daily', prompt: 'Of Ava.' })]),
  });
});

it('takes an inbox item whose key somebody else has used', async () => {
  const item = (text: string): Call => ['POST', '/api/inbox', { text, dedup_key: 'bell' }];
  expect((await ask('ava', item('one'))).text).toContain('"item"');
  expect((await ask('ava', item('two'))).text).toContain('"deduped":true');
  expect((await ask('bob', item('three'))).text).toContain('"item"');
});

describe('notes', () => {
  const tab = (id: string, content: string) => {
    const metadata = { createdAt: '', updatedAt: '', wordCount: 1, characterCount: 1, history: [] };
    return { id, name: id, content, permissions: { agentRead: true, agentWrite: true }, metadata };
  };
  const path = '/api/notes/workspace';
  const add = async (who: string, id: string, content: string) => {
    const notes = await read(who, path);
    const tabs = { ...notes.tabs, [id]: tab(id, content) };
    return await ask(who, ['PUT', path, { ...notes, tabOrder: [...notes.tabOrder, id], tabs }]);
  };
  const names = async (who: string) => Object.keys((await read(who, path)).tabs).sort();

  it('have tabs of their own beside that of everybody', async () => {
    expect((await add('ava', 'diary', 'Dear diary')).status).toBe(200);
    expect((await add('bob', 'list', 'Milk')).status).toBe(200);
    expect(await names('ava')).toEqual(['diary', 'notes']);
    expect(await names('bob')).toEqual(['list', 'notes']);
    expect(await names('nobody')).toEqual(['notes']);
    expect(await names('operator')).toEqual(['diary', 'list', 'notes']);
    expect(await add('bob', 'diary', 'POISON')).toMatchObject({ status: 409 });
    expect((await read('ava', path)).tabs.diary.content).toBe('Dear diary');
  });

  it('are read and written by turns for whom they are', async () => {
    const result = async (who: string, name: string, args: object = {}) => {
      model.enqueue({ toolCalls: [{ name, arguments: args }] }, 'Done.');
      await ask(who, rpc('message/send', { message: message('Go.') }));
      return String(model.chats().at(-1)?.messages.at(-1)?.content);
    };
    expect(await result('ava', 'notes_read', { tab: 'diary' })).toBe('Dear diary');
    expect(await result('bob', 'notes_read', { tab: 'diary' })).toContain("there is no tab 'diary'");
    expect(await result('bob', 'notes_write', { tab: 'diary', content: 'x' })).toMatch(/^Error:/);
    expect(await result('bob', 'notes_list')).not.toContain('diary');
    await ask('ava', ['POST', '/api/beads/issues', { title: 'Buy a present' }]);
    expect(await result('ava', 'beads_list')).toContain('Buy a present');
    expect(await result('bob', 'beads_list')).not.toContain('Buy a present');
    expect(await result('bob', 'list_schedules')).not.toContain('Of Ava.');
    expect(await result('bob', 'cancel_schedule', { job_id: 'daily' })).toBe('Error: no such job daily.');
    expect(await result('bob', 'check_inbox')).not.toContain('one');
    expect(await result('ava', 'check_inbox')).toContain('one');
  });
});

describe('a conversation', () => {
  it('takes no message of others, who are told, and keeps none of their words', async () => {
    await ask('ava', rpc('message/send', { message: message('Hello.', { contextId: 'of-ava' }) }));
    for (const other of ['bob', 'nobody', 'program']) {
      const sent = await ask(
        other,
        rpc('message/send', { message: message('POISON', { contextId: 'of-ava' }) }),
      );
      expect(JSON.parse(sent.text).error).toMatchObject({
        code: -32602,
        message: expect.stringContaining('belongs to somebody else'),
      });
      const chat: Call = ['POST', '/api/chat', { message: 'POISON', session_id: 'of-ava' }];
      expect((await ask(other, chat)).status).toBe(403);
    }
    expect((await ask('ava', ['GET', '/api/chat/sessions/of-ava'])).text).not.toContain('POISON');
  });

  it('has branches and places that others neither make, show nor find', async () => {
    const said = await ask('ava', ['POST', '/api/chat', { message: 'A secret plum.', session_id: 'plums' }]);
    const { task_id } = JSON.parse(said.text);
    const branches = '/api/chat/sessions/plums/branches';
    const { branch } = JSON.parse((await ask('ava', ['POST', branches, { task_id }])).text);
    for (const other of ['bob', 'nobody', 'program']) {
      const calls: Call[] = [
        ['POST', branches, { task_id }],
        ['PUT', '/api/chat/sessions/plums/branch', { branch: 'plums' }],
        ['PUT', '/api/chat/sessions/plums/model', { model: null }],
        ['GET', `/api/chat/sessions/${branch}`],
        ['POST', `/api/chat/sessions/${branch}/messages`, { text: 'POISON' }],
      ];
      for (const call of calls) expect((await ask(other, call)).status).toBe(403);
      const own: Call = ['POST', `/api/chat/sessions/of-${other}/messages`, { text: 'POISON', branch }];
      expect((await ask(other, own)).status).toBe(404);
      const elsewhere: Call = ['POST', `/api/chat/sessions/of-${other}/branches`, { task_id }];
      expect((await ask(other, elsewhere)).status).toBe(404);
      expect((await read(other, '/api/chat/search?q=secret%20plum')).places).toEqual([]);
    }
    expect((await read('ava', '/api/chat/search?q=secret%20plum')).places).toHaveLength(2);
  });

  it('keeps the words of a stranger outside text where the operator retries them', async () => {
    callers.eve = () =>
      handed({ kind: 'person', id: 'mail:eve@example.com', via: ['switchboard'], role: 'member' });
    callers.fed = () =>
      handed({
        kind: 'operator',
        id: 'operator',
        via: ['switchboard'],
        origins: [{ kind: 'web', source: 'x' }],
      });
    const log = { toolCalls: [{ name: 'daily_log', arguments: { content: 'Logged.' } }] };
    const retried = async (who: string, chat: string, more: object = {}) => {
      const { result } = JSON.parse(
        (await ask(who, rpc('message/send', { message: message('Log it.', { contextId: chat }) }))).text,
      );
      model.enqueue(log);
      const path = `/api/chat/sessions/${chat}`;
      const body = { task_id: result.id, ...more };
      const { task_id } = JSON.parse((await ask('operator', ['POST', `${path}/branches`, body])).text);
      return await waitFor(async () => {
        const { turns } = await read('operator', path);
        const turn = turns.at(-1);
        return turn.task_id === task_id && turn.state !== 'working' && turn.state !== 'submitted' && turn;
      });
    };
    const asked = await retried('eve', 'eves');
    expect(asked.state).toBe('input-required');
    expect(JSON.stringify(asked.entries)).toContain('message person:mail:eve@example.com');
    expect(JSON.stringify((await retried('fed', 'feds')).entries)).toContain('(web x)');
    expect((await retried('operator', 'own')).state).toBe('completed');
    expect((await retried('eve', 'edited', { text: 'My words.' })).state).toBe('completed');
  });

  it('that nobody names is one for everybody known', async () => {
    for (const who of ['ava', 'bob', 'nobody', 'operator'])
      expect((await ask(who, ['POST', '/api/chat', { message: `I am ${who}.` }])).status).toBe(200);
    expect(JSON.stringify(model.chats().at(-2))).not.toContain('I am bob.');
  });

  it('is its beginner’s while its first turn still runs', async () => {
    const before = model.chats().length;
    model.enqueue({ fault: 'stall', answer: 'Done.' });
    const first = ask('ava', rpc('message/send', { message: message('Slow.', { contextId: 'slow' }) }));
    await waitFor(() => model.chats().length > before);
    const sent = await ask('bob', rpc('message/send', { message: message('POISON', { contextId: 'slow' }) }));
    model.release();
    await first;
    expect(sent.text).toContain('belongs to somebody else');
  });
});

describe('a name that the agent gives out itself', () => {
  const say = (who: string, id: string): Call[] => [
    ['POST', `/api/chat/sessions/${encodeURIComponent(id)}/messages`, { text: `I am ${who}.` }],
    ['POST', '/api/chat', { message: `I am ${who}.`, session_id: id }],
    rpc('message/send', { message: message(`I am ${who}.`, { contextId: id }) }),
  ];

  it.each([
    'system:activity',
    'system:activity:operator',
    'system:activity:person:voice:cid',
    'system:activity:agent:a2a',
    'api-default',
    'api-person:voice:cid',
    'chat:4711',
  ])('is not to be had: %s', async (id) => {
    for (const call of say('bob', id)) {
      const { status, text } = await ask('bob', call);
      expect([status, text]).toEqual(
        call[1] === '/a2a' ? [200, expect.stringContaining('somebody else')] : [403, expect.anything()],
      );
    }
    expect((await ask('bob', ['GET', '/api/chat/sessions'])).text).not.toContain(`"${id}"`);
    expect((await ask('bob', ['GET', `/api/chat/sessions/${encodeURIComponent(id)}`])).status).toBe(403);
  });

  it('is that of whoever it was made for', async () => {
    for (const call of say('bob', 'api-person:voice:bob')) expect((await ask('bob', call)).status).toBe(200);
    const urgent: Call = ['POST', '/api/inbox', { text: 'The roof leaks', priority: 'now' }];
    for (const who of ['operator', 'program', 'ava'])
      expect(JSON.parse((await ask(who, urgent)).text)).toMatchObject({ fired: true });
    expect((await ask('operator', ['POST', '/api/chat', { message: 'Hi.' }])).status).toBe(200);
    expect((await ask('nobody', ['POST', '/api/chat', { message: 'Hi.' }])).status).toBe(200);
    expect((await ask('nobody', ['GET', '/api/chat/sessions'])).text).not.toContain('The roof leaks');
  });

  it('starts no turn in a conversation that its sender may not continue', async () => {
    const dan = (via: string) => () => handed({ kind: 'person', id: 'chat:dan', via: [via], role: 'member' });
    [callers.inRoom, callers.dan] = [dan('switchboard'), dan('voice')];
    const urgent = (text: string): Call => ['POST', '/api/inbox', { text, priority: 'now' }];
    expect(JSON.parse((await ask('inRoom', urgent('It rains'))).text)).toMatchObject({ fired: true });
    const path = '/api/chat/sessions/system%3Aactivity%3Aperson%3Achat%3Adan';
    const chat = async () => (await ask('operator', ['GET', path])).text;
    await waitFor(async () => (await chat()).includes('completed'));
    expect(JSON.parse((await ask('dan', urgent('The roof leaks'))).text)).toMatchObject({ fired: false });
    expect(await chat()).not.toContain('leaks');
  });
});

it('counts the urgent turns of each by themselves', async () => {
  callers.eve = () => handed({ kind: 'person', id: 'voice:eve', via: ['voice'], role: 'member' });
  callers.fay = () => handed({ kind: 'person', id: 'voice:fay', via: ['voice'], role: 'member' });
  const urgent: Call = ['POST', '/api/inbox', { text: 'Now!', priority: 'now' }];
  const isFired = async (who: string) => JSON.parse((await ask(who, urgent)).text).fired;
  for (let number = 1; number <= 8; number += 1) expect(await isFired('eve')).toBe(true);
  expect(await isFired('eve')).toBe(false);
  expect(await isFired('fay')).toBe(true);
});

describe('the feed', () => {
  it('shows what one sent or planned oneself, and to the operator all', async () => {
    const leaving = new AbortController();
    const seen: Record<string, string> = {};
    for (const who of ['ava', 'bob', 'nobody', 'operator']) {
      const headers = callers[who]?.() ?? {};
      const response = await agent.fetch('/api/events', { headers, signal: leaving.signal });
      seen[who] = '';
      const follow = async () => {
        for await (const { data } of readSse(response.body as ReadableStream<Uint8Array>)) seen[who] += data;
      };
      follow().catch(() => undefined);
    }
    await ask('ava', ['POST', '/api/inbox', { text: 'The oven is hot', priority: 'now' }]);
    await ask('nobody', ['POST', '/api/inbox', { text: 'The bell rang' }]);
    await waitFor(() => Object.values(seen).every((text) => text.includes('The bell rang')));
    await waitFor(
      () => seen.ava?.includes('"role":"assistant"') && seen.operator?.includes('"role":"assistant"'),
    );
    leaving.abort();
    expect(seen.bob).not.toMatch(/oven|assistant/);
    expect(seen.nobody).not.toMatch(/oven|assistant/);
  });
});

it('counts all that somebody keeps together, and refuses more at every door', async () => {
  const issue = (length: number): Call => [
    'POST',
    '/api/beads/issues',
    { title: 'Full', description: 'x'.repeat(length) },
  ];
  const memory: Call = ['POST', '/api/knowledge/chunks', { content: 'y'.repeat(90_000), domain: 'd' }];
  const hello = (length: number) => rpc('message/send', { message: message('z'.repeat(length)) });
  expect((await ask('cy', hello(60_000))).text).toContain('Done.');
  for (const call of [memory, memory, issue(300_000), issue(300_000)])
    expect((await ask('cy', call)).status).toBeLessThan(300);
  for (const length of [100_000, 10_000]) while ((await ask('cy', issue(length))).status < 300);
  const notes = await read('cy', '/api/notes/workspace');
  const tab = { ...notes.tabs.notes, id: 'mine', name: 'Mine', content: 'n'.repeat(20_000) };
  const doors: Call[] = [
    memory,
    ['PUT', '/api/notes/workspace', { ...notes, tabs: { ...notes.tabs, mine: tab } }],
    ['POST', '/api/inbox', { text: 'i'.repeat(20_000), priority: 'later' }],
  ];
  // The vectors of the memory count too, and come later.
  const words = /person:voice:cy keeps 1\.\d MB here and may keep 1\.0 MB \(QUOTA_MB\): delete something/;
  for (const call of doors) {
    const { status, text } = await ask('cy', call);
    expect([call[1], status, text]).toEqual([call[1], 507, expect.stringMatching(words)]);
  }
  expect((await ask('cy', hello(20_000))).text).toMatch(words);
  expect((await ask('operator', issue(20_000))).status).toBeLessThan(300);
});

it('counts a conversation that people of a surface share for whoever began it, and strangers of a surface together', async () => {
  const person = (id: string, more: Partial<Principal> = {}) =>
    handed({ kind: 'person', id, via: ['switchboard'], ...more });
  Object.assign(callers, {
    dee: () => person('chat:1'),
    eli: () => person('chat:2'),
    ...Object.fromEntries(
      ['discord:1', 'discord:2', 'signal:3'].map((id) => [id, () => person(id, { role: 'guest' })]),
    ),
  });
  const say = async (who: string, length: number, contextId: string) =>
    (await ask(who, rpc('message/send', { message: message('z'.repeat(length), { contextId }) }))).text;
  // Its task, its turn in the list of chats and the conversation itself.
  expect(await say('dee', 300_000, 'room')).toContain('Done.');
  expect(await say('eli', 200_000, 'room')).toContain('Done.');
  await waitFor(async () => /person:chat:1 keeps/.test(await say('dee', 200_000, 'room-2')));
  expect(await say('eli', 20_000, 'room-2')).toContain('Done.');

  expect(await say('discord:1', 300_000, 'direct-1')).toContain('Done.');
  await waitFor(async () => /person:discord:\* keeps/.test(await say('discord:2', 200_000, 'direct-2')));
  expect(await say('signal:3', 20_000, 'direct-3')).toContain('Done.');
});

it('lets whoever keeps too much close and shorten an issue, and not write more', () => {
  const home = temporaryDirectory();
  onTestFinished(home.remove);
  const owners = createOwners(() => ({ isShared: false, isOpen: false }));
  const actor = owners.actor({ kind: 'person', id: 'voice:cy', via: [] });
  const store = new BeadsStore(join(home.path, 'beads.db'));
  onTestFinished(() => store.close());
  const beads = store.for(actor);
  const paint = { title: 'Paint', description: 'the fence', priority: 1, issue_type: 'task' } as const;
  const { id } = beads.create(paint);
  owners.limit(() => 'person:voice:cy keeps too much');
  expect(() => beads.create(paint)).toThrow('keeps too much');
  expect(() => beads.update(id, { description: 'the fence, again' })).toThrow('keeps too much');
  expect(beads.update(id, { description: 'it', status: 'closed' })).toMatchObject({ description: 'it' });
  expect(owners.room('person:voice:cy', 0)).toBe('person:voice:cy keeps too much');
});

it('gives conversations of older versions the owners that they had', () => {
  const home = temporaryDirectory();
  onTestFinished(home.remove);
  const database = openState(home.path);
  database.exec('DROP TABLE session_version; DROP TABLE turn_start; DROP TABLE chat_branch');
  database.exec('ALTER TABLE chat DROP COLUMN head');
  database.exec('ALTER TABLE checkpoint DROP COLUMN timezone; DROP TABLE chosen_model');
  database.exec('DROP TABLE running_turn; DROP TABLE turn_step');
  database.exec('DROP INDEX chat_by_owner; ALTER TABLE chat DROP COLUMN owner; PRAGMA user_version = 4');
  const scopes = [null, 'operator', 'person:voice:ava', 'context:c3', 'agent:a2a/user:ann', 'people:chat'];
  for (const [index, scope] of scopes.entries()) {
    const session = database.prepare("INSERT INTO session VALUES (?, '[]', 1, 1, ?)");
    session.run(`c${index}`, scope);
    database.prepare("INSERT INTO chat VALUES (?, 'Hi', 'completed', 1, 'chat')").run(`c${index}`);
  }
  database.close();
  const reopened = openState(home.path);
  const [sessions, chats] = [new SessionStore(reopened), new ChatStore(reopened)];
  const owners = scopes.map((_, index) => [sessions.owner(`c${index}`), chats.owner(`c${index}`)]);
  reopened.close();
  const expected = ['operator', 'operator', 'person:voice:ava', 'anonymous', 'agent:a2a', 'people:chat'];
  expect(owners).toEqual(expected.map((owner) => [owner, owner]));
});

it('shows a person who signs in what they asked for elsewhere, also before their account', async () => {
  const home = temporaryDirectory();
  onTestFinished(home.remove);
  const accounts = openAccounts({ home: home.path, logger: silent });
  const { id } = accounts.create({ name: 'Cleo', role: 'member' });
  const before = { agent, model };
  const env = { ...modelEnvironment(model.url), TRUNKLINE_OPEN: '0', A2A_AUTH_TOKEN: 'token' };
  agent = await startAgent({
    env,
    home: home.path,
    serviceToken,
    config: 'knowledge: { embeddings: "off" }\n',
  });
  onTestFinished(async () => {
    await agent.stop();
    ({ agent, model } = before);
  });
  callers.byVoice = () => handed({ kind: 'person', id: 'voice:cleo', via: ['voice'] });
  callers.byVoiceLinked = () => handed({ kind: 'person', id: `user:${id}`, via: ['voice'], role: 'member' });
  callers.cleo = () => ({ authorization: `Bearer ${accounts.createKey(id, 'test').key}` });
  const [older, newer, fact] = [newText(), newText(), newText()];
  await makeTask('byVoice', older);
  await ask('byVoice', ['POST', '/api/knowledge/chunks', { content: fact }]);
  await makeTask('byVoiceLinked', newer);
  const tasks = async () => (await ask('cleo', ['GET', '/api/tasks'])).text;
  expect(await tasks()).toContain(newer);
  expect(await tasks()).not.toContain(older);
  accounts.link(id, 'voice:cleo');
  expect(await tasks()).toContain(older);
  expect((await ask('cleo', ['GET', `/api/knowledge/search?q=${fact}`])).text).toContain(fact);
  expect((await ask('cleo', ['GET', '/tasks'])).text).toContain(older);
  // The chat plugin has a name of its own for people of Discord.
  callers.inChat = () => handed({ kind: 'person', id: 'chat:4711', via: ['agent'] });
  const chatted = newText();
  await makeTask('inChat', chatted);
  expect(await tasks()).not.toContain(chatted);
  accounts.link(id, 'discord:4711');
  expect(await tasks()).toContain(chatted);
});

it('shows people no figures of all, and nobody the owner on the wire', async () => {
  const id = await makeTask('ava', newText());
  expect((await ask('ava', ['GET', '/api/telemetry'])).status).toBe(403);
  expect((await ask('nobody', ['GET', '/api/telemetry'])).status).toBe(200);
  expect((await ask('ava', rpc('tasks/get', { id }))).text).not.toContain('person:voice:ava');
});

it('gives the model the answers of tasks that a message refers to, with their marks, and those of others to nobody', async () => {
  const [own, read] = [newText(), newText()];
  model.enqueue(`The word is ${own}.`, `The file says ${read}.`);
  const send = async (who: string, said: object) =>
    JSON.parse((await ask(who, rpc('message/send', { message: said }))).text).result;
  const told = () =>
    JSON.stringify(
      model
        .chats()
        .at(-1)
        ?.messages.findLast(({ role }) => role === 'user'),
    );
  const bytes = Buffer.from('From outside').toString('base64');
  const file = { kind: 'file', file: { bytes, name: 'a.txt', mimeType: 'text/plain' } };
  const first = await send('ava', message('Which word?'));
  const second = await send('ava', message('Read it.', { parts: [...parts('Read it.'), file] }));
  const refer = (who: string, id: string) => send(who, message('And?', { referenceTaskIds: [id, noTask] }));

  await refer('ava', first.id);
  expect(told()).toContain(own);
  expect(told()).not.toContain('<outside-');
  await refer('ava', second.id);
  expect(told()).toMatch(new RegExp(`<outside-[^>]*a\\.txt.*${read}`));
  await refer('bob', first.id);
  expect(told()).not.toContain(own);
  // The operator sees all tasks; what somebody else asked for is not the operator's word.
  await refer('operator', first.id);
  expect(told()).toMatch(new RegExp(`<outside-[^>]*${first.id}.*${own}`));
  // Where its conversation is gone, nobody knows what an answer was drawn from.
  await ask('ava', ['DELETE', `/api/chat/sessions/${first.contextId}`]);
  await refer('ava', first.id);
  expect(told()).toMatch(new RegExp(`<outside-[^>]*${first.id}.*${own}`));
});
