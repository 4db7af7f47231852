import type { Principal } from '@trunkline/identity';
import { BusError } from './errors.ts';
import { createId } from './identifier.ts';
import type { Draft, Message, ReplyAddress, Source } from './port.ts';
import { checkTopic } from './topics/topic.ts';

const maximumDepth = 100;

/** A character of text takes at most this many bytes in JSON, where it is written as an escape. */
const bytesPerCharacter = 6;

const bytesPerNumber = 25;

/** Stands for a value that JSON cannot carry; where it is, is only looked for then. */
const unfit = Symbol('unfit');

/** Counts along one copy. */
let bytes = 0;

/** The largest message as JSON: the 1 MiB that NATS carries at most, less 4 KiB for what engines add. */
export const maximumMessageBytes = 1_048_576 - 4096;

/** More than all the other fields can take. */
const mostBytesAround = 32_768;
const identifier = /^[\x21-\x7e]{1,128}$/;
const controlCharacter = /\p{Cc}/u;

/** A checked and completed message; its JSON text is written when an engine needs it. */
export interface Checked {
  message: Message;
  text(): string;
}

/** Checks what a publisher gave and adds what is missing. */
export function checkMessage(draft: Draft): Checked {
  const payload = frozenCopy(draft.payload, 'payload');
  const message = complete(draft, payload.value);
  let text: string | undefined;
  // Only what could be too large is written out to be counted.
  if (payload.bytes + mostBytesAround > maximumMessageBytes) {
    text = JSON.stringify(message);
    checkSize(message.topic, Buffer.byteLength(text));
  }
  return { message, text: () => text ?? JSON.stringify(message) };
}

/** Reads a message that an engine stored. */
export function decodeMessage(text: string): Message {
  return deepFreeze(JSON.parse(text) as Message);
}

type Writable<Type> = { -readonly [Key in keyof Type]: Type[Key] };

function complete(draft: Draft, payload: unknown): Message {
  const { topic, parentId, source, reply, principal } = draft;
  checkTopic(topic);
  const id = draft.id === undefined ? createId() : checkIdentifier('id', draft.id);
  const message: Writable<Message> = {
    id,
    correlationId:
      draft.correlationId === undefined ? id : checkLabel('correlationId', draft.correlationId, 256),
    topic,
    timestamp: draft.timestamp === undefined ? Date.now() : checkTimestamp(draft.timestamp),
    payload,
  };
  if (parentId !== undefined) message.parentId = checkIdentifier('parentId', parentId);
  if (source !== undefined) message.source = checkSource(source);
  if (reply !== undefined) message.reply = checkReply(reply);
  if (principal !== undefined) message.principal = copyPrincipal(principal);
  return Object.freeze(message);
}

function checkSize(topic: string, bytes: number): void {
  if (bytes <= maximumMessageBytes) return;
  const words = `The message for ${topic} takes ${bytes} bytes; a message may take ${maximumMessageBytes}. Store the large part elsewhere and publish where it is.`;
  throw new BusError('message_too_large', words);
}

function checkIdentifier(field: string, value: unknown): string {
  if (typeof value === 'string' && identifier.test(value)) return value;
  throw refused(field, value, 'use 1 to 128 printable ASCII characters without blanks');
}

function checkLabel(field: string, value: unknown, longest: number): string {
  const fits = typeof value === 'string' && value !== '' && value.length <= longest;
  if (fits && !controlCharacter.test(value) && value.isWellFormed()) return value;
  throw refused(field, value, `use 1 to ${longest} characters without control characters`);
}

function checkTimestamp(value: unknown): number {
  if (Number.isSafeInteger(value) && (value as number) >= 0) return value as number;
  throw refused('timestamp', value, 'give milliseconds since 1970 as a whole number');
}

function checkSource(source: Source): Source {
  return Object.freeze({
    interface: checkLabel('source.interface', source.interface, 256),
    ...(source.channelId === undefined
      ? {}
      : { channelId: checkLabel('source.channelId', source.channelId, 512) }),
    ...(source.userId === undefined ? {} : { userId: checkLabel('source.userId', source.userId, 512) }),
  });
}

function checkReply(reply: ReplyAddress): ReplyAddress {
  checkTopic(reply.topic);
  return Object.freeze({
    topic: reply.topic,
    ...(reply.format === undefined ? {} : { format: checkLabel('reply.format', reply.format, 64) }),
  });
}

