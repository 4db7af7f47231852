import { beforeAll, describe, expect, it } from 'vitest';
import { agentsOfThisFile, asksForName, echo } from '../fixtures/agents.ts';
import { type Json, post, rpc, saying, saying10, v10 } from '../fixtures/calls.ts';
import type { TestAgent } from '../fixtures/start-agent.ts';

const start = agentsOfThisFile();
let agent: TestAgent;
let asking: TestAgent;

beforeAll(async () => {
  agent = await start(echo);
  asking = await start(asksForName);
});

async function raw(body: unknown, headers: Record<string, string> = {}) {
  const response = await post(`${agent.url}/a2a`, body, headers);
  const text = await response.text();
  return {
    status: response.status,
    text,
    body: text === '' ? undefined : (JSON.parse(text) as Json & Json[]),
  };
}

describe('envelope', () => {
  it('answers under the id of the request, whatever kind it is [A120]', async () => {
    for (const id of ['text', 12, 0.5, null]) {
      const { body } = await raw({ jsonrpc: '2.0', id, method: 'message/send', params: saying('hi') });
      expect(body).toMatchObject({ jsonrpc: '2.0', id, result: { kind: 'task' } });
    }
  });

  it.each([
    ['broken JSON', '{"jsonrpc": "2.0", "method": ', -32700, null],
    ['no JSON at all', 'hello', -32700, null],
    ['a wrong version', { jsonrpc: '1.0', id: 5, method: 'message/send' }, -32600, 5],
    ['no method', { jsonrpc: '2.0', id: 5, params: {} }, -32600, 5],
    ['a method that is no text', { jsonrpc: '2.0', id: 5, method: 1 }, -32600, 5],
    ['an id of a wrong kind', { jsonrpc: '2.0', id: { bad: 'kind' }, method: 'message/send' }, -32600, null],
    ['a number as the request', 42, -32600, null],
    ['nothing as the request', null, -32600, null],
    ['params in a list', { jsonrpc: '2.0', id: 5, method: 'message/send', params: [1] }, -32602, 5],
    ['an unknown method', { jsonrpc: '2.0', id: 5, method: 'nonexistent/method', params: {} }, -32601, 5],
  ])('reports %s', async (_name, request, code, id) => {
    const { status, body } = await raw(request);
    expect(status).toBe(200);
    expect(body).toMatchObject({ jsonrpc: '2.0', id, error: { code } });
    expect(Object.keys(body ?? {}).sort()).toEqual(['error', 'id', 'jsonrpc']);
  });

  it('answers an error as a frame to those who read only streams, as clients of 0.3 do', async () => {
    const body = { jsonrpc: '2.0', id: 7, method: 'tasks/resubscribe', params: { id: 'unknown' } };
    const response = await post(`${agent.url}/a2a`, body, { accept: 'text/event-stream' });
    expect(response.headers.get('content-type')).toContain('text/event-stream');
    const frame = /^data: (.+)\n\n$/.exec(await response.text())?.[1] ?? '';
    expect(JSON.parse(frame)).toMatchObject({ id: 7, error: { code: -32001 } });
    expect((await raw(body, { accept: 'application/json, text/event-stream' })).body).toMatchObject({
      error: { code: -32001 },
    });
  });

  it('names the method that it does not know', async () => {
    expect((await rpc(agent, 'tasks/explode', {})).error.message).toBe('Method not found: tasks/explode');
    // Methods of one version are none of the other.
    expect((await rpc(agent, 'SendMessage', saying10('x'))).error.code).toBe(-32601);
    expect((await rpc(agent, 'message/send', saying('x'), v10)).error.code).toBe(-32601);
  });

  it('answers a wrong request without an id, and a right one not at all', async () => {
    const wrong = await raw({ jsonrpc: '2.0', method: 'message/ssend', params: {} });
    expect(wrong.body).toMatchObject({ id: null, error: { code: -32601 } });
    const right = await raw({ jsonrpc: '2.0', method: 'message/send', params: saying('quietly') });
    expect(right).toMatchObject({ status: 204, text: '' });
    expect(agent.engine.list({ pageSize: 1 }).tasks[0]?.history[0]?.parts[0]).toMatchObject({
      text: 'quietly',
    });
  });
});

