import { type Child, conformanceTarget, startChild } from '@trunkline/testing';
import { afterAll, beforeAll, expect } from 'vitest';
import { type Json, type OpenedStream, openStream, post, v10 } from '../fixtures/calls.ts';

/** An answer of 1.0, whichever way it came. */
export interface Answer {
  ok: boolean;
  /** The result; of a failure, nothing. */
  result: Json;
  /** The name of the failure. */
  reason: string | undefined;
  /** JSON-RPC: the code; REST: the status. */
  code: number | undefined;
  contentType: string;
  raw: Json;
}

/** Every operation of 1.0 over one transport. */
export interface Kit {
  send(message: Json, configuration?: Json): Promise<Answer>;
  stream(message: Json): Promise<OpenedStream>;
  get(id: string, historyLength?: number): Promise<Answer>;
  list(query?: Json): Promise<Answer>;
  cancel(id: string): Promise<Answer>;
  subscribe(id: string): Promise<OpenedStream>;
  /** For failures, which are no streams. */
  trySubscribe(id: string): Promise<Answer>;
  createPush(taskId: string, config: Json): Promise<Answer>;
  getPush(taskId: string, id: string): Promise<Answer>;
  listPush(taskId: string): Promise<Answer>;
  deletePush(taskId: string, id: string): Promise<Answer>;
  extendedCard(): Promise<Answer>;
}

let messages = 0;

/** A message whose id begins as the scripts want it. */
export function message(prefix: string, more: Json = {}): Json {
  messages += 1;
  return { role: 'ROLE_USER', parts: [{ text: 'Hello' }], messageId: `tck-${prefix}-${messages}`, ...more };
}

const wrong: Record<string, [code: number, status: number]> = {
  TASK_NOT_FOUND: [-32001, 404],
  TASK_NOT_CANCELABLE: [-32002, 400],
  UNSUPPORTED_OPERATION: [-32004, 400],
  CONTENT_TYPE_NOT_SUPPORTED: [-32005, 400],
  INVALID_PARAMS: [-32602, 400],
};

/** The failure has this name, and the code or status that belongs to it. */
export function expectWrong(answer: Answer, reason: string, transport: string): void {
  const [code, status] = wrong[reason] ?? [0, 0];
  expect(answer).toMatchObject({ ok: false, reason, code: transport === 'REST' ? status : code });
}

export const taskOf = ({ result }: Answer) =>
  (result.task ?? result) as { id: string; contextId: string } & Json;
export const stateOf = (answer: Answer) => (taskOf(answer).status as { state: string }).state;
export const completed = async (kit: Kit) => taskOf(await kit.send(message('complete-task')));
export const waiting = async (kit: Kit) => taskOf(await kit.send(message('input-required')));

export function jsonRpcKit(target: Target): Kit {
  const envelope = (method: string, params: Json) => ({ jsonrpc: '2.0', id: 1, method, params });
  const call = async (method: string, params: Json) =>
    fromRpc(await post(`${target.url}/a2a`, envelope(method, params), v10));
  const open = (method: string, params: Json) =>
    openStream(`${target.url}/a2a`, { method: 'POST', body: JSON.stringify(envelope(method, params)) }, v10);
  return {
    send: (given, configuration) => call('SendMessage', { message: given, configuration }),
    stream: (given) => open('SendStreamingMessage', { message: given }),
    get: (id, historyLength) => call('GetTask', { id, historyLength }),
    list: (query = {}) => call('ListTasks', query),
    cancel: (id) => call('CancelTask', { id }),
    subscribe: (id) => open('SubscribeToTask', { id }),
    trySubscribe: (id) => call('SubscribeToTask', { id }),
    createPush: (taskId, config) => call('CreateTaskPushNotificationConfig', { taskId, ...config }),
    getPush: (taskId, id) => call('GetTaskPushNotificationConfig', { taskId, id }),
    listPush: (taskId) => call('ListTaskPushNotificationConfigs', { taskId }),
    deletePush: (taskId, id) => call('DeleteTaskPushNotificationConfig', { taskId, id }),
    extendedCard: () => call('GetExtendedAgentCard', {}),
  };
}

export function restKit(target: Target): Kit {
  const call = async (method: string, path: string, body?: Json) =>
    fromRest(
      await fetch(`${target.url}/a2a${path}`, {
        method,
        headers: { ...v10, ...(body && { 'content-type': 'application/json' }) },
        ...(body && { body: JSON.stringify(body) }),
      }),
    );
  const open = (method: string, path: string, body?: Json) =>
    openStream(`${target.url}/a2a${path}`, { method, ...(body && { body: JSON.stringify(body) }) }, v10);
  const configs = (taskId: string) => `/tasks/${taskId}/pushNotificationConfigs`;
  return {
    send: (given, configuration) => call('POST', '/message:send', { message: given, configuration }),
    stream: (given) => open('POST', '/message:stream', { message: given }),
    get: (id, historyLength) => call('GET', `/tasks/${id}${queryOf({ historyLength })}`),
    list: (query = {}) => call('GET', `/tasks${queryOf(query)}`),
    cancel: (id) => call('POST', `/tasks/${id}:cancel`),
    subscribe: (id) => open('GET', `/tasks/${id}:subscribe`),
    trySubscribe: (id) => call('GET', `/tasks/${id}:subscribe`),
    createPush: (taskId, config) => call('POST', configs(taskId), config),
    getPush: (taskId, id) => call('GET', `${configs(taskId)}/${id}`),
    listPush: (taskId) => call('GET', configs(taskId)),
    deletePush: (taskId, id) => call('DELETE', `${configs(taskId)}/${id}`),
    extendedCard: () => call('GET', '/extendedAgentCard'),
  };
}

function queryOf(values: Json): string {
  const given = Object.entries(values).filter(([, value]) => value !== undefined);
  const query = new URLSearchParams(given.map(([name, value]) => [name, String(value)]));
  return query.size === 0 ? '' : `?${query}`;
}

interface ErrorDetails {
  code: number;
  data?: { reason: string }[];
  details?: { reason: string }[];
}

async function fromRpc(response: Response): Promise<Answer> {
  const raw = (await response.json()) as Json;
  const error = raw.error as ErrorDetails | undefined;
  return {
    ok: error === undefined,
    result: (raw.result ?? {}) as Json,
    reason: error?.data?.[0]?.reason,
    code: error?.code,
    contentType: response.headers.get('content-type') ?? '',
    raw,
  };
}

async function fromRest(response: Response): Promise<Answer> {
  const text = await response.text();
  const raw = (text === '' ? {} : JSON.parse(text)) as Json;
  const error = raw.error as ErrorDetails | undefined;
  return {
    ok: response.ok,
    result: response.ok ? raw : {},
    reason: error?.details?.[0]?.reason,
    code: response.ok ? undefined : response.status,
    contentType: response.headers.get('content-type') ?? '',
    raw,
  };
}

interface Target {
  /** Without a slash at the end. */
  url: string;
}

/** The conformance target as a process of its own, for one test file. */
export function targetOfThisFile(): Target {
  let child: Child;
  const target: Target = { url: '' };
  beforeAll(async () => {
    child = startChild(conformanceTarget, { arguments: ['--port', '0'] });
    const line = await child.waitForLine('conformance target: ');
    target.url = /http:\/\/[^,]+/.exec(line)?.[0] ?? '';
  });
  afterAll(async () => {
    await child.kill('SIGTERM');
  });
  return target;
}
