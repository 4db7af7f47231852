import { waitFor } from '@trunkline/testing';
import { describe, expect, it } from 'vitest';
import { asksForName, echo, hookedAgents } from '../fixtures/agents.ts';
import { type Json, openStream, outline, post, rpc, saying10, stream, v10 } from '../fixtures/calls.ts';

/** What sections of the specification of 1.0 demand and no public kit asks for. */

const start = hookedAgents();

describe('3.3.2, 9.5, 11.6: a wrong parameter', () => {
  const details = (field: string, description: string) => [
    expect.objectContaining({
      '@type': 'type.googleapis.com/google.rpc.ErrorInfo',
      domain: 'a2a-protocol.org',
    }),
    { '@type': 'type.googleapis.com/google.rpc.BadRequest', fieldViolations: [{ field, description }] },
  ];

  it.each<[string, string, Json, string, string]>([
    ['SendMessage', 'message:send', {}, 'message', 'message is missing'],
    [
      'SendMessage',
      'message:send',
      saying10('x', { parts: [] }),
      'message.parts',
      'message.parts must hold at least one part',
    ],
    [
      'SendMessage',
      'message:send',
      saying10('x', { messageId: '' }),
      'message.messageId',
      'message.messageId is missing',
    ],
    [
      'SendMessage',
      'message:send',
      saying10('x', { role: 'ROLE_AGENT' }),
      'message.role',
      'message.role must be ROLE_USER',
    ],
    [
      'ListTasks',
      'tasks',
      { pageSize: 150 },
      'pageSize',
      'pageSize must be a whole number between 1 and 100',
    ],
    [
      'ListTasks',
      'tasks',
      { historyLength: -5 },
      'historyLength',
      'historyLength must be a whole number, zero or more',
    ],
    [
      'ListTasks',
      'tasks',
      { status: 'TASK_STATE_RUNNING' },
      'status',
      'status is not a state that tasks have here',
    ],
  ])('of %s is named by its path', async (method, path, params, field, words) => {
    const { agent } = await start(echo);
    const { error } = await rpc(agent, method, params, v10);
    expect(error).toEqual({ code: -32602, message: words, data: details(field, words) });
    const query = Object.entries(params).map(([name, value]) => [name, String(value)]);
    const response =
      path === 'tasks'
        ? await fetch(`${agent.url}/tasks?${new URLSearchParams(query)}`, { headers: v10 })
        : await post(`${agent.url}/${path}`, params, v10);
    expect([response.status, response.headers.get('content-type')]).toEqual([400, 'application/json']);
    expect(await response.json()).toMatchObject({
      error: { code: 400, status: 'INVALID_ARGUMENT', message: words, details: details(field, words) },
    });
  });
});

describe('3.1.8, 3.1.10, 5.7: a webhook', () => {
  it('is read and deleted by its id alone, and 0.3 goes on without', async () => {
    const { agent, hook } = await start(asksForName);
    const { task } = (await rpc(agent, 'SendMessage', saying10('hi'), v10)).result as {
      task: { id: string };
    };
    const taskId = task.id;
    for (const id of ['one', 'two'])
      await rpc(agent, 'CreateTaskPushNotificationConfig', { taskId, id, url: hook.url }, v10);
    for (const method of ['GetTaskPushNotificationConfig', 'DeleteTaskPushNotificationConfig'])
      expect((await rpc(agent, method, { taskId }, v10)).error).toMatchObject({
        code: -32602,
        message: 'id is missing',
      });
    const listed = await rpc(agent, 'ListTaskPushNotificationConfigs', { taskId }, v10);
    expect(listed.result.configs).toHaveLength(2);
    await rpc(agent, 'tasks/pushNotificationConfig/delete', { id: taskId });
    expect((await rpc(agent, 'tasks/pushNotificationConfig/list', { id: taskId })).result).toEqual([]);
  });

  it('4.3.3, 13.2: gets the credentials of `authentication`, and the token beside them', async () => {
    const { agent, hook } = await start(echo);
    const config = {
      url: hook.url,
      token: 'of-the-session',
      authentication: { scheme: 'Basic', credentials: 'dTpw' },
    };
    const configuration = { taskPushNotificationConfig: config };
    await rpc(agent, 'SendMessage', saying10('hi', {}, { configuration }), v10);
    await waitFor(() => hook.states().includes('TASK_STATE_COMPLETED'));
    expect(hook.calls.at(-1)?.headers).toMatchObject({
      authorization: 'Basic dTpw',
      'x-a2a-notification-token': 'of-the-session',
      'content-type': 'application/a2a+json',
    });
  });
});

it('3.1.4: lists tasks of that very time and later', async () => {
  const { agent, clock } = await start(echo);
  await rpc(agent, 'SendMessage', saying10('first'), v10);
  const at = new Date(clock.now()).toISOString();
  await clock.advanceBy(1000);
  await rpc(agent, 'SendMessage', saying10('second'), v10);
  const count = async (statusTimestampAfter: string) =>
    (await rpc(agent, 'ListTasks', { statusTimestampAfter }, v10)).result.totalSize;
  expect(await count(at)).toBe(2);
  expect(await count(new Date(Date.parse(at) + 1).toISOString())).toBe(1);
});