describe('batch', () => {
  const one = (id: number | undefined, method: string, params: Json = {}) => ({
    jsonrpc: '2.0',
    ...(id === undefined ? {} : { id }),
    method,
    params,
  });

  it('answers every request in order and notifications not at all', async () => {
    const { status, body } = await raw([
      one(1, 'message/send', saying('first')),
      one(undefined, 'message/send', saying('silent')),
      one(undefined, 'no/such/method'),
      one(2, 'tasks/get', { id: 'missing' }),
      'nonsense',
      one(3, 'message/stream', saying('x')),
    ]);
    expect(status).toBe(200);
    expect(body).toMatchObject([
      { id: 1, result: { kind: 'task' } },
      { id: 2, error: { code: -32001 } },
      { id: null, error: { code: -32600 } },
      { id: 3, error: { code: -32004 } },
    ]);
  });

  it('has no body when all are notifications, and refuses what is empty or too long', async () => {
    expect(await raw([one(undefined, 'message/send', saying('a'))])).toMatchObject({ status: 204, text: '' });
    expect((await raw([])).body).toMatchObject({ id: null, error: { code: -32600 } });
    const long = Array.from({ length: 51 }, (_, id) => one(id, 'tasks/get', { id: 'x' }));
    expect((await raw(long)).body).toMatchObject({ error: { code: -32600 } });
  });
});

describe('errors of both versions', () => {
  it.each([
    ['no message', {}],
    ['a message without parts', { message: { kind: 'message' } }],
    ['parts that are no list', { message: { parts: 'invalid' } }],
    ['an empty list of parts', { message: { role: 'user', parts: [] } }],
    ['a part of no kind', { message: { role: 'user', parts: [{ kind: 'song' }] } }],
    ['no text part', { message: { role: 'user', parts: [{ kind: 'data', data: { a: 1 } }] } }],
    ['a wrong role', { message: { role: 'agent', parts: [{ kind: 'text', text: 'x' }] } }],
    ['metadata that is no object', saying('x', {}, { metadata: 'x' })],
    ['an id that is too long', saying('x', { contextId: 'x'.repeat(300) })],
    ['a history length below zero', saying('x', {}, { configuration: { historyLength: -1 } })],
  ])('refuses %s with -32602', async (_name, params) => {
    expect((await rpc(agent, 'message/send', params)).error.code).toBe(-32602);
    expect((await rpc(agent, 'SendMessage', params, v10)).error.code).toBe(-32602);
  });

  it('refuses a missing id, and one that nobody knows [A132] [A134]', async () => {
    for (const method of [
      'tasks/get',
      'tasks/cancel',
      'tasks/resubscribe',
      'tasks/pushNotificationConfig/list',
    ]) {
      expect((await rpc(agent, method, {})).error.code).toBe(-32602);
      const unknown = await rpc(agent, method, { id: 'abc' });
      expect(unknown).toMatchObject({ status: 200, error: { code: -32001, message: 'Task not found: abc' } });
      expect(unknown.error.data).toBeUndefined();
    }
    for (const method of ['GetTask', 'CancelTask', 'SubscribeToTask']) {
      expect((await rpc(agent, method, { id: 'abc' }, v10)).error).toEqual({
        code: -32001,
        message: 'Task not found: abc',
        data: [
          {
            '@type': 'type.googleapis.com/google.rpc.ErrorInfo',
            reason: 'TASK_NOT_FOUND',
            domain: 'a2a-protocol.org',
          },
        ],
      });
    }
  });

  it('refuses media types that the card does not list, in words that say which', async () => {
    const file = { name: 'a.xyz', mimeType: 'application/x-unheard-of', bytes: 'dGVzdA==' };
    const params = {
      message: {
        role: 'user',
        parts: [
          { kind: 'text', text: 'x' },
          { kind: 'file', file },
        ],
      },
    };
    const old = await rpc(agent, 'message/send', params);
    expect(old.error.code).toBe(-32005);
    expect(old.error.message).toMatch(
      /incompatible content types.*application\/x-unheard-of.*not supported/i,
    );
    const raw10 = {
      message: {
        messageId: 'm1',
        role: 'ROLE_USER',
        parts: [{ raw: 'dGNr', mediaType: 'application/x-odd' }],
      },
    };
    expect((await rpc(agent, 'SendMessage', raw10, v10)).error.code).toBe(-32005);
  });

  it('differs for tasks that have ended: 0.3 lets it pass, 1.0 refuses [A110]', async () => {
    const { result } = await rpc(agent, 'message/send', saying('x'));
    const canceled = await rpc(agent, 'tasks/cancel', { id: result.id });
    expect(canceled.result).toEqual(result);
    const again = await rpc(agent, 'message/send', saying('y', { taskId: result.id }));
    expect(again.result.id).not.toBe(result.id);
    expect((await rpc(agent, 'CancelTask', { id: result.id }, v10)).error.code).toBe(-32002);
    expect((await rpc(agent, 'SubscribeToTask', { id: result.id }, v10)).error.code).toBe(-32004);
    const sent = await rpc(agent, 'SendMessage', saying10('z', { taskId: result.id }), v10);
    expect(sent.error.code).toBe(-32004);
    const unknown = await rpc(agent, 'SendMessage', saying10('z', { taskId: 'nobody' }), v10);
    expect(unknown.error.code).toBe(-32001);
  });

  it('refuses an answer from another context in both', async () => {
    const { result } = await rpc(asking, 'message/send', saying('x'));
    const more = { taskId: result.id, contextId: 'wrong' };
    expect((await rpc(asking, 'message/send', saying('Ada', more))).error.code).toBe(-32602);
    expect((await rpc(asking, 'SendMessage', saying10('Ada', more), v10)).error.code).toBe(-32602);
  });
});

