// One request and its answer. Node's client, not fetch: fetch costs about twice the processor time, and its streams and
// signals are made for each page that research reads (docs/benchmarks.md).
import { Agent, type ClientRequestArgs, type IncomingMessage, request as plainRequest } from 'node:http';
import { Agent as SecureAgent, request as secureRequest } from 'node:https';
import type { LookupFunction } from 'node:net';
import { pipeline, type Readable, Transform } from 'node:stream';
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { TLSSocket } from 'node:tls';
import { constants, createBrotliDecompress, createGunzip, createInflate, createInflateRaw } from 'node:zlib';
import { lazy, systemCode } from '@trunkline/std';
import { type AddressPolicy, fetchErrors, type ResolvedAddress } from './address-policy.ts';

export interface OutgoingRequest {
  url: URL;
  method: string;
  headers: Readonly<Record<string, string>>;
  body?: string | Uint8Array;
}

/** How long a connection waits for the next request to the same addresses of the same host. */
const IDLE_MS = 4_000;
const MOST_IDLE_PER_HOST = 16;

// Made with the first page: many processes never fetch one, and load neither TLS nor zlib for it.
const plainAgent = lazy(() => new Agent());
const secureAgent = lazy(() => new SecureAgent({ maxCachedSessions: 0 }));
const keptOpen = { keepAlive: true, timeout: IDLE_MS, maxFreeSockets: MOST_IDLE_PER_HOST };
const plainPool = lazy(() => pooledByAddress(new Agent(keptOpen)));
const securePool = lazy(() => pooledByAddress(new SecureAgent({ ...keptOpen, maxCachedSessions: 0 })));

interface PooledRequest extends ClientRequestArgs {
  addresses: string;
  hasCredentials: boolean;
}

/**
 * Every request resolves and checks its host: it gets a connection that was made to the very addresses it may use. One with
 * credentials shares none with those that anybody can ask for, as the Fetch standard has it.
 */
function pooledByAddress(agent: Agent): Agent {
  const nameOf = agent.getName.bind(agent);
  agent.getName = (options: Partial<PooledRequest> = {}) =>
    `${nameOf(options)}:${options.addresses}:${options.hasCredentials}`;
  return agent;
}

const CONNECT_MS = 10_000;

/** What another host may see of a request; credentials come in headers of any name. */
const HARMLESS_HEADERS = new Set(['accept', 'accept-language', 'content-type', 'user-agent']);

export function isHarmless(header: string): boolean {
  return HARMLESS_HEADERS.has(header.toLowerCase());
}

/** Resolves when the head of the answer is there. The connection goes to nothing but the addresses that were checked. */
export async function exchange(
  outgoing: OutgoingRequest,
  policy: AddressPolicy,
  signal: AbortSignal,
): Promise<IncomingMessage> {
  const { url, method, body } = outgoing;
  const addresses = await policy.resolve(url.hostname.replace(/^\[(.*)\]$/, '$1'), signal);
  signal.throwIfAborted();
  const [once, pool] =
    url.protocol === 'https:' ? ([secureAgent, securePool] as const) : ([plainAgent, plainPool] as const);
  // A server may close an idle connection just as a request is written to it, and then nobody knows whether it got the
  // request: only what may be sent twice goes over one that was used before. Not HEAD: some servers answer it with a body.
  const isRepeatable = method === 'GET' && body === undefined;
  if (!isRepeatable) return await send(outgoing, addresses, signal, once());
  await closeUnasked(pool());
  signal.throwIfAborted();
  try {
    return await send(outgoing, addresses, signal, pool());
  } catch (error) {
    if (!(error instanceof StaleConnection)) throw error;
    return await send(outgoing, addresses, signal, once());
  }
}

/**
 * Node closes an idle connection on which something comes: it would pass for the answer to the next request. It reads between
 * two turns, so what lies there already is read within two.
 */
