import {
  type AppEnv,
  answerText,
  describeRoute,
  HttpError,
  type OriginCheck,
  tenantIn,
} from '@trunkline/http';
import type { Context, Hono, MiddlewareHandler } from 'hono';
import { z } from 'zod';
import type { Dialect } from '../dialects/dialect.ts';
import { chooseDialect, v03, v03Rest, v10 } from '../dialects/dialects.ts';
import { isObject, type JsonObject } from '../dialects/read/values.ts';
import { type A2aError, errorDetails, invalidParams, reportError } from '../errors/a2a-error.ts';
import { announceExtensions, callOf, openStream, requireJson, versionHeader } from '../http/stream.ts';
import { isStreaming, type OperationName, type Operations } from '../operations.ts';
import type { Logger } from '../protocol/model.ts';
import { parseJson } from '../rpc/rpc-route.ts';

export interface RestOptions {
  operations: Operations;
  checkOrigin: OriginCheck;
  logger: Logger;
}

type RequestContext = Context<AppEnv>;

const pushConfigs = '/tasks/:taskId/pushNotificationConfigs';
const subscription = '/tasks/:id{[^/]+:subscribe}';

/** A path that names an action stands before the one that takes any id. */
const routes: readonly [method: 'GET' | 'POST' | 'DELETE', path: string, operation: OperationName][] = [
  ['POST', '/message:send', 'send'],
  ['POST', '/message:stream', 'stream'],
  ['GET', '/tasks', 'list'],
  ['GET', subscription, 'subscribe'],
  ['POST', subscription, 'subscribe'],
  ['POST', '/tasks/:id{[^/]+:cancel}', 'cancel'],
  ['GET', '/tasks/:id', 'get'],
  ['POST', '/tasks/:taskId/pushNotificationConfig', 'setPush'],
  ['GET', '/tasks/:taskId/pushNotificationConfig', 'listPush'],
  ['POST', pushConfigs, 'setPush'],
  ['GET', pushConfigs, 'listPush'],
  ['GET', `${pushConfigs}/:pushNotificationConfigId`, 'getPush'],
  ['DELETE', `${pushConfigs}/:pushNotificationConfigId`, 'deletePush'],
  ['GET', '/tasks/:taskId/pushDeliveries', 'deliveries'],
  ['GET', '/extendedAgentCard', 'card'],
];

/** Mounts the REST form: at the root and under `/a2a` with the version by header, and under `/v1` as 0.3 had it. */
export function mountRest(app: Hono<AppEnv>, options: RestOptions): void {
  for (const base of ['', '/a2a']) {
    for (const [method, path, operation] of routes) {
      const newest = describe(operation, method, 'The version of A2A, 1.0 or 0.3; without it, 0.3 counts.');
      app.on(method, `${base}${path}`, newest, answering(operation, v03, options));
      const older = describe(
        operation,
        method,
        'The version of A2A; without it, the REST form of 0.3 counts.',
      );
      app.on(method, `${base}/v1${path}`, older, answering(operation, v03Rest, options));
    }
    const card = describe('card', 'GET', 'The version of A2A; without it, the REST form of 0.3 counts.');
    app.get(`${base}/v1/card`, card, answering('card', v03Rest, options));
  }
}

const summaries: Partial<Record<OperationName, string>> = {
  send: 'Send a message, and wait for the task or its first question',
  stream: 'Send a message, and follow the task as server-sent events',
  list: 'List tasks, the newest first',
  subscribe: 'Follow a task that is under way as server-sent events',
  cancel: 'Cancel a task',
  get: 'Get a task with its history and artifacts',
  setPush: 'Have a webhook told when the task changes',
  listPush: 'List the webhooks of a task',
  getPush: 'Get a webhook of a task',
  deletePush: 'Remove a webhook of a task',
  deliveries: 'List what was sent to the webhooks of a task',
  card: 'Get the extended card: what the agent offers to callers it knows',
};

const message = z.object({ message: z.looseObject({}), configuration: z.looseObject({}).optional() });
const bodies: Partial<Record<OperationName, z.ZodType>> = {
  send: message,
  stream: message,
  setPush: z.looseObject({}).describe('The webhook: its address, a token and credentials.'),
};

