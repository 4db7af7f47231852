import { StreamResponse } from '@a2a-js/sdk';
import { describe, expect, it } from 'vitest';
import { type Frame, type Json, post, v10 } from '../fixtures/calls.ts';
import { startWebhook } from '../fixtures/webhook.ts';
import {
  completed,
  expectWrong,
  jsonRpcKit,
  type Kit,
  message,
  restKit,
  targetOfThisFile,
  taskOf,
  waiting,
} from './kit-v10.suite.ts';

/** Streams, notifications and bindings as the public kit for 1.0 demands them. */

const target = targetOfThisFile();
const transports: [string, Kit][] = [
  ['JSON-RPC', jsonRpcKit(target)],
  ['REST', restKit(target)],
];

const names = ['task', 'message', 'statusUpdate', 'artifactUpdate'];

/** Each frame holds exactly one thing, which the schema knows. */
function kindsOf(frames: readonly Frame[]): string[] {
  return frames.map(({ sequence: _, ...frame }) => {
    const [kind = '', ...others] = Object.keys(frame);
    expect(others).toEqual([]);
    expect(names).toContain(kind);
    expect(Object.keys(StreamResponse.toJSON(StreamResponse.fromJSON(frame)) as object)).toEqual([kind]);
    return kind;
  });
}

function lastState(frames: readonly Frame[]): string | undefined {
  const last = frames.at(-1)?.statusUpdate as { status: { state: string } } | undefined;
  return last?.status.state;
}

describe.each(transports)('streams over %s', (transport, kit) => {
  it('CORE-STREAM-001, -003, STREAM-ORDER-001: begins with the task and closes at its end', async () => {
    const opened = await kit.stream(message('stream-003'));
    expect(opened.response.headers.get('content-type')).toContain('text/event-stream');
    const frames = await opened.rest();
    expect(kindsOf(frames)).toEqual(['task', 'artifactUpdate', 'statusUpdate']);
    expect(lastState(frames)).toBe('TASK_STATE_COMPLETED');
  });

  it('CORE-STREAM-002: holds one message and closes when the agent has nothing else to say', async () => {
    expect(kindsOf(await (await kit.stream(message('message-response'))).rest())).toEqual(['message']);
  });

  it('gives an artifact in pieces', async () => {
    const frames = await (await kit.stream(message('stream-artifact-chunked'))).rest();
    const updates = frames.flatMap((frame) =>
      frame.artifactUpdate === undefined ? [] : [frame.artifactUpdate],
    );
    expect(updates).toMatchObject([
      { append: false, lastChunk: false, artifact: { artifactId: 'chunks', parts: [{ text: 'chunk-1 ' }] } },
      { append: true, lastChunk: true, artifact: { artifactId: 'chunks', parts: [{ text: 'chunk-2' }] } },
    ]);
  });

  it('STREAM-SUB-001, -002: shows the task first and ends with it', async () => {
    const { id } = await waiting(kit);
    const subscription = await kit.subscribe(id);
    const first = await subscription.next();
    expect(first).toMatchObject({ task: { id, status: { state: 'TASK_STATE_INPUT_REQUIRED' } } });
    await kit.send(message('complete-task', { taskId: id }));
    const rest = await subscription.rest();
    kindsOf([first, ...rest]);
    expect(lastState(rest)).toBe('TASK_STATE_COMPLETED');
  });

  it('STREAM-SUB-003, -004: has nothing to show of a task that has ended or never was', async () => {
    const { id } = await completed(kit);
    expectWrong(await kit.trySubscribe(id), 'UNSUPPORTED_OPERATION', transport);
    expectWrong(await kit.trySubscribe('tck-nonexistent'), 'TASK_NOT_FOUND', transport);
  });

  it('STREAM-ORDER-002, -003, -004: tells all readers the same, also when one leaves', async () => {
    const { id } = await waiting(kit);
    const [one, other, leaving] = [await kit.subscribe(id), await kit.subscribe(id), await kit.subscribe(id)];
    await leaving.next();
    leaving.drop();
    await kit.send(message('complete-task', { taskId: id }));
    const [seen, seenToo] = [await one.rest(), await other.rest()];
    expect(seen.length).toBeGreaterThan(1);
    expect(seenToo).toEqual(seen);
  });
});

