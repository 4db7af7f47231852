import { describe, expect, it } from 'vitest';
import { type Json, openStream, outline, post, rpc, saying, stream } from '../fixtures/calls.ts';
import { startWebhook } from '../fixtures/webhook.ts';
import { targetOfThisFile } from './kit-v10.suite.ts';

/** What the public kit for 0.3 demands of every agent, and of those that stream and notify. */

const target = targetOfThisFile();

const send = async (more: Json = {}, params: Json = {}) => {
  const { result } = await rpc(target, 'message/send', saying('Hello from the kit', more, params));
  return result as { id: string; contextId: string; status: { state: string } } & Json;
};

describe('messages and tasks over JSON-RPC', () => {
  it('takes a text message and answers with a task', async () => {
    const task = await send({ messageId: 'text-1' });
    expect(task).toMatchObject({ kind: 'task', status: { state: 'input-required' } });
    expect(task.contextId).toMatch(/./);
  });

  it('continues a task by its id', async () => {
    const { id, contextId } = await send();
    expect(await send({ taskId: id })).toMatchObject({ id, contextId });
  });

  it('shows a task with as much history as is asked for', async () => {
    const { id } = await send();
    await send({ taskId: id });
    const history = async (historyLength?: number) =>
      ((await rpc(target, 'tasks/get', { id, historyLength })).result.history as Json[]).length;
    expect(await history(1)).toBe(1);
    expect(await history(0)).toBe(0);
    expect(await history()).toBe(3);
  });

  it('lists tasks', async () => {
    const { id, contextId } = await send();
    const { result } = await rpc(target, 'tasks/list', { contextId });
    expect(result).toMatchObject({ tasks: [{ kind: 'task', id, contextId }], nextPageToken: '' });
  });

  it('cancels a task, and leaves one that has ended as it is', async () => {
    const { id } = await send();
    expect((await rpc(target, 'tasks/cancel', { id })).result).toMatchObject({
      id,
      status: { state: 'canceled' },
    });
    expect((await rpc(target, 'tasks/cancel', { id })).result).toMatchObject({
      id,
      status: { state: 'canceled' },
    });
  });

  it.each(['tasks/get', 'tasks/cancel', 'tasks/resubscribe', 'tasks/pushNotificationConfig/list'])(
    '%s knows no task that is not there',
    async (method) => {
      const { status, error } = await rpc(target, method, { id: 'nonexistent-task-id' });
      expect([status, error.code]).toEqual([200, -32001]);
    },
  );
});

describe('requests that are wrong', () => {
  const answerTo = async (body: unknown) => {
    const response = await post(`${target.url}/a2a`, body);
    return { status: response.status, body: (await response.json()) as Json };
  };

  it('is no JSON', async () => {
    const broken = '{"jsonrpc": "2.0", "method": "message/send", "params": {"foo": "bar"}';
    expect(await answerTo(broken)).toMatchObject({
      status: 200,
      body: { id: null, error: { code: -32700 } },
    });
  });

  it.each<[string, Json, number]>([
    ['another version of JSON-RPC', { jsonrpc: 'aaa', method: 'message/send', params: {} }, -32600],
    ['no version of JSON-RPC', { method: 'message/send', params: {}, id: 1 }, -32600],
    ['no method', { jsonrpc: '2.0', params: {} }, -32600],
    ['an unknown method', { jsonrpc: '2.0', method: 'message/sendXXX', id: '3', params: {} }, -32601],
    [
      'an id that is no id',
      { jsonrpc: '2.0', method: 'message/send', params: {}, id: { bad: 'type' } },
      -32600,
    ],
    ['params that are no object', { jsonrpc: '2.0', method: 'message/send', params: 'no', id: 4 }, -32602],
    [
      'params without a message',
      { jsonrpc: '2.0', method: 'message/send', params: { '': 'x' }, id: 4 },
      -32602,
    ],
    [
      'a message without parts',
      { jsonrpc: '2.0', method: 'message/send', params: { message: { kind: 'message' } }, id: 4 },
      -32602,
    ],
    [
      'parts that are no list',
      { jsonrpc: '2.0', method: 'message/send', params: { message: { parts: 'invalid' } }, id: 4 },
      -32602,
    ],
    [
      'a part of no known kind',
      {
        jsonrpc: '2.0',
        method: 'message/send',
        params: { message: { role: 'user', parts: [{ kind: 'unsupported', x: 1 }] } },
        id: 4,
      },
      -32602,
    ],
    ['no id of a task', { jsonrpc: '2.0', method: 'tasks/get', params: {}, id: 4 }, -32602],
  ])('has %s', async (_what, body, code) => {
    const answer = await answerTo(body);
    expect(answer).toMatchObject({ status: 200, body: { jsonrpc: '2.0', error: { code } } });
    expect(typeof (answer.body.error as { message: unknown }).message).toBe('string');
  });

  it('comes twice with the same id, which does no harm', async () => {
    const body = { jsonrpc: '2.0', id: 'same', method: 'message/send', params: saying('x') };
    const [one, other] = await Promise.all([answerTo(body), answerTo(body)]);
    expect([one.body.id, other.body.id]).toEqual(['same', 'same']);
  });
});

