import { invalidParams } from '../../errors/a2a-error.ts';
import type { Message, Metadata } from '../../protocol/model.ts';
import { hasText } from '../../protocol/parts.ts';
import type { Dialect } from '../dialect.ts';
import { readParts } from './parts.ts';
import { type PushTarget, readPushTarget } from './push.ts';
import {
  field,
  type JsonObject,
  optionalCount,
  optionalFlag,
  optionalId,
  optionalMetadata,
  optionalObject,
} from './values.ts';

export interface SendRequest {
  message: Message;
  metadata: Metadata;
  mediaTypes: string[];
  /** Answer when the turn is over; else as soon as it has begun. */
  blocking: boolean;
  historyLength?: number;
  push?: PushTarget;
}

/** Reads the params of a message in the spelling of either version. */
export function readSend(params: JsonObject, { protobuf }: Pick<Dialect, 'protobuf'>): SendRequest {
  const { message, mediaTypes } = readMessage(params, protobuf);
  const given = optionalObject(params, 'configuration');
  const configuration = given ?? {};
  const historyLength = optionalCount(configuration, 'historyLength');
  const push = readInlinePush(configuration);
  return {
    message,
    mediaTypes,
    metadata: optionalMetadata(params) ?? {},
    blocking: given === undefined || isBlocking(given, protobuf),
    ...(historyLength !== undefined && { historyLength }),
    ...(push && { push }),
  };
}

/** Told apart from media types later, so that a wrong type is not reported as missing text. */
export function requireText(message: Message): void {
  if (!hasText(message.parts)) throw invalidParams('message.parts must hold a text part');
}

function readMessage(params: JsonObject, nestedData: boolean): { message: Message; mediaTypes: string[] } {
  const value = optionalObject(params, 'message');
  if (value === undefined) throw invalidParams('message is missing');
  requireUserRole(value);
  const { parts, mediaTypes } = readParts(field(value, 'parts') ?? field(value, 'content'), nestedData);
  const taskId = optionalId(value, 'taskId') ?? optionalId(params, 'taskId');
  const contextId = optionalId(value, 'contextId') ?? optionalId(params, 'contextId');
  const metadata = optionalMetadata(value);
  const message: Message = {
    messageId: optionalId(value, 'messageId') ?? crypto.randomUUID(),
    role: 'user',
    parts,
    ...(taskId !== undefined && { taskId }),
    ...(contextId !== undefined && { contextId }),
    ...(metadata && { metadata }),
  };
  return { message, mediaTypes };
}

const userRoles: unknown[] = [undefined, '', 'user', 'ROLE_USER', 'ROLE_UNSPECIFIED'];

function requireUserRole(message: JsonObject): void {
  if (!userRoles.includes(field(message, 'role'))) throw invalidParams('message.role must be user');
}

function isBlocking(configuration: JsonObject, protobuf: boolean): boolean {
  const blocking = optionalFlag(configuration, 'blocking') ?? !protobuf;
  return blocking && optionalFlag(configuration, 'returnImmediately') !== true;
}

function readInlinePush(configuration: JsonObject): PushTarget | undefined {
  const names = ['taskPushNotificationConfig', 'pushNotificationConfig', 'pushNotification'];
  const value = names.map((name) => optionalObject(configuration, name)).find((found) => found !== undefined);
  return value === undefined ? undefined : readPushTarget(value);
}