async function closeUnasked(agent: Agent): Promise<void> {
  for (let turn = 0; turn < 2 && Object.keys(agent.freeSockets).length > 0; turn += 1) await nextTurn();
}

/** The connection had been used before and broke off before the answer began. */
class StaleConnection extends Error {}

async function send(
  outgoing: OutgoingRequest,
  addresses: readonly ResolvedAddress[],
  signal: AbortSignal,
  agent: Agent,
): Promise<IncomingMessage> {
  const { url, method, body } = outgoing;
  const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>();
  const open = url.protocol === 'https:' ? secureRequest : plainRequest;
  const options: PooledRequest = {
    host: url.hostname.replace(/^\[(.*)\]$/, '$1'),
    ...(url.port !== '' && { port: url.port }),
    path: `${url.pathname}${url.search}`,
    method,
    headers: completeHeaders(outgoing),
    agent,
    addresses: addresses
      .map(({ address }) => address)
      .toSorted()
      .join(),
    hasCredentials: !Object.keys(outgoing.headers).every(isHarmless),
    lookup: pinnedLookup(addresses),
    timeout: CONNECT_MS,
  };
  const request = open(options);
  const abort = () => void request.destroy(signal.reason as Error);
  signal.addEventListener('abort', abort, { once: true });
  let isAnswered = false;
  const fail = (error: Error) =>
    reject(request.reusedSocket && !signal.aborted ? new StaleConnection() : error);
  request
    .on('response', (response) => {
      isAnswered = true;
      resolve(response);
    })
    .on('error', fail)
    // The time counts whenever nothing comes; the caller's own limit is for what comes after the connection.
    .on('timeout', () => {
      const socket = request.socket as (TLSSocket & { secureConnecting?: boolean }) | null;
      if (socket?.connecting || socket?.secureConnecting) request.destroy(connectTimeout());
    })
    .once('close', () => {
      signal.removeEventListener('abort', abort);
      // An error that nobody would get costs its stack.
      if (!isAnswered) fail(brokenOff());
    })
    .end(body);
  return await promise;
}

function connectTimeout(): Error {
  return Object.assign(new Error(`no connection within ${CONNECT_MS / 1000} s`), { code: 'ETIMEDOUT' });
}

function brokenOff(cause?: unknown): Error {
  return Object.assign(new Error('the connection broke off', { cause }), { code: 'ECONNRESET' });
}

/** Answers with the checked addresses whatever is asked; no second question goes to the resolver. */
function pinnedLookup(addresses: readonly ResolvedAddress[]): LookupFunction {
  return (_host, options, callback) => {
    if (options.all === true) return callback(null, [...addresses]);
    const [first] = addresses;
    return callback(null, first?.address ?? '', first?.family ?? 0);
  };
}

/** With the headers that fetch adds. */
function completeHeaders({ url, headers, body }: OutgoingRequest): Record<string, string | number> {
  const complete: Record<string, string | number> = {
    accept: '*/*',
    'accept-language': '*',
    'accept-encoding': url.protocol === 'https:' ? 'br, gzip, deflate' : 'gzip, deflate',
    ...(typeof body === 'string' && { 'content-type': 'text/plain;charset=UTF-8' }),
  };
  for (const [name, value] of Object.entries(headers)) complete[name.toLowerCase()] = value;
  if (body === undefined) delete complete['content-length'];
  else complete['content-length'] = Buffer.byteLength(body);
  return complete;
}

export interface ReadLimits {
  maxBytes: number;
  overflow: 'refuse' | 'cut';
}

/**
 * Reads the decoded body and stops as soon as it is too long or the signal is aborted: a small compressed body may unpack
 * to a huge one, or keep a decoder busy without an end. The connection is closed in any case.
 */