describe('streams over JSON-RPC', () => {
  it('begins with the task and says which frame is the last', async () => {
    const frames = await (
      await stream(target, 'message/stream', saying('x', { messageId: 'stream-1' }))
    ).rest();
    expect(outline(frames)).toEqual(['task working', 'status-update input-required']);
    expect(frames.at(-1)).toMatchObject({ final: true });
  });

  it('can be followed by another reader to the end', async () => {
    const slow = saying('x', { messageId: 'tck-delayed-complete-1' });
    const first = await stream(target, 'message/stream', slow);
    const { id } = await first.next();
    const second = await stream(target, 'tasks/resubscribe', { id });
    expect(await second.next()).toMatchObject({ kind: 'task', id, status: { state: 'working' } });
    const [rest, restToo] = await Promise.all([first.rest(), second.rest()]);
    expect(rest.at(-1)).toMatchObject({ kind: 'status-update', status: { state: 'completed' }, final: true });
    expect(restToo.at(-1)).toEqual(rest.at(-1));
  });
});

describe('notifications over JSON-RPC', () => {
  it('keeps, shows, lists and deletes configs', async () => {
    const { id: taskId } = await send();
    const pushNotificationConfig = { id: 'one', url: 'https://example.com/webhook' };
    const config = { taskId, pushNotificationConfig };
    const call = (what: string, more: Json = {}) =>
      rpc(target, `tasks/pushNotificationConfig/${what}`, { id: taskId, ...more });
    const set = await rpc(target, 'tasks/pushNotificationConfig/set', config);
    expect(set.result).toEqual(config);
    expect((await call('get')).result).toEqual(config);
    expect((await call('get', { pushNotificationConfigId: 'one' })).result).toEqual(config);
    expect((await call('get', { pushNotificationConfigId: 'two' })).error.code).toBe(-32001);
    expect((await call('list')).result).toEqual([config]);
    expect((await call('delete', { pushNotificationConfigId: 'one' })).body.result).toBeNull();
    expect((await call('list')).result).toEqual([]);
  });

  it('delivers what happens', async () => {
    const hook = await startWebhook();
    const configuration = { pushNotificationConfig: { url: hook.url, token: 'sesame' } };
    const { id } = await send({}, { configuration });
    await expect.poll(() => hook.states().at(-1)).toBe('input-required');
    expect(hook.calls.at(-1)).toMatchObject({
      headers: { 'x-a2a-notification-token': 'sesame' },
      body: { kind: 'status-update', taskId: id },
    });
    await hook.close();
  });
});

