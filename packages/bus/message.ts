import type { Principal } from '@trunkline/identity';
import { BusError } from './errors.ts';
import { createId } from './identifier.ts';
import type { Draft, Message, ReplyAddress, Source } from './port.ts';
import { checkTopic } from './topics/topic.ts';

const maximumDepth = 100;

/** A character of text takes at most this many bytes in JSON, where it is written as an escape. */
const bytesPerCharacter = 6;

const bytesPerNumber = 25;

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
  const payload = new FrozenCopy(draft.payload);
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
function copyPrincipal({ kind, id, via, role, origins = [] }: Principal): Principal {
  return Object.freeze({
    kind,
    id: checkLabel('principal.id', id, 640),
    via: Object.freeze(via.map((by) => checkLabel('principal.via', by, 128))),
    ...(role !== undefined && { role }),
    ...(origins.length > 0 && { origins: Object.freeze([...origins]) }),
  });
}

function refused(field: string, value: unknown, remedy: string): BusError {
  const shown = typeof value === 'string' ? JSON.stringify(value.slice(0, 60)) : String(value);
  return new BusError('message_refused', `The message's ${field} ${shown} is refused: ${remedy}.`);
}

/** Freezes a value that came from JSON text, with everything inside it. */
export function deepFreeze<Value>(value: Value): Value {
  if (typeof value !== 'object' || value === null) return value;
  for (const part of Object.values(value)) deepFreeze(part);
  return Object.freeze(value);
}

/** Copies a JSON value, deeply frozen, so that nobody can change a message under another's hands. */
class FrozenCopy {
  /** Where the copy is now, for the error text. */
  readonly #path: (string | number)[] = [];
  readonly value: unknown;
  /** The most bytes that the JSON text can have. */
  bytes = 0;

  /** Throws, naming the place, at whatever JSON cannot carry; properties that are undefined are left out. */
  constructor(value: unknown) {
    this.value = this.#copy(value);
  }

  #copy(value: unknown): unknown {
    switch (typeof value) {
      case 'string':
        this.bytes += value.length * bytesPerCharacter + 2;
        return value;
      case 'boolean':
        this.bytes += 5;
        return value;
      case 'number':
        this.bytes += bytesPerNumber;
        if (!Number.isFinite(value)) this.#refuse(String(value));
        return value;
      case 'object':
        this.bytes += 4;
        return value === null ? null : this.#copyObject(value);
      case 'undefined':
        return this.#refuse('undefined');
      default:
        return this.#refuse(`a ${typeof value}`);
    }
  }

  #copyObject(value: object): unknown {
    if (this.#path.length >= maximumDepth)
      this.#refuse(`circular or nested deeper than ${maximumDepth} levels`);
    if (Array.isArray(value)) {
      this.bytes += value.length;
      // Not `map`, which would skip holes.
      return Object.freeze(Array.from(value, (part: unknown, index) => this.#copyPart(index, part)));
    }
    const prototype: unknown = Object.getPrototypeOf(value);
    if (prototype !== Object.prototype && prototype !== null)
      this.#refuse(`a ${value.constructor?.name ?? 'special object'}`);
    return this.#copyProperties(value as Record<string, unknown>);
  }

  #copyProperties(value: Record<string, unknown>): unknown {
    const copied: Record<string, unknown> = {};
    for (const key of Object.keys(value)) {
      if (value[key] === undefined) continue;
      if (key === '__proto__') this.#refuse('a key with a meaning of its own', key);
      copied[key] = this.#copyPart(key, value[key]);
      this.bytes += key.length * bytesPerCharacter + 4;
    }
    return Object.freeze(copied);
  }

  #copyPart(key: string | number, part: unknown): unknown {
    this.#path.push(key);
    const copied = this.#copy(part);
    this.#path.pop();
    return copied;
  }

  #refuse(what: string, ...key: string[]): never {
    const steps = [...this.#path, ...key].map((step) =>
      typeof step === 'number' ? `[${step}]` : `.${step}`,
    );
    const words = `payload${steps.join('')} is ${what}, which JSON cannot carry: convert it first.`;
    throw new BusError('message_refused', words);
  }
}
