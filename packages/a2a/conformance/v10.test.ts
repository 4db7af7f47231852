import { SendMessageResponse, Task as TaskCodec } from '@a2a-js/sdk';
import { describe, expect, it } from 'vitest';
import type { Json } from '../fixtures/calls.ts';
import {
  completed,
  expectWrong,
  jsonRpcKit,
  type Kit,
  message,
  restKit,
  stateOf,
  targetOfThisFile,
  taskOf,
  waiting,
} from './kit-v10.suite.ts';

/** What the public kit for 1.0 demands, in its order; its own names for the demands stand in the titles. */

const target = targetOfThisFile();
const transports: [string, Kit][] = [
  ['JSON-RPC', jsonRpcKit(target)],
  ['REST', restKit(target)],
];

/** Protocol buffers leave out what is empty, so both sides do before they are compared. */
function withoutEmpty(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutEmpty);
  if (typeof value !== 'object' || value === null) return value;
  const kept = Object.entries(value)
    .map(([name, inner]) => [name, withoutEmpty(inner)] as const)
    .filter(([, inner]) => inner !== '' && inner !== false && inner !== undefined && !isEmptyList(inner));
  return Object.fromEntries(kept);
}

const isEmptyList = (value: unknown) => Array.isArray(value) && value.length === 0;

describe.each(transports)('messages over %s', (transport, kit) => {
  it('CORE-SEND-001: answers with a task, or with a message', async () => {
    expect(stateOf(await kit.send(message('complete-task')))).toBe('TASK_STATE_COMPLETED');
    const { result } = await kit.send(message('message-response'));
    expect(result).toMatchObject({
      message: { role: 'ROLE_AGENT', parts: [{ text: 'Direct message response' }] },
    });
  });

  it('CORE-SEND-002: takes no message for a task that has ended', async () => {
    const { id } = await completed(kit);
    expectWrong(await kit.send(message('terminal', { taskId: id })), 'UNSUPPORTED_OPERATION', transport);
  });

  it('CORE-SEND-003: refuses a media type it does not know', async () => {
    const parts = [{ raw: 'dGNr', mediaType: 'application/x-unsupported-tck-type' }];
    expectWrong(await kit.send(message('send-003', { parts })), 'CONTENT_TYPE_NOT_SUPPORTED', transport);
  });

  it.each([
    ['artifact-text', [{ text: 'Generated text content' }]],
    ['artifact-file', [{ raw: 'dGNr', filename: 'output.txt', mediaType: 'text/plain' }]],
    [
      'artifact-file-url',
      [{ url: 'https://example.com/output.txt', filename: 'output.txt', mediaType: 'text/plain' }],
    ],
    ['artifact-data', [{ data: { key: 'value', count: 42 } }]],
  ])('DM-ART-001, DM-PART-001: gives %s', async (prefix, parts) => {
    expect(taskOf(await kit.send(message(prefix))).artifacts).toMatchObject([{ parts }]);
  });

  it('tells a rejection', async () => {
    expect(stateOf(await kit.send(message('reject-task')))).toBe('TASK_STATE_REJECTED');
  });

  it('DM-TASK, DM-MSG, DM-STATUS, DM-SERIAL-004: holds nothing that the schema does not know', async () => {
    for (const prefix of [
      'complete-task',
      'artifact-file',
      'artifact-data',
      'message-response',
      'input-required',
    ]) {
      const { result } = await kit.send(message(prefix));
      expect(withoutEmpty(SendMessageResponse.toJSON(SendMessageResponse.fromJSON(result)))).toEqual(
        withoutEmpty(result),
      );
    }
    const { id } = await waiting(kit);
    const { result } = await kit.get(id);
    expect(withoutEmpty(TaskCodec.toJSON(TaskCodec.fromJSON(result)))).toEqual(withoutEmpty(result));
  });

  it('DM-SERIAL-001, -002, -003: names in camel case, enums as words, times in UTC', async () => {
    const { raw } = await kit.send(message('complete-task'));
    const text = JSON.stringify(raw);
    expect(text).not.toMatch(/"[a-z]+(_[a-z]+)+":/);
    expect(text).not.toMatch(/"(state|role)":\d/);
    for (const [, time] of text.matchAll(/"timestamp":"([^"]+)"/g)) {
      expect(time).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z$/);
    }
  });

  it('DM-SERIAL-005: overlooks fields it does not know', async () => {
    expect(await kit.send(message('complete-task', { unheardOf: 1 }))).toMatchObject({ ok: true });
  });

  it('CORE-MULTI-001a, -002, -003: makes a context and a task, or keeps the context it is given', async () => {
    const [one, other] = [await completed(kit), await completed(kit)];
    expect(one.contextId).toMatch(/./);
    expect(one.id).not.toBe(other.id);
    const given = await kit.send(message('complete-task', { contextId: 'client-context-001' }));
    expect(taskOf(given).contextId).toBe('client-context-001');
  });

  it('CORE-MULTI-004: knows no task that is not there', async () => {
    const lost = message('multi-004', { taskId: 'tck-nonexistent' });
    expectWrong(await kit.send(lost), 'TASK_NOT_FOUND', transport);
  });

  it('CORE-MULTI-005, -006: takes the context from the task, and no other', async () => {
    const task = await waiting(kit);
    const other = message('mismatch', { taskId: task.id, contextId: 'tck-wrong-context' });
    expectWrong(await kit.send(other), 'INVALID_PARAMS', transport);
    const answered = await kit.send(message('infer-ctx', { taskId: task.id }));
    expect(taskOf(answered)).toMatchObject({ id: task.id, contextId: task.contextId });
  });

  it('CORE-ERR-002: refuses a request without a message', async () => {
    expectWrong(await kit.send(undefined as unknown as Json), 'INVALID_PARAMS', transport);
  });

  it('CORE-EXECUTION-MODE-001: waits until the agent asks, and until it has the answer', async () => {
    const asking = await kit.send(message('input-required'));
    expect(stateOf(asking)).toBe('TASK_STATE_INPUT_REQUIRED');
    const done = await kit.send(message('complete-task', { taskId: taskOf(asking).id }));
    expect(stateOf(done)).toBe('TASK_STATE_COMPLETED');
  });

  it('waits for a sign-in in the task as well', async () => {
    expect(stateOf(await kit.send(message('auth-required')))).toBe('TASK_STATE_AUTH_REQUIRED');
  });
});

