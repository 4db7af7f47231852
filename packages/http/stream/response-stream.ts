import type { ServerResponse } from 'node:http';
import { ownerKey } from '@trunkline/identity';
import type { OpenStream, OpenStreams, RequestContext, StreamOwner } from '../app/context.ts';
import { alreadySent } from '../server/adapter.ts';

export interface ResponseStreamOptions {
  headers: Readonly<Record<string, string>>;
  /** How long a reader may take nothing while bytes wait for it. */
  stallMs?: number;
}

const DEFAULT_STALL_MS = 60_000;

/** One for all, as a new one is built with a stack trace each time. */
const closed = new DOMException('The reader left, or the stream ended.', 'AbortError');

/** Sends the headers at once and gives back what writes the rest. */
export function openResponseStream(context: RequestContext, options: ResponseStreamOptions): ResponseStream {
  const { outgoing, streams } = nodeBindings(context);
  const stream = new ResponseStream(outgoing, options.stallMs ?? DEFAULT_STALL_MS);
  if (!stream.signal.aborted) register(stream, streams, context);
  outgoing.writeHead(200, { ...context.get('standardHeaders'), ...options.headers });
  outgoing.flushHeaders();
  return stream;
}

function nodeBindings(context: RequestContext): RequestContext['env'] {
  if (context.env?.outgoing === undefined || context.env.streams === undefined) {
    throw new Error('A stream needs a real connection: start the app with serve().');
  }
  return context.env;
}

/** Known to the server and the metrics for as long as the connection lasts. */
function register(stream: ResponseStream, streams: OpenStreams, context: RequestContext): void {
  const gauge = context.get('kit')?.metrics?.http.openStreams;
  const owner = ownerOf(context);
  const [forget, forgetOwner] = [
    streams.add(stream, context.get('stillStands')),
    owner && streams.bound(stream, owner),
  ];
  gauge?.inc();
  context.env.outgoing.once('close', () => {
    forget();
    forgetOwner?.();
    gauge?.dec();
  });
}

/** A person has a few pages open; a program, or a proxy before people without a key, stands for many. */
const MOST_OF_PERSON = 200;
const MOST_OF_PROGRAM = 1000;

/** Undefined where nothing limits them: for the operator, and what our services pass on, who limit their own callers. */
function ownerOf(context: RequestContext): StreamOwner | undefined {
  const principal = context.get('principal');
  if (principal.kind === 'operator' || principal.via.length > 0) return undefined;
  const remoteAddress = context.env.incoming?.socket.remoteAddress ?? '';
  const key = principal.kind === 'anonymous' ? remoteAddress : ownerKey(principal);
  return { key, most: principal.kind === 'person' ? MOST_OF_PERSON : MOST_OF_PROGRAM };
}

/** Writes straight to the socket's response: one buffer, no web stream per client. */
export class ResponseStream implements OpenStream {
  readonly #outgoing: ServerResponse;
  readonly #controller = new AbortController();
  readonly #stallMs: number;
  #stallTimer: NodeJS.Timeout | undefined;

  constructor(outgoing: ServerResponse, stallMs: number) {
    this.#outgoing = outgoing;
    this.#stallMs = stallMs;
    outgoing.on('drain', () => this.#forgetStall());
    outgoing.once('close', () => {
      this.#forgetStall();
      this.#controller.abort(closed);
    });
    if (outgoing.destroyed) this.#controller.abort(closed);
  }

  /** Aborted when the reader leaves, the stream ends or the server stops. */
  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  get closed(): boolean {
    return this.#outgoing.destroyed || this.#outgoing.writableEnded;
  }

  /** Bytes wait for the reader. */
  get lagging(): boolean {
    return this.#outgoing.writableNeedDrain;
  }

  /** False when the reader lags: wait for `drained()` before writing more. */
  write(chunk: Chunk): boolean {
    if (this.closed) return true;
    const accepted = this.#outgoing.write(chunk);
    if (!accepted) this.#stallTimer ??= setTimeout(() => this.destroy(), this.#stallMs).unref();
    return accepted;
  }

  /** Resolves when the reader has caught up, and also when the stream is over. */
  drained(): Promise<void> {
    const outgoing = this.#outgoing;
    if (this.closed || !this.lagging) return Promise.resolve();
    return new Promise((resolve) => {
      const done = () => {
        outgoing.off('drain', done).off('close', done);
        resolve();
      };
      outgoing.once('drain', done).once('close', done);
    });
  }

  /** Ends after what was written. */
  end(): void {
    this.#controller.abort(closed);
    if (!this.closed) this.#outgoing.end();
  }

  /** Ends at once and drops what the reader has not taken. */
  destroy(): void {
    this.#controller.abort(closed);
    this.#outgoing.destroy();
  }

  #forgetStall(): void {
    clearTimeout(this.#stallTimer);
    this.#stallTimer = undefined;
  }
}

/** Writes the answer straight to the connection: a web response costs more than most requests do. */
export function answerText(
  context: RequestContext,
  text: string,
  headers: Readonly<Record<string, string>>,
): Response {
  const { outgoing } = context.env;
  const length = Buffer.byteLength(text);
  outgoing.writeHead(200, { ...context.get('standardHeaders'), ...headers, 'content-length': length });
  // ASCII is the same in both, and Node writes Latin-1 without looking at each character.
  outgoing.end(text, length === text.length ? 'latin1' : 'utf8');
  return alreadySent();
}

export type Chunk = string | Uint8Array;

/** Takes one piece at a time and waits for the reader between them. A source that fails breaks the stream off. */
export async function pumpPull<Piece>(
  context: RequestContext,
  stream: ResponseStream,
  open: () => AsyncIterable<Piece>,
  toChunk: (piece: Piece) => Chunk,
): Promise<void> {
  const fail = (error: unknown) => context.get('logger').error({ err: error }, 'stream source failed');
  try {
    await pump(stream, open(), toChunk, fail);
    stream.end();
  } catch (error) {
    if (stream.signal.aborted) return stream.end();
    fail(error);
    stream.destroy();
  }
}

/** Written out rather than as `for await`, so that a source that still waits for its next piece stops too. */
async function pump<Piece>(
  stream: ResponseStream,
  source: AsyncIterable<Piece>,
  toChunk: (piece: Piece) => Chunk,
  fail: (error: unknown) => void,
): Promise<void> {
  const iterator = source[Symbol.asyncIterator]();
  const stop = () => void iterator.return?.().then(undefined, fail);
  stream.signal.addEventListener('abort', stop, { once: true });
  for (let next = await iterator.next(); next.done !== true; next = await iterator.next()) {
    if (stream.closed) return stop();
    if (!stream.write(toChunk(next.value))) await stream.drained();
  }
}

export interface StreamTextOptions {
  /** Gives the text piece by piece; the signal is aborted when the client leaves or the server stops. */
  chunks: (source: { readonly signal: AbortSignal }) => AsyncIterable<string>;
  contentType: string;
  headers?: Readonly<Record<string, string>>;
  /** How long a reader may take nothing before it is cut off; default 60 seconds. */
  stallMs?: number;
}

/** Answers with text as it comes, in a format other than server-sent events. */
export function streamText(context: RequestContext, options: StreamTextOptions): Response {
  const headers = {
    'content-type': options.contentType,
    'cache-control': 'no-cache',
    'x-accel-buffering': 'no',
    ...options.headers,
  };
  if (context.req.method === 'HEAD') return new Response(null, { headers });
  const stream = openResponseStream(context, { ...options, headers });
  void pumpPull(
    context,
    stream,
    () => options.chunks({ signal: stream.signal }),
    (text) => text,
  );
  return alreadySent();
}