describe.each(transports)('push configs over %s', (transport, kit) => {
  const config = { id: 'tck-push', url: 'https://example.com/tck-push-webhook' };

  it('PUSH-CREATE, PUSH-GET, PUSH-LIST, PUSH-DEL: keeps them until they are deleted, which may come twice', async () => {
    const { id: taskId } = await completed(kit);
    expect((await kit.createPush(taskId, config)).result).toEqual({ taskId, ...config });
    expect((await kit.getPush(taskId, config.id)).result).toEqual({ taskId, ...config });
    expect((await kit.listPush(taskId)).result).toMatchObject({ configs: [config] });
    expectWrong(await kit.getPush(taskId, 'nonexistent'), 'TASK_NOT_FOUND', transport);
    expect(await kit.deletePush(taskId, config.id)).toMatchObject({ ok: true });
    expectWrong(await kit.getPush(taskId, config.id), 'TASK_NOT_FOUND', transport);
    expect(await kit.deletePush(taskId, config.id)).toMatchObject({ ok: true });
  });

  it('PUSH-DELIVER-001, -002, -003: delivers frames with the credentials', async () => {
    const hook = await startWebhook();
    const authentication = { scheme: 'Bearer', credentials: 'tck-token' };
    const taskPushNotificationConfig = { id: 'hook', url: hook.url, authentication };
    const asking = await kit.send(message('input-required'), { taskPushNotificationConfig });
    await kit.send(message('complete-task', { taskId: taskOf(asking).id }));
    await expect.poll(() => hook.states().at(-1)).toBe('TASK_STATE_COMPLETED');
    for (const { headers, body } of hook.calls) {
      expect(headers.authorization).toBe('Bearer tck-token');
      expect(Object.keys(body)).toHaveLength(1);
      expect(['task', 'statusUpdate']).toContain(Object.keys(body)[0]);
    }
    await hook.close();
  });
});

describe('the bindings', () => {
  const [, rpcKit] = transports[0]!;
  const [, rest] = transports[1]!;

  it('JSONRPC-FMT, HTTP_JSON-SVC-001: name their media types', async () => {
    expect((await rpcKit.send(message('complete-task'))).contentType).toContain('application/json');
    expect((await rest.send(message('complete-task'))).contentType).toContain('application/json');
    expect((await rest.list()).contentType).toContain('application/a2a+json');
    expect((await rest.get('tck-nonexistent')).contentType).toContain('application/json');
  });

  it('JSONRPC-ERR, HTTP_JSON-ERR: explain errors in their own form', async () => {
    const info = { '@type': 'type.googleapis.com/google.rpc.ErrorInfo', domain: 'a2a-protocol.org' };
    const details = [{ ...info, reason: 'TASK_NOT_FOUND' }];
    const words = 'Task not found: tck-nonexistent';
    expect((await rpcKit.get('tck-nonexistent')).raw.error).toEqual({
      code: -32001,
      message: words,
      data: details,
    });
    expect((await rest.get('tck-nonexistent')).raw.error).toEqual({
      code: 404,
      status: 'NOT_FOUND',
      message: words,
      details,
    });
  });

  it('JSONRPC-SVC-002, HTTP_JSON-SVC-002: take extension headers', async () => {
    const headers = { ...v10, 'a2a-extensions': 'https://example.com/ext/v1,https://example.com/ext/v2' };
    const response = await post(
      `${target.url}/a2a/message:send`,
      { message: message('complete-task') },
      headers,
    );
    expect(response.status).toBe(200);
  });

  it('VER-SERVER-002, -003: refuse a version nobody speaks; none means 0.3', async () => {
    const body = {
      jsonrpc: '2.0',
      id: 1,
      method: 'SendMessage',
      params: { message: message('complete-task') },
    };
    const future = await post(`${target.url}/a2a`, body, { 'a2a-version': '99.0' });
    expect(await future.json()).toMatchObject({ error: { code: -32009 } });
    const rested = await post(`${target.url}/a2a/message:send`, {}, { 'a2a-version': '99.0' });
    expect(rested.status).toBe(400);
    const empty = await post(`${target.url}/a2a`, { ...body, method: 'message/send' }, { 'a2a-version': '' });
    expect(await empty.json()).toMatchObject({ result: { kind: 'task' } });
  });

  it('CARD: stands at the well-known path, can be cached, and names both bindings', async () => {
    const response = await fetch(`${target.url}/.well-known/agent-card.json`);
    expect(response.headers.get('cache-control')).toContain('max-age');
    const etag = response.headers.get('etag') ?? '';
    const again = await fetch(`${target.url}/.well-known/agent-card.json`, {
      headers: { 'if-none-match': etag },
    });
    expect(again.status).toBe(304);
    const card = (await response.json()) as { supportedInterfaces: Json[] } & Json;
    const newer = card.supportedInterfaces.filter(({ protocolVersion }) => protocolVersion === '1.0');
    expect(newer.map(({ protocolBinding }) => protocolBinding)).toEqual(['JSONRPC', 'HTTP+JSON']);
    expect(card).toMatchObject({ capabilities: { streaming: true, pushNotifications: true } });
  });
});
