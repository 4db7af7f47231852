import { invalidParams } from '../../errors/a2a-error.ts';
import { type FilePart, hasText, type Message, type Metadata, type Part } from '../../protocol/model.ts';
import type { Dialect } from '../dialect.ts';
import {
  field,
  isObject,
  type JsonObject,
  optionalCount,
  optionalFlag,
  optionalId,
  optionalMetadata,
  optionalObject,
  optionalText,
  optionalTexts,
} from './values.ts';

export interface SendRequest {
  message: Message;
  metadata: Metadata;
  mediaTypes: string[];
  /** The media types that the caller takes; empty: all. */
  acceptedOutputModes: readonly string[];
  /** Answer when the turn is over; else as soon as it has begun. */
  blocking: boolean;
  historyLength?: number;
  push?: PushTarget;
}

/** Reads the params of a message in the spelling of either version. */
export function readSend(params: JsonObject, dialect: Dialect): SendRequest {
  const { protobuf } = dialect;
  const { message, mediaTypes } = readMessage(params, dialect);
  const given = optionalObject(params, 'configuration');
  const configuration = given ?? {};
  const historyLength = optionalCount(configuration, 'historyLength');
  const push = readInlinePush(configuration, dialect);
  return {
    message,
    mediaTypes,
    acceptedOutputModes: optionalTexts(configuration, 'acceptedOutputModes') ?? [],
    metadata: optionalMetadata(params) ?? {},
    blocking: given === undefined || isBlocking(given, protobuf),
    ...(historyLength !== undefined && { historyLength }),
    ...(push && { push }),
  };
}

/** Checked after the media types, so that a wrong type is not reported as missing text. */
export function requireText(message: Message): void {
  if (!hasText(message.parts)) throw invalidParams('message.parts must hold a text part', 'message.parts');
}

function readMessage(params: JsonObject, dialect: Dialect): { message: Message; mediaTypes: string[] } {
  const value = optionalObject(params, 'message');
  if (value === undefined) throw invalidParams('message is missing', 'message');
  requireUserRole(value, dialect);
  const given = field(value, 'parts') ?? field(value, 'content');
  const { parts, mediaTypes } = readParts(given, { nestedData: dialect.protobuf, kinds: dialect.hasKinds });
  const taskId = optionalId(value, 'taskId') ?? optionalId(params, 'taskId');
  const contextId = optionalId(value, 'contextId') ?? optionalId(params, 'contextId');
  const metadata = optionalMetadata(value);
  const extensions = optionalTexts(value, 'extensions');
  const referenceTaskIds = optionalTexts(value, 'referenceTaskIds');
  const message: Message = {
    messageId: readMessageId(value, dialect),
    role: 'user',
    parts,
    ...(taskId !== undefined && { taskId }),
    ...(contextId !== undefined && { contextId }),
    ...(metadata && { metadata }),
    ...(extensions && { extensions }),
    ...(referenceTaskIds && { referenceTaskIds }),
  };
  return { message, mediaTypes };
}

/**
 * Whether `messageId` and `role` must be there. 1.0 requires them, and so does 0.3 (section 6.4) of what calls itself a
 * message by its `kind`; the short form of the contract has no `kind`, and may leave them out.
 */
function isWhole(message: JsonObject, { strict }: Dialect): boolean {
  return strict || field(message, 'kind') === 'message';
}

function readMessageId(message: JsonObject, dialect: Dialect): string {
  const id = optionalId(message, 'messageId');
  if (id === undefined && isWhole(message, dialect))
    throw invalidParams('message.messageId is missing', 'message.messageId');
  return id ?? crypto.randomUUID();
}

const absentRoles: unknown[] = [undefined, '', 'ROLE_UNSPECIFIED'];

function requireUserRole(message: JsonObject, dialect: Dialect): void {
  const role = field(message, 'role');
  if (role === 'user' || role === 'ROLE_USER') return;
  if (absentRoles.includes(role) && !isWhole(message, dialect)) return;
  throw invalidParams(`message.role must be ${dialect.strict ? 'ROLE_USER' : 'user'}`, 'message.role');
}

function isBlocking(configuration: JsonObject, protobuf: boolean): boolean {
  const blocking = optionalFlag(configuration, 'blocking') ?? !protobuf;
  return blocking && optionalFlag(configuration, 'returnImmediately') !== true;
}

function readInlinePush(configuration: JsonObject, dialect: Dialect): PushTarget | undefined {
  const names = ['taskPushNotificationConfig', 'pushNotificationConfig', 'pushNotification'];
  const value = names.map((name) => optionalObject(configuration, name)).find((found) => found !== undefined);
  return value === undefined ? undefined : readPushTarget(value, dialect);
}

interface ReadParts {
  parts: Part[];
  /** The media types that the sender declared. */
  mediaTypes: string[];
}

interface PartForm {
  /** Data parts are wrapped as the REST of 0.3 has them. */
  nestedData?: boolean;
  /** Parts name their kind, which must be one that we know. */
  kinds?: boolean;
}

/** Takes parts in the spelling of either version. */
export function readParts(value: unknown, form: PartForm = {}): ReadParts {
  if (!Array.isArray(value) || value.length === 0)
    throw invalidParams('message.parts must hold at least one part', 'message.parts');
  const read = value.map((part) => readPart(part, form));
  return {
    parts: read.map(({ part }) => part),
    mediaTypes: read.flatMap(({ mediaType }) => (mediaType === undefined ? [] : [mediaType])),
  };
}

