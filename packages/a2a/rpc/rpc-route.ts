import {
  answerText,
  HttpError,
  type OriginCheck,
  parseJson as parseUntrusted,
  type RouteContext,
} from '@trunkline/http';
import type { Dialect } from '../dialects/dialect.ts';
import { chooseDialect, v10 } from '../dialects/dialects.ts';
import { isObject, type JsonObject } from '../dialects/read/values.ts';
import { A2aError, errorDetails, invalidParams, reportError } from '../errors/a2a-error.ts';
import {
  announceExtensions,
  callOf,
  frameAnswer,
  openStream,
  requireJson,
  versionHeader,
} from '../http/stream.ts';
import { isStreaming, type OperationName, type Operations } from '../operations.ts';
import type { Logger, ProtocolVersion } from '../protocol/model.ts';

export interface RpcRouteOptions {
  operations: Operations;
  checkOrigin: OriginCheck;
  logger: Logger;
}

const mostInBatch = 50;
const jsonHeaders = { 'content-type': 'application/json' };

/** Answers `POST /a2a`: one request or a batch of them, in the version that the header names. */
export function rpcRoute(options: RpcRouteOptions): (context: RouteContext) => Promise<Response> {
  return async (context) => {
    let dialect: Dialect = v10;
    let body: unknown;
    try {
      dialect = chooseDialect(versionHeader(context));
      requireJson(context);
      body = parseJson(await context.req.text());
    } catch (error) {
      return jsonAnswer(context, errorText(null, reportError(error, options.logger), dialect));
    }
    // Awaited, as a promise that is returned from an async function takes three turns of the queue.
    return Array.isArray(body)
      ? await answerBatch(context, body, dialect, options)
      : await answerOne(context, body, dialect, options);
  };
}

async function answerOne(
  context: RouteContext,
  body: unknown,
  dialect: Dialect,
  { operations, checkOrigin, logger }: RpcRouteOptions,
): Promise<Response> {
  try {
    const { id, method, params } = readRequest(body);
    const operation = findOperation(dialect.version, method);
    const call = callOf(context, dialect, params);
    if (isStreaming(operation)) {
      checkOrigin(context.req);
      const feed = await operations[operation](call);
      announceExtensions(context, dialect, operations.activated(call));
      const head = resultHead(id ?? null);
      return openStream(context, feed, dialect, (frame) => `${head}${frame}}`);
    }
    const result = await Promise.resolve(operations[operation](call));
    announceExtensions(context, dialect, operations.activated(call));
    return id === undefined ? noAnswer() : jsonAnswer(context, resultText(id, result));
  } catch (error) {
    if (error instanceof HttpError) throw error;
    // A wrong request without an id cannot be told from one that forgot it, so it is answered too.
    const reported = reportError(error, logger);
    const text = errorText(idOf(body) ?? null, reported, dialect);
    if (reported.retryAfterSeconds !== undefined) return later(text, reported);
    return dialect.version === '0.3' && readsOnlyStreams(context)
      ? frameAnswer(context, text)
      : jsonAnswer(context, text);
  }
}

/** Clients of 0.3 read the error of a stream only as a frame of one; JSON they take for a broken server. */
function readsOnlyStreams(context: RouteContext): boolean {
  const accept = context.req.header('accept') ?? '';
  return accept.includes('text/event-stream') && !/application\/|\*\/\*/.test(accept);
}

/** JSON-RPC answers errors with 200, but what may be sent again is told to HTTP clients in their own way. */
function later(text: string, { binding, headers }: A2aError): Response {
  return new Response(text, { status: binding.status, headers: { ...jsonHeaders, ...headers } });
}

/** Answers in the order of the requests; notifications have none. */
async function answerBatch(
  context: RouteContext,
  batch: unknown[],
  dialect: Dialect,
  options: RpcRouteOptions,
): Promise<Response> {
  if (batch.length === 0 || batch.length > mostInBatch) {
    const words = `Invalid request: a batch holds 1 to ${mostInBatch} requests`;
    return jsonAnswer(context, errorText(null, new A2aError('INVALID_REQUEST', words), dialect));
  }
  const answers = await Promise.all(batch.map((body) => answerInBatch(context, body, dialect, options)));
  const wanted = answers.filter((answer) => answer !== undefined);
  return wanted.length === 0 ? noAnswer() : jsonAnswer(context, `[${wanted.join(',')}]`);
}