export function readLimited(
  response: IncomingMessage,
  { maxBytes, overflow }: ReadLimits,
  signal: AbortSignal,
): Promise<{ body: Uint8Array; truncated: boolean }> {
  const isUnwanted = maxBytes === 0 && overflow === 'cut';
  if (isUnwanted || BODILESS.has(response.statusCode ?? 0)) {
    response.destroy();
    return Promise.resolve({ body: new Uint8Array(), truncated: false });
  }
  const chunks: Uint8Array[] = [];
  let size = 0;
  const { promise, resolve, reject } = Promise.withResolvers<{ body: Uint8Array; truncated: boolean }>();
  let isOver = false;
  const end = () => {
    isOver = true;
    resolve({ body: Buffer.concat(chunks), truncated: size > maxBytes });
  };
  const abort = () => reject(signal.reason);
  signal.addEventListener('abort', abort, { once: true });
  let source: Readable = response;
  try {
    signal.throwIfAborted();
    source = decoded(response);
    source
      .on('data', (chunk: Uint8Array) => {
        if (size > maxBytes) return;
        const room = maxBytes - size;
        chunks.push(chunk.byteLength > room ? chunk.subarray(0, room) : chunk);
        size += chunk.byteLength;
        if (size <= maxBytes) return;
        if (overflow === 'cut') end();
        else reject(fetchErrors.response_too_large({ bytes: maxBytes }));
      })
      .on('end', end)
      .on('error', (error) => reject(systemCode(error) === 'ECONNRESET' ? brokenOff(error) : error))
      // An error that nobody would get costs its stack.
      .on('close', () => isOver || reject(brokenOff()));
  } catch (error) {
    reject(error);
  }
  return promise.finally(() => {
    signal.removeEventListener('abort', abort);
    source.destroy();
    response.destroy();
  });
}

/** Encodings one inside the other, at most. */
const MOST_ENCODINGS = 2;
/** Statuses whose answers have no body. */
const BODILESS = new Set([101, 103, 204, 205, 304]);

/** The body unpacked; as it came where it is packed in a way that is not known. */
function decoded(response: IncomingMessage): Readable {
  const encodings = (response.headers['content-encoding'] ?? '').toLowerCase().split(',');
  if (encodings.length > MOST_ENCODINGS) throw new Error(`too many content encodings (${encodings.length})`);
  const decoders = encodings.map((encoding) => DECODERS.get(encoding.trim())).toReversed();
  if (decoders.includes(undefined)) return response;
  const streams = decoders.flatMap((create) => create?.() ?? []);
  // A failure destroys all of them, and the last one tells of it.
  return pipeline([response, ...streams], () => undefined) as unknown as Readable;
}

/** Unpacks what has come so far, also where the end is missing, as browsers do. */
const lenient = lazy(() => ({ flush: constants.Z_SYNC_FLUSH, finishFlush: constants.Z_SYNC_FLUSH }));
const lenientBrotli = lazy(() => ({
  flush: constants.BROTLI_OPERATION_FLUSH,
  finishFlush: constants.BROTLI_OPERATION_FLUSH,
}));

const DECODERS = new Map<string, () => Transform>([
  ['gzip', () => createGunzip(lenient())],
  ['x-gzip', () => createGunzip(lenient())],
  ['deflate', createDeflateReader],
  ['br', () => createBrotliDecompress(lenientBrotli())],
]);

/** Some servers send "deflate" without its header. */
function createDeflateReader(): Transform {
  let inner: Transform | undefined;
  const outer = new Transform({
    transform(chunk: Uint8Array, encoding, done) {
      inner ??= open(((chunk[0] ?? 0) & 0x0f) === 8);
      inner.write(chunk, encoding, done);
    },
    flush(done) {
      // It has ended already where bytes follow the end of the packed data.
      if (inner === undefined || inner.readableEnded) done();
      else inner.once('end', () => done()).end();
    },
    destroy(error, done) {
      inner?.destroy();
      done(error);
    },
  });
  const open = (hasHeader: boolean) =>
    (hasHeader ? createInflate(lenient()) : createInflateRaw(lenient()))
      .on('data', (piece: Uint8Array) => outer.push(piece))
      .on('error', (error) => outer.destroy(error));
  return outer;
}
