import { beforeAll, describe, expect, it } from 'vitest';
import { agentsOfThisFile, asksForName, echo } from '../fixtures/agents.ts';
import { type Json, openStream, outline, post, rpc, saying, saying10, v10 } from '../fixtures/calls.ts';
import type { TestAgent } from '../fixtures/start-agent.ts';

const start = agentsOfThisFile();
let agent: TestAgent;
let asking: TestAgent;

beforeAll(async () => {
  agent = await start(echo, { push: { allowedHosts: ['hooks.example'] } });
  asking = await start(asksForName);
});

interface Answer {
  status: number;
  type: string;
  body: Json;
}

async function call(
  method: string,
  path: string,
  body?: unknown,
  headers: Record<string, string> = {},
): Promise<Answer> {
  const response = await fetch(`${agent.url}${path}`, {
    method,
    headers: body === undefined ? headers : { 'content-type': 'application/json', ...headers },
    ...(body !== undefined && { body: typeof body === 'string' ? body : JSON.stringify(body) }),
  });
  const text = await response.text();
  return {
    status: response.status,
    type: response.headers.get('content-type') ?? '',
    body: text === '' ? {} : (JSON.parse(text) as Json),
  };
}

async function finishedTask(): Promise<string> {
  return String((await rpc(agent, 'message/send', saying('x'))).result.id);
}

describe('the aliases of the contract', () => {
  it('reads a task as tasks/get does [A123]', async () => {
    const id = await finishedTask();
    const { result } = await rpc(agent, 'tasks/get', { id });
    expect(await call('GET', `/a2a/tasks/${id}`)).toMatchObject({
      status: 200,
      type: 'application/json',
      body: result,
    });
    const missing = await call('GET', '/a2a/tasks/missing');
    expect(missing).toMatchObject({
      status: 404,
      body: { code: -32001, message: 'Task not found: missing' },
    });
  });

  it('registers and lists webhooks, whose token stays here [A121] [A122]', async () => {
    const id = await finishedTask();
    const path = `/a2a/tasks/${id}/pushNotificationConfig`;
    const bare = await call('POST', path, { url: 'https://hooks.example/a', token: 'secret' });
    expect(bare.body).toMatchObject({
      taskId: id,
      pushNotificationConfig: { url: 'https://hooks.example/a' },
    });
    const wrapped = {
      pushNotificationConfig: { id: 'two', url: 'https://hooks.example/b', token: 'secret' },
    };
    await call('POST', path, wrapped);
    const listed = await call('GET', path);
    expect(listed.body).toMatchObject([
      { pushNotificationConfig: { url: 'https://hooks.example/a' } },
      { pushNotificationConfig: { id: 'two' } },
    ]);
    expect(JSON.stringify([bare, listed])).not.toContain('secret');
    const refused = await call('POST', path, { url: 'http://127.0.0.1/hook' });
    expect(refused).toMatchObject({
      status: 400,
      body: { code: -32602, message: expect.stringContaining('webhook url rejected') },
    });
  });

  it('shows what became of notifications', async () => {
    const id = await finishedTask();
    expect(await call('GET', `/a2a/tasks/${id}/pushDeliveries`)).toMatchObject({
      status: 200,
      body: { deliveries: [] },
    });
  });
});