const queries: Partial<Record<OperationName, z.ZodObject>> = {
  list: z.object({
    contextId: z.string().optional(),
    status: z.string().optional(),
    pageSize: z.int().optional(),
    pageToken: z.string().optional(),
    historyLength: z.int().optional(),
  }),
  get: z.object({ historyLength: z.int().optional() }),
};

function describe(operation: OperationName, method: string, version: string): MiddlewareHandler {
  const body = bodies[operation];
  const query = queries[operation];
  return describeRoute({
    summary: summaries[operation] ?? operation,
    headers: {
      'A2A-Version': version,
      ...(operation === 'subscribe' && {
        'Last-Event-ID': 'The last event that you have; the next ones come.',
      }),
    },
    ...(body !== undefined && method === 'POST' && { body }),
    ...(query !== undefined && { query }),
    ...(isStreaming(operation) && { mediaType: 'text/event-stream' }),
    ...(method === 'DELETE' && { status: 204 }),
  });
}

/** `legacy` is the dialect of callers who name no version. */
function answering(operation: OperationName, legacy: Dialect, options: RestOptions) {
  const { operations, checkOrigin, logger } = options;
  return async (context: RequestContext): Promise<Response> => {
    let dialect: Dialect = v10;
    try {
      dialect = chooseDialect(versionHeader(context), legacy);
      const params = { ...context.req.query(), ...(await readBody(context)), ...pathParams(context) };
      const call = callOf(context, dialect, params);
      if (isStreaming(operation)) {
        checkOrigin(context.req);
        const feed = await operations[operation](call);
        announceExtensions(context, dialect, operations.activated(call));
        return openStream(context, feed, dialect, (frame) => frame);
      }
      const result = await Promise.resolve(operations[operation](call));
      announceExtensions(context, dialect, operations.activated(call));
      if (context.req.method === 'DELETE') return new Response(null, { status: 204 });
      return answerText(context, JSON.stringify(result), {
        'content-type': answerType(context, dialect),
        // Who asks decides what stands in an extended card.
        ...(operation === 'card' && { 'cache-control': 'private, no-cache' }),
      });
    } catch (error) {
      if (error instanceof HttpError) throw error;
      return restError(reportError(error, logger), dialect);
    }
  };
}

/**
 * 1.0.0 has plain JSON, 1.0.1 a type of its own. Whoever sends plain JSON, or without a body accepts nothing else, gets
 * that; all others the newer.
 */
function answerType({ req }: RequestContext, { contentType }: Dialect): string {
  const named = req.header('content-type') ?? req.header('accept') ?? '';
  const isPlain = /^application\/json\s*(;[^,]*)?$/i.test(named.trim());
  return isPlain ? 'application/json' : contentType;
}

/** `abc:cancel` names the task and the action. */
function pathParams(context: RequestContext): Record<string, string> {
  const { id, ...named }: Record<string, string> = context.req.param();
  const tenant = tenantIn(context.req.raw);
  const rest = tenant === undefined ? named : { ...named, tenant };
  return id === undefined ? rest : { ...rest, id: id.replace(/:(cancel|subscribe)$/, '') };
}

async function readBody(context: RequestContext): Promise<JsonObject> {
  if (context.req.method !== 'POST') return {};
  const text = await context.req.text();
  if (text === '') return {};
  requireJson(context);
  const body = parseJson(text);
  if (body === null) return {};
  if (!isObject(body)) throw invalidParams('the body must be an object');
  return body;
}

/**
 * 1.0 has the error form of Google's APIs; 0.3 the bare code of its JSON-RPC. Errors are plain JSON: 1.0.0 demands it, and
 * its successor, which recommends a type of its own, allows it.
 */
function restError(error: A2aError, dialect: Dialect): Response {
  const { code, status, statusName } = error.binding;
  const { message } = error;
  const body =
    dialect.version === '1.0'
      ? { error: { code: status, status: statusName, message, details: errorDetails(error) } }
      : { code, message };
  return Response.json(body, { status, headers: error.headers });
}
