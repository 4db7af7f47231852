// Who may see and touch what. Things are made by one caller; to the others they are as if they did not exist.
import { readFileSync } from 'node:fs';
import { readSse } from '@trunkline/http';
import { encodePrincipal, operatorAccess, type Principal, principalHeader } from '@trunkline/identity';
import { type ModelServer, startModelServer, waitFor } from '@trunkline/testing';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { modelEnvironment, post, startAgent, type TestAgent } from './fixtures/start-agent.ts';

const serviceToken = 'the-service-token';
let model: ModelServer;
let agent: TestAgent;

beforeAll(async () => {
  model = await startModelServer({ script: () => 'Done.' });
  agent = await startAgent({
    env: { ...modelEnvironment(model.url), TRUNKLINE_OPEN: '0' },
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
  ava: () => handed({ kind: 'person', id: 'user:ava', via: ['voice'], role: 'member' }),
  bob: () => handed({ kind: 'person', id: 'user:bob', via: ['voice'], role: 'member' }),
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
      expect((await ask(who, job(`j-${text}`, text))).status).toBe(200);
      return `j-${text}`;
    },
    lists: [['GET', '/api/scheduler/jobs']],
    unknown: 'nothing',
    calls: (id) => [
      ...['pause', 'resume', 'run'].map((action): Call => ['POST', `/api/scheduler/jobs/${id}/${action}`, {}]),
      ['DELETE', `/api/scheduler/jobs/${id}`],
    ],
  },
  'a goal': {
    async create(who, condition) {
      model.enqueue({ toolCalls: [{ name: 'set_goal', arguments: { condition } }] }, 'Set.', 'YES, done.');
      await ask(who, rpc('message/send', { message: message('Set it.', { contextId: condition }) }));
      return condition;
    },
    lists: [['GET', '/api/goals']],
    unknown: 'nothing',
    calls: (id) => [['DELETE', `/api/goals/${id}`]],
  },
  'a memory': {
    create: async (who, content) =>
      String(
        JSON.parse((await ask(who, ['POST', '/api/knowledge/chunks', { content }])).text).chunk.id,
      ),
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
          await ask(other, calls(unknown)[index] ?? call, headersOf(name)),
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