function readPart(value: unknown, form: PartForm): { part: Part; mediaType: string | undefined } {
  if (!isObject(value)) throw invalidParams('every part of a message must be an object', 'message.parts');
  if (form.kinds) requireKnownKind(value);
  const file = field(value, 'file');
  const inner = isObject(file) ? file : undefined;
  const metadata = optionalMetadata(value);
  const name = firstText(inner ?? value, ['filename', 'name']);
  const mediaType = declaredType(inner ?? value);
  const part = {
    ...readContent(value, inner, form),
    ...(name !== undefined && { name }),
    ...(mediaType !== undefined && { mediaType }),
    ...(metadata && { metadata }),
  };
  return { part, mediaType };
}

const partKinds: unknown[] = [undefined, 'text', 'file', 'data'];

/** Versions before 0.3 called it `type`. */
function requireKnownKind(part: JsonObject): void {
  if (!partKinds.includes(field(part, 'kind') ?? field(part, 'type')))
    throw invalidParams('the kind of a part must be text, file or data', 'message.parts');
}

function readContent(value: JsonObject, file: JsonObject | undefined, { nestedData }: PartForm): Part {
  if (typeof value.text === 'string') return { type: 'text', text: value.text };
  if (file !== undefined) return readFile(file);
  if (typeof value.raw === 'string' || typeof value.url === 'string') return readFile(value);
  if (field(value, 'data') !== undefined)
    return { type: 'data', data: readData(value.data, nestedData === true) };
  throw invalidParams('a part must hold text, a file or data', 'message.parts');
}

function readFile(file: JsonObject): FilePart {
  const bytes = firstText(file, ['raw', 'bytes', 'fileWithBytes']);
  const uri = firstText(file, ['url', 'uri', 'fileWithUri']);
  if (bytes === undefined && uri === undefined)
    throw invalidParams('a file part must hold its content or its url', 'message.parts');
  return { type: 'file', ...(bytes === undefined ? { uri: uri ?? '' } : { bytes }) };
}

function readData(data: unknown, nested: boolean): unknown {
  return nested && isObject(data) && 'data' in data ? data.data : data;
}

function declaredType(object: JsonObject): string | undefined {
  return firstText(object, ['mediaType', 'mimeType']);
}

function firstText(object: JsonObject, names: readonly string[]): string | undefined {
  for (const name of names) {
    const text = optionalText(object, name);
    if (text !== undefined) return text;
  }
  return undefined;
}

/** A webhook as a caller described it. */
export interface PushTarget {
  id?: string;
  url: string;
  token?: string;
  /** How the token is announced in the Authorization header. */
  scheme: string;
  /** For `X-A2A-Notification-Token`, where it is another than that. */
  notificationToken?: string;
}

const longestUrl = 2048;
/** Receivers take headers of 8 KiB. */
const longestToken = 4096;

/** Of both token forms the top-level one wins in 0.3, as the contract has it; 1.0 sends both, each in its own header. */
export function readPushTarget(config: JsonObject, { strict }: Pick<Dialect, 'strict'>): PushTarget {
  const url = optionalText(config, 'url');
  if (url === undefined) throw invalidParams('the push notification config has no url', 'url');
  if (url.length > longestUrl)
    throw invalidParams(`url must be at most ${longestUrl} characters long`, 'url');
  const id = optionalId(config, 'id');
  const topLevel = optionalText(config, 'token');
  const structured = optionalObject(config, 'authentication') ?? {};
  const credentials = optionalText(structured, 'credentials');
  const isBoth = strict && topLevel !== undefined && credentials !== undefined;
  const token = isBoth ? credentials : (topLevel ?? credentials);
  return {
    url,
    scheme: topLevel === undefined || isBoth ? schemeOf(structured) : 'Bearer',
    ...(id !== undefined && { id }),
    ...(token !== undefined && { token: headerSafe(token) }),
    ...(isBoth && { notificationToken: headerSafe(topLevel) }),
  };
}

/** The config inside the params: on its own, or wrapped as the versions and their REST forms have it. */
export function findPushConfig(params: JsonObject): JsonObject {
  const outer = optionalObject(params, 'config') ?? params;
  return optionalObject(outer, 'pushNotificationConfig') ?? outer;
}

function schemeOf(authentication: JsonObject): string {
  const single = optionalText(authentication, 'scheme');
  const several = field(authentication, 'schemes');
  const scheme = single ?? (Array.isArray(several) ? several[0] : undefined) ?? 'Bearer';
  if (typeof scheme === 'string' && /^[A-Za-z][A-Za-z0-9-]*$/.test(scheme)) return properCase(scheme);
  throw invalidParams(
    'authentication.scheme must be the name of an HTTP authentication scheme',
    'authentication.scheme',
  );
}

/** Receivers compare the word as the standard writes it. */
function properCase(scheme: string): string {
  return scheme.toLowerCase() === 'bearer' ? 'Bearer' : scheme;
}

function headerSafe(token: string): string {
  if (token.length > longestToken)
    throw invalidParams(
      `the token of a push notification config may have at most ${longestToken} characters`,
      'token',
    );
  if (/^[\x21-\x7e][\x20-\x7e]*$/.test(token)) return token;
  throw invalidParams('the token of a push notification config may hold printable ASCII only', 'token');
}
