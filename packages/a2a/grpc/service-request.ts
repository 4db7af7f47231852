import { type ClientRequest, type IncomingMessage, request } from 'node:http';
import { type Duplex, duplexPair, Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { type AcceptConnection, readSse } from '@trunkline/http';
import { principalHeader } from '@trunkline/identity';
import { isObject, type JsonObject } from '../dialects/read/values.ts';
import { A2aError, type A2aErrorReason, isErrorReason, reasonOfCode } from '../errors/a2a-error.ts';

/** Who calls, before the message is known. */
export interface Caller {
  /** The version of A2A in which the service is to answer. */
  version: string;
  /** What the caller sent along. */
  header(name: string): string | undefined;
  /** The caller's address, for limits. */
  peer: string;
}

/** How the service decides about a caller; exactly one of them is called first. */
export interface Admission {
  /** All guards let the caller in, and the service asks for the message. */
  admitted(): void;
  /** The service answered, or failed, before it had the message. */
  refused(error: unknown): void;
}

interface ServiceAnswer {
  extensions: string | undefined;
  /** One frame for a call that is no stream. */
  frames: AsyncIterable<unknown>;
}

type FailureDetails = Partial<Pick<RpcFailure, 'reason' | 'challenge' | 'field'>>;

/** Why the service refused a call, as gRPC names it. */
export class RpcFailure extends Error {
  readonly statusName: string;
  /** The name of an error of A2A. */
  readonly reason: A2aErrorReason | undefined;
  /** What credentials the service asks for, as HTTP names them. */
  readonly challenge: string | undefined;
  /** Path of the parameter that is wrong, as JSON names it. */
  readonly field: string | undefined;

  constructor(statusName: string, message: string, { reason, challenge, field }: FailureDetails = {}) {
    super(message);
    this.name = 'RpcFailure';
    this.statusName = statusName;
    this.reason = reason;
    this.challenge = challenge;
    this.field = field;
  }
}

/** Headers that say who calls, from where, and what they want. */
const passedOn = [
  'authorization',
  'x-api-key',
  principalHeader,
  'x-forwarded-for',
  'origin',
  'a2a-extensions',
  'x-a2a-extensions',
  'last-event-id',
  'traceparent',
];

/**
 * One JSON-RPC request to the service within this process. Its headers go ahead, with `Expect: 100-continue`, so that
 * keys and limits are checked before anybody reads the message.
 */
export class ServiceRequest {
  readonly #request: ClientRequest;
  readonly #response = Promise.withResolvers<IncomingMessage>();
  #isSent = false;
  #isAborted = false;

  constructor(accept: AcceptConnection, caller: Caller, { admitted, refused }: Admission) {
    const options = { method: 'POST', path: '/a2a', headers: headersOf(caller) };
    this.#request = request({ ...options, createConnection: () => connect(accept, caller.peer) });
    this.#request.once('continue', admitted);
    this.#request.once('response', (response) => {
      this.#response.resolve(response);
      if (!this.#isSent) answerOf(response).then(() => refused(unasked()), refused);
    });
    this.#request.on('error', (error) => {
      this.#response.reject(error);
      if (!this.#isSent && !this.#isAborted) refused(error);
    });
    // Who does not call any more does not wait for the answer either.
    this.#response.promise.catch(() => undefined);
    this.#request.flushHeaders();
  }

  call(method: string, params: unknown): Promise<ServiceAnswer> {
    this.#isSent = true;
    this.#request.end(JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }));
    return this.#response.promise.then(answerOf);
  }

  abort(): void {
    this.#isAborted = true;
    this.#request.destroy();
  }
}

function unasked(): RpcFailure {
  return new RpcFailure('INTERNAL', 'the service answered before it was asked');
}

function headersOf({ version, header }: Caller): Record<string, string> {
  const headers: Record<string, string> = {
    host: '127.0.0.1',
    expect: '100-continue',
    'content-type': 'application/json',
    'a2a-version': version,
  };
  for (const name of passedOn) {
    const value = header(name);
    if (value !== undefined) headers[name] = value;
  }
  return headers;
}

function connect(accept: AcceptConnection, peer: string): Duplex {
  const [ours, theirs] = duplexPair();
  accept(Object.assign(theirs, { remoteAddress: peer }));
  return ours;
}

async function answerOf(response: IncomingMessage): Promise<ServiceAnswer> {
  const { headers, statusCode = 0 } = response;
  const extensions = (headers['a2a-extensions'] ?? headers['x-a2a-extensions'])?.toString();
  const type = headers['content-type'] ?? '';
  if (statusCode === 200 && type.startsWith('text/event-stream'))
    return { extensions, frames: framesOf(response) };
  const written = await text(response);
  const body = written === '' ? {} : parse(written);
  if (statusCode !== 200 && (statusCode === 401 || !isObject(body.error)))
    throw refusedBy(statusCode, body, headers['www-authenticate']);
  return { extensions, frames: Readable.from([resultOf(body, statusCode)], { objectMode: true }) };
}

async function* framesOf(response: IncomingMessage): AsyncGenerator<unknown> {
  for await (const { data } of readSse({ body: Readable.toWeb(response) as ReadableStream<Uint8Array> }))
    yield resultOf(parse(data), 200);
}

function parse(json: string): JsonObject {
  const value: unknown = JSON.parse(json);
  return isObject(value) ? value : {};
}

function resultOf({ result, error }: JsonObject, statusCode: number): unknown {
  // An answer that is nothing, as to a deletion in 0.3, is a frame all the same.
  if (!isObject(error)) return result ?? {};
  const details = (Array.isArray(error.data) ? error.data : []).filter(isObject);
  const message = String(error.message ?? '');
  const named = details.map(({ reason }) => reason).find(isErrorReason);
  const reason = named ?? (statusCode === 200 ? reasonOfCode(error.code) : undefined);
  if (reason === undefined) throw new RpcFailure(statusNames[statusCode] ?? 'INTERNAL', message);
  const violations = details.map(({ fieldViolations }) => fieldViolations).find(Array.isArray) ?? [];
  const field: unknown = violations.find(isObject)?.field;
  throw new RpcFailure(new A2aError(reason, message).binding.statusName, message, {
    reason,
    ...(typeof field === 'string' && { field }),
  });
}

const statusNames: Record<number, string> = {
  400: 'INVALID_ARGUMENT',
  401: 'UNAUTHENTICATED',
  403: 'PERMISSION_DENIED',
  404: 'UNIMPLEMENTED',
  408: 'DEADLINE_EXCEEDED',
  413: 'RESOURCE_EXHAUSTED',
  429: 'RESOURCE_EXHAUSTED',
  503: 'UNAVAILABLE',
};

/** The service refused before the protocol was reached. */
function refusedBy(
  statusCode: number,
  { detail, error, message }: JsonObject,
  challenge: string | undefined,
): RpcFailure {
  const words = [detail, error, message].find((value) => typeof value === 'string');
  const said = String(words ?? `the service answered ${statusCode}`);
  return new RpcFailure(statusNames[statusCode] ?? 'INTERNAL', said, { challenge });
}
