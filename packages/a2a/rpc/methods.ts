import type { ProtocolVersion } from '../dialects/version.ts';
import type { Feed } from '../engine/feed.ts';
import { A2aError } from '../errors/a2a-error.ts';
import type { Call, Operations } from '../operations.ts';

/** A method that is answered once. */
interface PlainMethod {
  kind: 'plain';
  call(operations: Operations, call: Call): object | null | Promise<object | null>;
}

/** A method that is answered with a stream. */
interface StreamMethod {
  kind: 'stream';
  call(operations: Operations, call: Call): Feed | Promise<Feed>;
}

export type Method = PlainMethod | StreamMethod;

const send: Method = { kind: 'plain', call: (operations, call) => operations.send(call) };
const stream: Method = { kind: 'stream', call: (operations, call) => operations.stream(call) };
const get: Method = { kind: 'plain', call: (operations, call) => operations.get(call) };
const list: Method = { kind: 'plain', call: (operations, call) => operations.list(call) };
const cancel: Method = { kind: 'plain', call: (operations, call) => operations.cancel(call) };
const subscribe: Method = { kind: 'stream', call: (operations, call) => operations.subscribe(call) };
const setPush: Method = { kind: 'plain', call: (operations, call) => operations.setPush(call) };
const getPush: Method = { kind: 'plain', call: (operations, call) => operations.getPush(call) };
const listPush: Method = { kind: 'plain', call: (operations, call) => operations.listPush(call) };
const deletePush: Method = { kind: 'plain', call: (operations, call) => operations.deletePush(call) };
const card: Method = { kind: 'plain', call: (operations, call) => operations.card(call) };

const methods: Record<ProtocolVersion, ReadonlyMap<string, Method>> = {
  '0.3': new Map<string, Method>([
    ['message/send', send],
    ['message/stream', stream],
    ['message/sendStream', stream],
    ['tasks/get', get],
    ['tasks/list', list],
    ['tasks/cancel', cancel],
    ['tasks/resubscribe', subscribe],
    ['tasks/pushNotificationConfig/set', setPush],
    ['tasks/pushNotificationConfig/get', getPush],
    ['tasks/pushNotificationConfig/list', listPush],
    ['tasks/pushNotificationConfig/delete', deletePush],
    ['agent/getAuthenticatedExtendedCard', card],
  ]),
  '1.0': new Map<string, Method>([
    ['SendMessage', send],
    ['SendStreamingMessage', stream],
    ['GetTask', get],
    ['ListTasks', list],
    ['CancelTask', cancel],
    ['SubscribeToTask', subscribe],
    ['CreateTaskPushNotificationConfig', setPush],
    ['GetTaskPushNotificationConfig', getPush],
    ['ListTaskPushNotificationConfigs', listPush],
    ['DeleteTaskPushNotificationConfig', deletePush],
    ['GetExtendedAgentCard', card],
  ]),
};

export function findMethod(version: ProtocolVersion, name: string): Method {
  const method = methods[version].get(name);
  if (method !== undefined) return method;
  throw new A2aError('METHOD_NOT_FOUND', `Method not found: ${name.slice(0, 200)}`);
}