describe('version negotiation', () => {
  it('speaks 0.3 without a header, and ignores the patch number', async () => {
    for (const version of ['', '0.3', '0.3.0']) {
      const { result } = await rpc(agent, 'message/send', saying('x'), { 'a2a-version': version });
      expect(result.kind).toBe('task');
    }
    for (const version of ['1.0', '1.0.7', '1']) {
      const { result } = await rpc(agent, 'SendMessage', saying10('x'), { 'a2a-version': version });
      expect(result.task).toMatchObject({ status: { state: 'TASK_STATE_COMPLETED' } });
    }
    const response = await post(`${agent.url}/a2a?A2A-Version=1.0`, {
      jsonrpc: '2.0',
      id: 1,
      method: 'SendMessage',
      params: saying10('x'),
    });
    expect(await response.json()).toMatchObject({ result: { task: {} } });
  });

  it.each(['99.0', '0.2', '1.1', 'nonsense'])('refuses version %s with -32009', async (version) => {
    const { status, error } = await rpc(agent, 'SendMessage', saying10('x'), { 'a2a-version': version });
    expect(status).toBe(200);
    expect(error).toMatchObject({ code: -32009, data: [{ reason: 'VERSION_NOT_SUPPORTED' }] });
  });

  it('insists on JSON in every version, as a page of another site can send plain text', async () => {
    const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'SendMessage', params: saying10('x') });
    const strict = await post(`${agent.url}/a2a`, body, { ...v10, 'content-type': 'text/plain' });
    expect(await strict.json()).toMatchObject({ error: { code: -32005 } });
    const old = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'message/send', params: saying('x') });
    const older = await post(`${agent.url}/a2a`, old, { 'content-type': 'text/plain' });
    expect(await older.json()).toMatchObject({ error: { code: -32005 } });
    const untyped = await fetch(`${agent.url}/a2a`, { method: 'POST', body: new Blob([old]) });
    expect(await untyped.json()).toMatchObject({ error: { code: -32005 } });
  });
});

it('asks callers for extensions that the card requires', async () => {
  const uri = 'urn:example:must-know';
  const strict = await start(echo, {
    card: () => ({
      name: 'Strict',
      description: 'Wants an extension.',
      version: '1',
      publicUrl: 'http://127.0.0.1',
      skills: [],
      extensions: [{ uri, description: 'Must be known.', required: true }],
    }),
  });
  expect((await rpc(strict, 'SendMessage', saying10('x'), v10)).error.code).toBe(-32008);
  const declared = await rpc(strict, 'SendMessage', saying10('x'), {
    ...v10,
    'a2a-extensions': `urn:a, ${uri}`,
  });
  expect(declared.result.task).toBeDefined();
});