it('13.3: the extended card is kept by nobody but the one who asked, and has no tenant that there is not', async () => {
  const extendedCard = () => ({ description: 'for you' });
  const { agent } = await start(echo, { credentials: { bearer: 'token-1' }, extendedCard });
  const headers = { ...v10, authorization: 'Bearer token-1' };
  const response = await fetch(`${agent.url}/extendedAgentCard`, { headers });
  expect(response.headers.get('cache-control')).toBe('private, no-cache');
  expect((await rpc(agent, 'GetExtendedAgentCard', { tenant: 'nobody' }, headers)).error.code).toBe(-32602);
});

it('3.7: a note beside an answer comes before the end, and stays in the task', async () => {
  const note = 'Two of three sources agree.';
  const { agent } = await start(async function* ({ text }) {
    if (text === 'report') yield { type: 'text-delta', text: 'The report.' };
    yield { type: 'completed', message: note };
  });
  const frames = await (await stream(agent, 'message/stream', { message: older('report') })).rest();
  expect(outline(frames)).toEqual([
    'task working',
    'artifact-update',
    'artifact-update',
    'status-update working',
    'status-update completed',
  ]);
  // Some clients (Strands) take what the last frame says for the answer.
  expect(frames.map((frame) => wordsOf(frame))).toEqual([undefined, undefined, undefined, note, undefined]);
  const [task] = frames;
  const read = await rpc(agent, 'tasks/get', { id: task?.id });
  expect(wordsOf(read.result)).toBe(note);
  // Where it is all that is said, it comes with the end.
  const alone = await (await stream(agent, 'message/stream', { message: older('note') })).rest();
  expect(outline(alone)).toEqual(['task working', 'status-update completed']);
  expect(wordsOf(alone.at(-1) ?? {})).toBe(note);
});

const older = (text: string) => ({ role: 'user', parts: [{ kind: 'text', text }] });

function wordsOf(holder: Json): string | undefined {
  const status = holder.status as { message?: { parts: { text?: string }[] } } | undefined;
  return status?.message?.parts[0]?.text;
}

describe('slashes', () => {
  const task = '/tasks/unknown';
  const config = `${task}/pushNotificationConfigs`;
  const routes: [method: string, path: string][] = [
    ['POST', '/message:send'],
    ['POST', '/message:stream'],
    ['GET', '/tasks'],
    ['GET', task],
    ['POST', `${task}:cancel`],
    ['GET', `${task}:subscribe`],
    ['POST', `${task}:subscribe`],
    ['GET', `${task}/pushNotificationConfig`],
    ['POST', `${task}/pushNotificationConfig`],
    ['GET', config],
    ['POST', config],
    ['GET', `${config}/one`],
    ['DELETE', `${config}/one`],
    ['GET', `${task}/pushDeliveries`],
    ['GET', '/extendedAgentCard'],
  ];

  it.each(routes)(
    '%s %s answers the same with one at the end, and so does the guard',
    async (method, path) => {
      const { agent } = await start(echo, { credentials: { bearer: 'token-1' } });
      const known = { authorization: 'Bearer token-1', 'content-type': 'application/json' };
      const ask = async (at: string, headers: Record<string, string>) => {
        const response = await fetch(agent.url + at, {
          method,
          headers,
          ...(method === 'POST' && { body: '{}' }),
        });
        return [response.status, await response.text()];
      };
      for (const base of ['', '/a2a', '/v1', '/a2a/v1'])
        for (const version of [{}, v10]) {
          const plain = await ask(base + path, { ...known, ...version });
          expect(plain[0]).not.toBe(405);
          expect(String(plain[1])).not.toContain('not_found');
          expect(await ask(`${base}${path}/`, { ...known, ...version })).toEqual(plain);
          expect((await ask(`${base}${path}/`, version))[0]).toBe(401);
        }
    },
  );

  it.each(['/v1/card', '/a2a/v1/card'])('GET %s takes one too', async (path) => {
    const { agent } = await start(echo);
    const card = await (await fetch(agent.url + path)).json();
    expect(card).toMatchObject({ name: 'Test agent' });
    expect(await (await fetch(`${agent.url}${path}/`)).json()).toEqual(card);
  });

  it('POST and GET /a2a take one too, and the key; the well-known paths are open', async () => {
    const { agent } = await start(echo, { credentials: { bearer: 'token-1' } });
    const card = await (await fetch(`${agent.url}/.well-known/agent-card.json`)).text();
    for (const path of ['/a2a', '/a2a/']) {
      const headers = { authorization: 'Bearer token-1' };
      expect(await (await fetch(agent.url + path, { headers })).text()).toBe(card);
      expect((await fetch(agent.url + path)).status).toBe(401);
      expect((await post(agent.url + path, {})).status).toBe(401);
      expect(await (await post(agent.url + path, {}, headers)).json()).toMatchObject({
        error: { code: -32600 },
      });
    }
  });

  it('a stream opens with one', async () => {
    const { agent } = await start(echo);
    const body = JSON.stringify(saying10('hi'));
    const opened = await openStream(`${agent.url}/a2a/message:stream/`, { method: 'POST', body }, v10);
    expect((await opened.rest()).at(-1)).toHaveProperty('statusUpdate');
  });
});