it('CORE-EXECUTION-MODE-001, -002: waits for slow work unless told to return at once', async () => {
  await Promise.all(
    transports.map(async ([, kit]) => {
      const early = await kit.send(message('delayed-complete'), { returnImmediately: true });
      expect(stateOf(early)).toBe('TASK_STATE_WORKING');
      const patient = await kit.send(message('delayed-complete'), { returnImmediately: false });
      expect(stateOf(patient)).toBe('TASK_STATE_COMPLETED');
    }),
  );
});

describe.each(transports)('tasks over %s', (transport, kit) => {
  it('CORE-GET-001, -002: shows a task that is there', async () => {
    const { id } = await completed(kit);
    expect(await kit.get(id)).toMatchObject({ ok: true, result: { id } });
    expectWrong(await kit.get('tck-nonexistent'), 'TASK_NOT_FOUND', transport);
  });

  it('CORE-HIST-001 to -006: shows as much history as is asked for, in its order', async () => {
    const { id } = await waiting(kit);
    const last = { taskId: id, parts: [{ text: 'The answer' }] };
    const quiet = await kit.send(message('complete-task', last), { historyLength: 0 });
    expect(taskOf(quiet).history).toBeUndefined();
    expect((await kit.get(id, 0)).result.history).toBeUndefined();
    expect((await kit.get(id, 1)).result.history).toHaveLength(1);
    expect((await kit.get(id, 10)).result.history).toMatchObject([
      { role: 'ROLE_USER', parts: [{ text: 'Hello' }] },
      { role: 'ROLE_AGENT' },
      { role: 'ROLE_USER', parts: [{ text: 'The answer' }] },
    ]);
  });

  it('CORE-LIST-001 to -005: lists a context page by page, newest first, without artifacts', async () => {
    const contextId = `list-${transport}`;
    for (let count = 0; count < 3; count += 1) await kit.send(message('artifact-text', { contextId }));
    const first = await kit.list({ contextId, pageSize: 2 });
    expect(first.result).toMatchObject({ totalSize: 3, pageSize: 2 });
    const second = await kit.list({ contextId, pageSize: 2, pageToken: first.result.nextPageToken });
    expect(second.result.nextPageToken).toBe('');
    const tasks = [...(first.result.tasks as Json[]), ...(second.result.tasks as Json[])];
    const times = tasks.map(({ status }) => (status as { timestamp: string }).timestamp);
    expect(times).toEqual(times.toSorted().toReversed());
    expect(tasks.some((task) => 'artifacts' in task)).toBe(false);
    const whole = await kit.list({ contextId, includeArtifacts: true });
    expect((whole.result.tasks as Json[])[0]?.artifacts).toHaveLength(1);
  });

  it('CORE-CANCEL-001, -002, -003: cancels what has not ended', async () => {
    const { id } = await waiting(kit);
    expect(stateOf(await kit.cancel(id))).toBe('TASK_STATE_CANCELED');
    expectWrong(await kit.cancel((await completed(kit)).id), 'TASK_NOT_CANCELABLE', transport);
    expectWrong(await kit.cancel('tck-nonexistent'), 'TASK_NOT_FOUND', transport);
  });

  it('CORE-CAP-003: has no extended card, as the card says', async () => {
    expectWrong(await kit.extendedCard(), 'UNSUPPORTED_OPERATION', transport);
  });
});
