import { answerText, HttpError, type OriginCheck, type RouteContext } from '@trunkline/http';
import type { Dialect } from '../dialects/dialect.ts';
import { chooseDialect } from '../dialects/dialects.ts';
import { v10 } from '../dialects/v10/dialect.ts';
import { A2aError } from '../errors/a2a-error.ts';
import { reportError } from '../errors/report-error.ts';
import { requireJson } from '../http/content-type.ts';
import { callExtensions, versionHeader } from '../http/headers.ts';
import { openStream } from '../http/stream.ts';
import type { Operations } from '../operations.ts';
import type { Logger } from '../protocol/logger.ts';
import {
  errorText,
  idOf,
  parseJson,
  type RpcId,
  type RpcRequest,
  readRequest,
  resultText,
  wrapResult,
} from './envelope.ts';
import { findMethod, type Method } from './methods.ts';

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
    return Array.isArray(body)
      ? answerBatch(context, body, dialect, options)
      : answerOne(context, body, dialect, options);
  };
}

async function answerOne(
  context: RouteContext,
  body: unknown,
  dialect: Dialect,
  options: RpcRouteOptions,
): Promise<Response> {
  try {
    const request = readRequest(body);
    const method = findMethod(dialect.version, request.method);
    if (method.kind === 'stream') return await answerStream(context, request, method, dialect, options);
    const result = await method.call(options.operations, callOf(context, request, dialect));
    return request.id === undefined ? noAnswer() : jsonAnswer(context, resultText(request.id, result));
  } catch (error) {
    if (error instanceof HttpError) throw error;
    // A wrong request without an id cannot be told from one that forgot it, so it is answered too.
    const reported = reportError(error, options.logger);
    const text = errorText(idOf(body) ?? null, reported, dialect);
    return reported.retryAfterSeconds === undefined ? jsonAnswer(context, text) : later(text, reported);
  }
}

/** JSON-RPC answers errors with 200, but what may be sent again is told to HTTP clients in their own way. */
function later(text: string, { binding, headers }: A2aError): Response {
  return new Response(text, { status: binding.status, headers: { ...jsonHeaders, ...headers } });
}

async function answerStream(
  context: RouteContext,
  request: RpcRequest,
  method: Extract<Method, { kind: 'stream' }>,
  dialect: Dialect,
  options: RpcRouteOptions,
): Promise<Response> {
  options.checkOrigin(context.req);
  const feed = await method.call(options.operations, callOf(context, request, dialect));
  const id = request.id ?? null;
  return openStream(context, feed, dialect, (frame) => wrapResult(id, frame));
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
    const method = findMethod(dialect.version, request.method);
    if (method.kind === 'stream') throw noStreamInBatch(request.method);
    const result = await method.call(operations, callOf(context, request, dialect));
    return id === undefined ? undefined : resultText(id, result);
  } catch (error) {
    const reported = reportError(error, logger);
    return id === undefined ? undefined : errorText(id, reported, dialect);
  }
}

function callOf(context: RouteContext, request: RpcRequest, dialect: Dialect) {
  const lastEventId = context.req.header('last-event-id');
  return {
    dialect,
    params: request.params,
    principal: context.get('principal'),
    extensions: callExtensions(context),
    ...(lastEventId !== undefined && { lastEventId }),
  };
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