async function answerInBatch(
  context: RouteContext,
  body: unknown,
  dialect: Dialect,
  { operations, logger }: RpcRouteOptions,
): Promise<string | undefined> {
  let id: RpcId | undefined = idOf(body) ?? null;
  try {
    const request = readRequest(body);
    id = request.id;
    const operation = findOperation(dialect.version, request.method);
    if (isStreaming(operation)) throw noStreamInBatch(request.method);
    const result = await Promise.resolve(operations[operation](callOf(context, dialect, request.params)));
    return id === undefined ? undefined : resultText(id, result);
  } catch (error) {
    const reported = reportError(error, logger);
    return id === undefined ? undefined : errorText(id, reported, dialect);
  }
}

function noStreamInBatch(method: string): A2aError {
  return new A2aError('UNSUPPORTED_OPERATION', `This operation is not supported in a batch: ${method}`);
}

function jsonAnswer(context: RouteContext, text: string): Response {
  return answerText(context, text, jsonHeaders);
}

function noAnswer(): Response {
  return new Response(null, { status: 204 });
}

const methods: Record<ProtocolVersion, Readonly<Record<string, OperationName>>> = {
  '0.3': {
    'message/send': 'send',
    'message/stream': 'stream',
    'message/sendStream': 'stream',
    'tasks/get': 'get',
    'tasks/list': 'list',
    'tasks/cancel': 'cancel',
    'tasks/resubscribe': 'subscribe',
    'tasks/pushNotificationConfig/set': 'setPush',
    'tasks/pushNotificationConfig/get': 'getPush',
    'tasks/pushNotificationConfig/list': 'listPush',
    'tasks/pushNotificationConfig/delete': 'deletePush',
    'agent/getAuthenticatedExtendedCard': 'card',
  },
  '1.0': {
    SendMessage: 'send',
    SendStreamingMessage: 'stream',
    GetTask: 'get',
    ListTasks: 'list',
    CancelTask: 'cancel',
    SubscribeToTask: 'subscribe',
    CreateTaskPushNotificationConfig: 'setPush',
    GetTaskPushNotificationConfig: 'getPush',
    ListTaskPushNotificationConfigs: 'listPush',
    DeleteTaskPushNotificationConfig: 'deletePush',
    GetExtendedAgentCard: 'card',
  },
};

function findOperation(version: ProtocolVersion, name: string): OperationName {
  const operation = Object.hasOwn(methods[version], name) ? methods[version][name] : undefined;
  if (operation !== undefined) return operation;
  throw new A2aError('METHOD_NOT_FOUND', `Method not found: ${name.slice(0, 200)}`);
}

type RpcId = string | number | null;

interface RpcRequest {
  /** Undefined for a notification, which wants no answer. */
  id: RpcId | undefined;
  method: string;
  params: JsonObject;
}

export function parseJson(text: string): unknown {
  try {
    return parseUntrusted(text);
  } catch (error) {
    throw new A2aError('PARSE_ERROR', 'Parse error: the body is not valid JSON', { cause: error });
  }
}

function readRequest(value: unknown): RpcRequest {
  if (!isObject(value)) throw invalidRequest('it must be an object');
  if (value.jsonrpc !== '2.0') throw invalidRequest('jsonrpc must be "2.0"');
  if (value.id !== undefined && idOf(value) === undefined)
    throw invalidRequest('id must be a text or a number');
  if (typeof value.method !== 'string') throw invalidRequest('method must be a text');
  const id = 'id' in value ? idOf(value) : undefined;
  return { id, method: value.method, params: readParams(value.params) };
}

/** The id to answer under, also when the rest of the request is wrong. */
function idOf(value: unknown): RpcId | undefined {
  const id = isObject(value) ? value.id : undefined;
  return typeof id === 'string' || typeof id === 'number' || id === null ? id : undefined;
}

function readParams(params: unknown): JsonObject {
  if (params === undefined || params === null) return {};
  if (isObject(params)) return params;
  throw invalidParams('params must be an object');
}

function invalidRequest(reason: string): A2aError {
  return new A2aError('INVALID_REQUEST', `Invalid request: ${reason}`);
}

/** The text of an answer; the result is written as JSON only once. */
function resultText(id: RpcId, result: unknown): string {
  return `${resultHead(id)}${JSON.stringify(result)}}`;
}

function resultHead(id: RpcId): string {
  return `{"jsonrpc":"2.0","id":${JSON.stringify(id)},"result":`;
}

function errorText(id: RpcId, error: A2aError, dialect: Dialect): string {
  const { message, binding } = error;
  const data = dialect.version === '1.0' ? errorDetails(error) : undefined;
  return JSON.stringify({ jsonrpc: '2.0', id, error: { code: binding.code, message, data } });
}