describe('REST of 1.0', () => {
  it.each([
    [{ 'content-type': 'application/json; charset=utf-8' }, 'application/json'],
    [{ 'content-type': 'application/a2a+json' }, 'application/a2a+json'],
    [{ 'content-type': 'application/a2a+json', accept: 'application/json' }, 'application/a2a+json'],
  ])('answers a message with %j as %s', async (headers, type) => {
    const sent = await call('POST', '/message:send', saying10('hi'), { ...v10, ...headers });
    expect(sent).toMatchObject({ status: 200, type });
  });

  it.each([
    ['application/json', 'application/json'],
    ['application/json, application/a2a+json', 'application/a2a+json'],
    ['*/*', 'application/a2a+json'],
  ])('answers who asks for %s with %s', async (accept, type) => {
    expect(await call('GET', '/tasks', undefined, { ...v10, accept })).toMatchObject({ status: 200, type });
  });

  it.each(['', '/a2a'])('sends, reads, lists and cancels under %j', async (base) => {
    const contextId = crypto.randomUUID();
    const sent = await call('POST', `${base}/message:send`, saying10('hi', { contextId }), v10);
    expect(sent).toMatchObject({ status: 200, type: 'application/json' });
    const task = sent.body.task as { id: string };
    expect((await call('GET', `${base}/tasks/${task.id}`, undefined, v10)).body).toEqual(task);
    const short = await call('GET', `${base}/tasks/${task.id}?historyLength=0`, undefined, v10);
    expect(short.body).not.toHaveProperty('history');
    const page = await call(
      'GET',
      `${base}/tasks?contextId=${contextId}&pageSize=5&includeArtifacts=true`,
      undefined,
      v10,
    );
    expect(page.body).toMatchObject({
      totalSize: 1,
      pageSize: 5,
      nextPageToken: '',
      tasks: [{ artifacts: [{}] }],
    });
    const canceled = await call('POST', `${base}/tasks/${task.id}:cancel`, undefined, v10);
    expect(canceled).toMatchObject({
      status: 400,
      type: 'application/json',
      body: {
        error: {
          code: 400,
          status: 'FAILED_PRECONDITION',
          details: [{ reason: 'TASK_NOT_CANCELABLE', domain: 'a2a-protocol.org' }],
        },
      },
    });
  });

  it('streams and subscribes by GET and POST', async () => {
    const body = JSON.stringify(saying10('hi'));
    const frames = await (
      await openStream(`${agent.url}/message:stream`, { method: 'POST', body }, v10)
    ).rest();
    expect(frames.map((frame) => Object.keys(frame)[0])).toEqual(['task', 'artifactUpdate', 'statusUpdate']);
    const parked = await rpc(asking, 'SendMessage', saying10('hi'), v10);
    const { id } = parked.result.task as { id: string };
    for (const method of ['GET', 'POST']) {
      const reader = await openStream(`${asking.url}/tasks/${id}:subscribe`, { method }, v10);
      expect(await reader.next()).toMatchObject({
        task: { id, status: { state: 'TASK_STATE_INPUT_REQUIRED' } },
      });
      reader.drop();
    }
  });

  it('keeps webhooks', async () => {
    const id = await finishedTask();
    const path = `/tasks/${id}/pushNotificationConfigs`;
    const config = {
      id: 'cfg',
      url: 'https://hooks.example/c',
      authentication: { scheme: 'Bearer', credentials: 'x' },
    };
    const created = await call('POST', path, config, v10);
    expect(created.body).toEqual({ id: 'cfg', taskId: id, url: 'https://hooks.example/c' });
    expect((await call('GET', `${path}/cfg`, undefined, v10)).body).toEqual(created.body);
    expect((await call('GET', path, undefined, v10)).body).toEqual({
      configs: [created.body],
      nextPageToken: '',
    });
    expect((await call('DELETE', `${path}/cfg`, undefined, v10)).status).toBe(204);
    expect((await call('DELETE', `${path}/cfg`, undefined, v10)).status).toBe(204);
    expect(await call('GET', `${path}/cfg`, undefined, v10)).toMatchObject({ status: 404 });
  });

  it.each<[string, string, string, unknown, Record<string, string>, number, string]>([
    ['an unknown task', 'GET', '/tasks/none', undefined, v10, 404, 'TASK_NOT_FOUND'],
    ['an empty message', 'POST', '/message:send', {}, v10, 400, 'INVALID_PARAMS'],
    ['a body that is no object', 'POST', '/message:send', [], v10, 400, 'INVALID_PARAMS'],
    ['a body that is no JSON', 'POST', '/message:send', '{', v10, 400, 'PARSE_ERROR'],
    [
      'a wrong content type',
      'POST',
      '/message:send',
      '{}',
      { ...v10, 'content-type': 'text/plain' },
      400,
      'CONTENT_TYPE_NOT_SUPPORTED',
    ],
    [
      'a version nobody speaks',
      'POST',
      '/message:send',
      {},
      { 'a2a-version': '99.0' },
      400,
      'VERSION_NOT_SUPPORTED',
    ],
    ['a page size beyond the limit', 'GET', '/tasks?pageSize=1000', undefined, v10, 400, 'INVALID_PARAMS'],
    [
      'the extended card of an open agent',
      'GET',
      '/extendedAgentCard',
      undefined,
      v10,
      400,
      'UNSUPPORTED_OPERATION',
    ],
  ])('reports %s', async (_name, method, path, body, headers, status, reason) => {
    const answer = await call(method, path, body, headers);
    expect(answer).toMatchObject({
      status,
      type: 'application/json',
      body: {
        error: {
          code: status,
          message: expect.any(String),
          details: expect.arrayContaining([expect.objectContaining({ reason, domain: 'a2a-protocol.org' })]),
        },
      },
    });
  });

  it('says when push notifications are not supported', async () => {
    const quiet = await start(echo, { push: false });
    const { result } = await rpc(quiet, 'message/send', saying('x'));
    const params = { taskId: result.id, pushNotificationConfig: { url: 'https://hooks.example/x' } };
    const refused = await rpc(quiet, 'tasks/pushNotificationConfig/set', params);
    expect(refused.error).toMatchObject({ code: -32003, message: 'Push Notification is not supported' });
    const response = await post(
      `${quiet.url}/tasks/${result.id}/pushNotificationConfigs`,
      { url: 'https://x.example' },
      v10,
    );
    expect(response.status).toBe(400);
    expect(await response.json()).toMatchObject({
      error: { details: [{ reason: 'PUSH_NOTIFICATION_NOT_SUPPORTED' }] },
    });
  });
});