/** Its own copy: whoever gave it may go on changing theirs. */
function copyPrincipal({ kind, id, via }: Principal): Principal {
  return Object.freeze({
    kind,
    id: checkLabel('principal.id', id, 640),
    via: Object.freeze(via.map((by) => checkLabel('principal.via', by, 128))),
  });
}

function refused(field: string, value: unknown, remedy: string): BusError {
  const shown = typeof value === 'string' ? JSON.stringify(value.slice(0, 60)) : String(value);
  return new BusError('message_refused', `The message's ${field} ${shown} is refused: ${remedy}.`);
}

/** A frozen copy and the most bytes that its JSON text can have. */
interface FrozenCopy {
  value: unknown;
  bytes: number;
}

/**
 * A deeply frozen copy of a JSON value, so that nobody can change a message under another's hands.
 * Throws, naming the place, at whatever JSON cannot carry; properties that are undefined are left out.
 */
function frozenCopy(value: unknown, path: string): FrozenCopy {
  bytes = 0;
  const copied = copy(value, 0);
  if (copied === unfit) throw new BusError('message_refused', faultIn(value, path, 0));
  return { value: copied, bytes };
}

/** Freezes a value that came from JSON text, with everything inside it. */
export function deepFreeze<Value>(value: Value): Value {
  if (typeof value !== 'object' || value === null) return value;
  for (const part of Object.values(value)) deepFreeze(part);
  return Object.freeze(value);
}

function copy(value: unknown, depth: number): unknown {
  switch (typeof value) {
    case 'string':
      bytes += value.length * bytesPerCharacter + 2;
      return value;
    case 'boolean':
      bytes += 5;
      return value;
    case 'number':
      bytes += bytesPerNumber;
      return Number.isFinite(value) ? value : unfit;
    case 'object':
      bytes += 4;
      return value === null ? null : copyObject(value, depth + 1);
    default:
      return unfit;
  }
}

function copyObject(value: object, depth: number): unknown {
  if (depth > maximumDepth) return unfit;
  if (Array.isArray(value)) return copyArray(value, depth);
  const prototype: unknown = Object.getPrototypeOf(value);
  if (prototype !== Object.prototype && prototype !== null) return unfit;
  return copyProperties(value as Record<string, unknown>, depth);
}

function copyArray(value: readonly unknown[], depth: number): unknown {
  const copied: unknown[] = [];
  for (let index = 0; index < value.length; index += 1) {
    const part = copy(value[index], depth);
    if (part === unfit) return unfit;
    copied.push(part);
  }
  bytes += value.length;
  return Object.freeze(copied);
}

function copyProperties(value: Record<string, unknown>, depth: number): unknown {
  const copied: Record<string, unknown> = {};
  for (const key of Object.keys(value)) {
    if (value[key] === undefined) continue;
    const part = copy(value[key], depth);
    if (part === unfit || key === '__proto__') return unfit;
    copied[key] = part;
    bytes += key.length * bytesPerCharacter + 4;
  }
  return Object.freeze(copied);
}

/** Finds what was unfit, in the order of the copy. */
function faultIn(value: unknown, path: string, depth: number): string {
  if (typeof value === 'object' && value !== null && depth < maximumDepth) {
    const entries = Array.isArray(value) ? [...value.entries()] : plainEntries(value);
    const unfitPart = entries?.find(([key, part]) => key === '__proto__' || copy(part, depth + 1) === unfit);
    if (unfitPart !== undefined) {
      const [key, part] = unfitPart;
      return faultIn(part, typeof key === 'number' ? `${path}[${key}]` : `${path}.${key}`, depth + 1);
    }
  }
  return `${path} is ${kindOf(value, path)}, which JSON cannot carry: convert it first.`;
}

/** Undefined for what is no plain object: then that is the fault. */
function plainEntries(value: object): [string, unknown][] | undefined {
  const prototype: unknown = Object.getPrototypeOf(value);
  if (prototype !== Object.prototype && prototype !== null) return undefined;
  return Object.entries(value).filter(([, part]) => part !== undefined);
}

function kindOf(value: unknown, path: string): string {
  if (path.endsWith('.__proto__')) return 'a key with a meaning of its own';
  if (value === undefined) return 'undefined';
  if (typeof value === 'number') return String(value);
  if (typeof value !== 'object') return `a ${typeof value}`;
  const plain = value === null || Array.isArray(value) || plainEntries(value) !== undefined;
  if (plain) return `circular or nested deeper than ${maximumDepth} levels`;
  return `a ${value.constructor?.name ?? 'special object'}`;
}