describe('the card', () => {
  it('has everything that 0.3 demands, and names both transports', async () => {
    const response = await fetch(`${target.url}/.well-known/agent-card.json`);
    expect(response.headers.get('content-type')).toContain('application/json');
    const card = (await response.json()) as Json & { url: string; skills: Json[] };
    expect(card).toMatchObject({
      protocolVersion: '0.3.0',
      preferredTransport: 'JSONRPC',
      url: `${target.url}/a2a`,
      capabilities: { streaming: true, pushNotifications: true },
      additionalInterfaces: [
        { url: card.url, transport: 'JSONRPC' },
        { url: card.url, transport: 'HTTP+JSON' },
      ],
    });
    for (const field of ['name', 'description', 'version', 'defaultInputModes', 'defaultOutputModes']) {
      expect(card[field]).toBeTruthy();
    }
    for (const skill of card.skills) {
      for (const field of ['id', 'name', 'description', 'tags']) expect(skill[field]).toBeTruthy();
    }
    const extended = await rpc(target, 'agent/getAuthenticatedExtendedCard', {});
    expect(card).toMatchObject(extended.result as Json);
  });
});

describe('the same over REST', () => {
  const base = () => `${target.url}/a2a/v1`;
  const body = (more: Json = {}) => ({
    message: { messageId: 'rest', role: 'ROLE_USER', content: [{ text: 'Hello' }], ...more },
  });
  const call = async (method: string, path: string, given?: Json) => {
    const response = await fetch(`${base()}${path}`, {
      method,
      headers: { 'content-type': 'application/json' },
      ...(given && { body: JSON.stringify(given) }),
    });
    const text = await response.text();
    return { status: response.status, body: (text === '' ? {} : JSON.parse(text)) as Json };
  };
  const create = async () => (await call('POST', '/message:send', body())).body.task as { id: string } & Json;

  it('sends, shows, continues and cancels', async () => {
    const task = await create();
    expect(task).toMatchObject({ status: { state: 'TASK_STATE_INPUT_REQUIRED' } });
    expect((await call('GET', `/tasks/${task.id}`)).body).toMatchObject({ id: task.id });
    const continued = await call('POST', '/message:send', body({ taskId: task.id }));
    expect(continued.body.task).toMatchObject({ id: task.id });
    const canceled = await call('POST', `/tasks/${task.id}:cancel`);
    expect(canceled.body).toMatchObject({ status: { state: 'TASK_STATE_CANCELLED' } });
  });

  it('tells failures by their status', async () => {
    expect((await call('GET', '/tasks/nonexistent')).status).toBe(404);
    expect((await call('POST', '/tasks/nonexistent:cancel')).status).toBe(404);
    expect((await call('POST', '/message:send', {})).status).toBe(400);
    expect((await post(`${base()}/message:send`, '{broken')).status).toBe(400);
  });

  it('streams and lets others follow', async () => {
    const init = { method: 'POST', body: JSON.stringify(body()) };
    const frames = await (await openStream(`${base()}/message:stream`, init)).rest();
    expect(frames).toMatchObject([
      { task: { status: { state: 'TASK_STATE_WORKING' } } },
      { statusUpdate: { status: { state: 'TASK_STATE_INPUT_REQUIRED' }, final: true } },
    ]);
    const { id } = await create();
    const followed = await (await openStream(`${base()}/tasks/${id}:subscribe`, { method: 'GET' })).rest();
    expect(followed[0]).toMatchObject({ task: { id } });
  });

  it('keeps webhooks', async () => {
    const { id } = await create();
    const configs = `/tasks/${id}/pushNotificationConfigs`;
    const config = { id: 'one', url: 'https://example.com/webhook' };
    const created = await call('POST', configs, { config: { pushNotificationConfig: config } });
    const name = `tasks/${id}/pushNotificationConfigs/one`;
    expect(created.body).toMatchObject({ name, pushNotificationConfig: config });
    expect((await call('GET', `${configs}/one`)).body).toMatchObject({ name });
    expect((await call('GET', configs)).body).toMatchObject({ configs: [{ name }] });
    expect((await call('DELETE', `${configs}/one`)).status).toBe(204);
    expect((await call('GET', `${configs}/one`)).status).toBe(404);
  });

  it('shows the card', async () => {
    expect((await call('GET', '/card')).body).toMatchObject({ protocolVersion: '0.3.0' });
  });
});