describe('REST of 0.3', () => {
  it('speaks its JSON without a header at the root', async () => {
    const sent = await call('POST', '/message:send', saying('hi'));
    expect(sent).toMatchObject({ status: 200, type: 'application/json', body: { kind: 'task' } });
    const reader = await openStream(`${agent.url}/message:stream`, {
      method: 'POST',
      body: JSON.stringify(saying('hi')),
    });
    expect(outline(await reader.rest())).toEqual([
      'task working',
      'artifact-update',
      'status-update completed',
    ]);
  });

  it.each(['/v1', '/a2a/v1'])('speaks its protocol buffers under %s', async (base) => {
    const message = { message_id: 'm', role: 'ROLE_USER', content: [{ text: 'hi' }] };
    const sent = await call('POST', `${base}/message:send`, { message });
    const task = sent.body.task as Json;
    expect(task).toMatchObject({
      status: { state: 'TASK_STATE_COMPLETED' },
      artifacts: [{ parts: [{ text: 'You said hi' }] }],
      history: [{ messageId: 'm', role: 'ROLE_USER', content: [{ text: 'hi' }] }],
    });
    expect((await call('GET', `${base}/tasks/${task.id}?history_length=0`)).body).toMatchObject({
      history: [],
    });
    expect((await call('POST', `${base}/tasks/${task.id}:cancel`)).body).toMatchObject({ id: task.id });
    expect((await call('GET', `${base}/card`)).body).toMatchObject({ protocolVersion: '0.3.0' });
    expect(await call('GET', `${base}/tasks/none`)).toMatchObject({ status: 404, body: { code: -32001 } });
    expect((await call('GET', `${base}/tasks`)).body).toMatchObject({ tasks: expect.any(Array) });
  });

  it('spells cancelling with two l there, and wraps webhooks in names', async () => {
    const parked = await rpc(asking, 'message/send', saying('x'));
    const canceled = await fetch(`${asking.url}/v1/tasks/${parked.result.id}:cancel`, { method: 'POST' });
    expect(await canceled.json()).toMatchObject({ status: { state: 'TASK_STATE_CANCELLED' } });
    const id = await finishedTask();
    const body = {
      parent: `tasks/${id}`,
      config_id: 'hook',
      config: { push_notification_config: { id: 'hook', url: 'https://hooks.example/d', token: '' } },
    };
    const created = await call('POST', `/v1/tasks/${id}/pushNotificationConfigs`, body);
    expect(created.body).toEqual({
      name: `tasks/${id}/pushNotificationConfigs/hook`,
      pushNotificationConfig: { id: 'hook', url: 'https://hooks.example/d' },
    });
    expect((await call('GET', `/v1/tasks/${id}/pushNotificationConfigs`)).body).toEqual({
      configs: [created.body],
    });
  });
});
