import { type AppEnv, answerText, HttpError, type OriginCheck } from '@trunkline/http';
import type { Context, Hono } from 'hono';
import type { Dialect } from '../dialects/dialect.ts';
import { chooseDialect } from '../dialects/dialects.ts';
import { isObject, type JsonObject } from '../dialects/read/values.ts';
import { v03 } from '../dialects/v03/dialect.ts';
import { v03Rest } from '../dialects/v03/rest.ts';
import { v10 } from '../dialects/v10/dialect.ts';
import type { Feed } from '../engine/feed.ts';
import { type A2aError, errorDetails, invalidParams, reportError } from '../errors/a2a-error.ts';
import { callExtensions, openStream, requireJson, versionHeader } from '../http/stream.ts';
import type { Call, Operations } from '../operations.ts';
import type { Logger } from '../protocol/model.ts';
import { parseJson } from '../rpc/rpc-route.ts';

export interface RestOptions {
  operations: Operations;
  checkOrigin: OriginCheck;
  logger: Logger;
}

type RequestContext = Context<AppEnv>;
type Handle = (operations: Operations, call: Call) => object | null | Promise<object | null>;
type Open = (operations: Operations, call: Call) => Feed | Promise<Feed>;

/** Mounts the REST form: at the root and under `/a2a` with the version by header, and under `/v1` as 0.3 had it. */
export function mountRest(app: Hono<AppEnv>, options: RestOptions): void {
  for (const base of ['', '/a2a']) {
    mountAt(app, base, v03, options);
    mountAt(app, `${base}/v1`, v03Rest, options);
    app.get(
      `${base}/v1/card`,
      plain(v03Rest, options, (operations, call) => operations.card(call)),
    );
  }
}

function mountAt(app: Hono<AppEnv>, base: string, legacy: Dialect, options: RestOptions): void {
  const answer = (handle: Handle) => plain(legacy, options, handle);
  const stream = (open: Open) => streamed(legacy, options, open);
  const subscribe = stream((operations, call) => operations.subscribe(call));
  const get = answer((operations, call) => operations.get(call));
  const cancel = answer((operations, call) => operations.cancel(call));
  const setPush = answer((operations, call) => operations.setPush(call));
  const listPush = answer((operations, call) => operations.listPush(call));
  app.post(
    `${base}/message:send`,
    answer((operations, call) => operations.send(call)),
  );
  app.post(
    `${base}/message:stream`,
    stream((operations, call) => operations.stream(call)),
  );
  app.get(
    `${base}/tasks`,
    answer((operations, call) => operations.list(call)),
  );
  app.on(['GET', 'POST'], `${base}/tasks/:id{[^/]+:subscribe}`, subscribe);
  app.post(`${base}/tasks/:id{[^/]+:cancel}`, cancel);
  app.get(`${base}/tasks/:id`, get);
  app.post(`${base}/tasks/:taskId/pushNotificationConfig`, setPush);
  app.get(`${base}/tasks/:taskId/pushNotificationConfig`, listPush);
  app.post(`${base}/tasks/:taskId/pushNotificationConfigs`, setPush);
  app.get(`${base}/tasks/:taskId/pushNotificationConfigs`, listPush);
  const one = `${base}/tasks/:taskId/pushNotificationConfigs/:pushNotificationConfigId`;
  app.get(
    one,
    answer((operations, call) => operations.getPush(call)),
  );
  app.delete(
    one,
    answer((operations, call) => operations.deletePush(call)),
  );
  app.get(
    `${base}/tasks/:taskId/pushDeliveries`,
    answer((operations, call) => operations.deliveries(call)),
  );
  app.get(
    `${base}/extendedAgentCard`,
    answer((operations, call) => operations.card(call)),
  );
}

function plain(legacy: Dialect, options: RestOptions, handle: Handle) {
  return (context: RequestContext) =>
    answering(context, legacy, options, async (call) => {
      const result = await handle(options.operations, call);
      if (context.req.method === 'DELETE') return new Response(null, { status: 204 });
      return answerText(context, JSON.stringify(result), { 'content-type': call.dialect.contentType });
    });
}

function streamed(legacy: Dialect, options: RestOptions, open: Open) {
  return (context: RequestContext) =>
    answering(context, legacy, options, async (call) => {
      options.checkOrigin(context.req);
      const feed = await open(options.operations, call);
      return openStream(context, feed, call.dialect, (frame) => frame);
    });
}

async function answering(
  context: RequestContext,
  legacy: Dialect,
  options: RestOptions,
  work: (call: Call) => Promise<Response>,
): Promise<Response> {
  let dialect: Dialect = v10;
  try {
    dialect = chooseDialect(versionHeader(context), legacy);
    return await work(await readCall(context, dialect));
  } catch (error) {
    if (error instanceof HttpError) throw error;
    return restError(reportError(error, options.logger), dialect);
  }
}

async function readCall(context: RequestContext, dialect: Dialect): Promise<Call> {
  const lastEventId = context.req.header('last-event-id');
  return {
    dialect,
    params: { ...context.req.query(), ...(await readBody(context)), ...pathParams(context) },
    extensions: callExtensions(context),
    principal: context.get('principal'),
    ...(lastEventId !== undefined && { lastEventId }),
  };
}

/** `abc:cancel` names the task and the action. */
function pathParams(context: RequestContext): Record<string, string> {
  const { id, ...rest }: Record<string, string> = context.req.param();
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

/** 1.0 has the error form of Google's APIs; 0.3 the bare code of its JSON-RPC. */
function restError(error: A2aError, dialect: Dialect): Response {
  const { code, status, statusName } = error.binding;
  const { message } = error;
  const body =
    dialect.version === '1.0'
      ? { error: { code: status, status: statusName, message, details: errorDetails(error) } }
      : { code, message };
  return Response.json(body, { status, headers: error.headers });
}
