import { type IncomingMessage, request } from 'node:http';
import { type Duplex, duplexPair, Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { type AcceptConnection, readSse } from '@trunkline/http';
import { isObject, type JsonObject } from '../dialects/read/values.ts';
import { A2aError, type A2aErrorReason, isErrorReason } from '../errors/a2a-error.ts';

export interface ServiceCall {
  method: string;
  params: unknown;
  /** What the caller sent along. */
  header(name: string): string | undefined;
  /** The caller's address, for limits. */
  peer: string;
  signal: AbortSignal;
}

/** Why the service refused a call, as gRPC names it. */
export class RpcFailure extends Error {
  readonly statusName: string;
  /** The name of an error of A2A. */
  readonly reason: A2aErrorReason | undefined;

  constructor(statusName: string, message: string, reason?: A2aErrorReason) {
    super(message);
    this.name = 'RpcFailure';
    this.statusName = statusName;
    this.reason = reason;
  }
}

/** Headers that say who calls, from where, and what they want. */
const passedOn = [
  'authorization',
  'x-api-key',
  'x-forwarded-for',
  'origin',
  'a2a-extensions',
  'last-event-id',
  'traceparent',
];

/** Sends one JSON-RPC request to the service within this process. A single answer is a stream of one frame. */
export async function callService(
  accept: AcceptConnection,
  call: ServiceCall,
): Promise<{ extensions: string | undefined; frames: AsyncIterable<unknown> }> {
  const response = await post(accept, call);
  const { headers, statusCode = 0 } = response;
  const extensions = headers['a2a-extensions']?.toString();
  const type = headers['content-type'] ?? '';
  if (statusCode === 200 && type.startsWith('text/event-stream'))
    return { extensions, frames: framesOf(response) };
  const body = parse(await text(response));
  if (statusCode !== 200 && !isObject(body.error)) throw refusedBy(statusCode, body);
  const result = resultOf(body, statusCode);
  return { extensions, frames: Readable.from([result], { objectMode: true }) };
}

async function* framesOf(response: IncomingMessage): AsyncGenerator<unknown> {
  for await (const { data } of readSse({ body: Readable.toWeb(response) as ReadableStream<Uint8Array> }))
    yield resultOf(parse(data), 200);
}

function post(accept: AcceptConnection, call: ServiceCall): Promise<IncomingMessage> {
  const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: call.method, params: call.params });
  const headers: Record<string, string> = {
    host: '127.0.0.1',
    'content-type': 'application/json',
    'content-length': String(Buffer.byteLength(body)),
    'a2a-version': call.header('a2a-version') ?? '1.0',
  };
  for (const name of passedOn) {
    const value = call.header(name);
    if (value !== undefined) headers[name] = value;
  }
  return new Promise((resolve, reject) => {
    const options = { method: 'POST', path: '/a2a', headers, signal: call.signal };
    const sent = request({ ...options, createConnection: () => connect(accept, call.peer) }, resolve);
    sent.once('error', reject);
    sent.end(body);
  });
}

function connect(accept: AcceptConnection, peer: string): Duplex {
  const [ours, theirs] = duplexPair();
  accept(Object.assign(theirs, { remoteAddress: peer }));
  return ours;
}

function parse(json: string): JsonObject {
  const value: unknown = JSON.parse(json);
  return isObject(value) ? value : {};
}

function resultOf({ result, error }: JsonObject, statusCode: number): unknown {
  if (!isObject(error)) return result;
  const [info] = Array.isArray(error.data) ? error.data : [];
  const reason = isObject(info) && isErrorReason(info.reason) ? info.reason : undefined;
  const message = String(error.message ?? '');
  if (reason === undefined) throw new RpcFailure(statusNames[statusCode] ?? 'INTERNAL', message);
  throw new RpcFailure(new A2aError(reason, message).binding.statusName, message, reason);
}

const statusNames: Record<number, string> = {
  400: 'INVALID_ARGUMENT',
  401: 'UNAUTHENTICATED',
  403: 'PERMISSION_DENIED',
  404: 'UNIMPLEMENTED',
  413: 'RESOURCE_EXHAUSTED',
  429: 'RESOURCE_EXHAUSTED',
  503: 'UNAVAILABLE',
};

/** The service refused before the protocol was reached. */
function refusedBy(statusCode: number, { detail, error, message }: JsonObject): RpcFailure {
  const words = [detail, error, message].find((value) => typeof value === 'string');
  return new RpcFailure(
    statusNames[statusCode] ?? 'INTERNAL',
    String(words ?? `the service answered ${statusCode}`),
  );
}
