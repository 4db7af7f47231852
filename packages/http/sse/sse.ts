import { createParser } from 'eventsource-parser';
import type { RequestContext } from '../app/context.ts';
import { alreadySent } from '../server/adapter.ts';
import { type Chunk, openResponseStream, pumpPull, type ResponseStream } from '../stream/response-stream.ts';

/** With what the connection itself holds, a reader who does not read costs at most 1 MB besides one large frame. */
const DEFAULT_QUEUE: QueueLimits = { frames: 1024, bytes: 384 * 1024 };
const DEFAULT_KEEPALIVE_MS = 15_000;

/** An event, or the bytes of a frame formatted once for many readers. */
export type SseFrame = SseEvent | Uint8Array;

export interface SseSource {
  /** What the client saw last, from its `Last-Event-ID` header. */
  readonly lastEventId: string | undefined;
  /** Aborted when the client leaves or the server stops. */
  readonly signal: AbortSignal;
}

export interface SseSubscriber extends SseSource {
  /** False when the reader lags; what is sent then waits in the queue. */
  send(frame: SseFrame): boolean;
  /** Resolves when the reader has caught up, and also when it has left. */
  drained(): Promise<void>;
  /** Ends the stream after what was sent. */
  end(): void;
}

interface QueueLimits {
  frames: number;
  bytes: number;
}

interface SseSharedOptions {
  /** A comment goes out this often; default 15 seconds. */
  keepaliveMs?: number;
  /** How long a reader may take nothing before it is cut off; default 60 seconds. */
  stallMs?: number;
  /** A comment to begin with, such as `connected`. */
  greeting?: string;
  headers?: Readonly<Record<string, string>>;
}

/** A source that waits for the reader: the next event is asked for when the last one fitted. */
export interface SsePullOptions extends SseSharedOptions {
  events: (source: SseSource) => AsyncIterable<SseFrame>;
}

/** A source that does not wait: frames queue up to a limit, then the overflow rule applies. */
export interface SsePushOptions extends SseSharedOptions {
  /** Begins sending and gives back what stops it. */
  subscribe: (subscriber: SseSubscriber) => () => void;
  /** Default 1024 frames and 384 KiB. */
  queue?: QueueLimits;
  /** `drop-oldest` (default) loses the oldest frames; `close` cuts the reader off, who may resume by `Last-Event-ID`. */
  overflow?: 'drop-oldest' | 'close';
  onDrop?: (frames: number) => void;
}

export interface SseEvent {
  id?: string;
  event?: string;
  data?: string;
  /** Milliseconds the client should wait before it reconnects. */
  retry?: number;
  /** Ignored by clients; keeps connections open. */
  comment?: string;
}

/** Answers with a stream of server-sent events: `return sse(c, { events })`. */
export function sse(context: RequestContext, options: SsePullOptions | SsePushOptions): Response {
  const headers = sseHeaders(options);
  if (context.req.method === 'HEAD') return new Response(null, { headers });
  const stream = openResponseStream(context, { ...options, headers });
  if (options.greeting !== undefined) stream.write(formatSseFrame({ comment: options.greeting }));
  keepAlive(stream, options.keepaliveMs ?? DEFAULT_KEEPALIVE_MS);
  const source = { lastEventId: lastEventId(context), signal: stream.signal };
  if ('events' in options) void pumpPull(context, stream, () => options.events(source), toChunk);
  else pumpPush(context, stream, source, options);
  return alreadySent();
}

function sseHeaders(options: SseSharedOptions): Record<string, string> {
  return {
    'content-type': 'text/event-stream; charset=utf-8',
    'cache-control': 'no-cache',
    'x-accel-buffering': 'no',
    ...options.headers,
  };
}

function lastEventId(context: RequestContext): string | undefined {
  const value = context.req.header('last-event-id');
  return value === '' ? undefined : value;
}

/** A reader that lags gets no comment: bytes are already waiting for it. */
function keepAlive(stream: ResponseStream, everyMs: number): void {
  if (stream.signal.aborted) return;
  const timer = setInterval(() => {
    if (!stream.lagging) stream.write(formatSseFrame({ comment: 'keepalive' }));
  }, everyMs).unref();
  stream.signal.addEventListener('abort', () => clearInterval(timer), { once: true });
}

/** One event as the text that goes over the wire. */
export function formatSseFrame(event: SseEvent): string {
  let frame = '';
  if (event.comment !== undefined) frame += field('', event.comment);
  if (event.retry !== undefined) frame += `retry: ${Math.max(0, Math.trunc(event.retry))}\n`;
  if (event.id !== undefined) frame += `id: ${oneLine(event.id)}\n`;
  if (event.event !== undefined) frame += `event: ${oneLine(event.event)}\n`;
  if (event.data !== undefined) frame += field('data', event.data);
  return `${frame}\n`;
}

/** What is written for an event; bytes are a frame formatted before. */
function toChunk(frame: SseFrame): Chunk {
  return frame instanceof Uint8Array ? frame : formatSseFrame(frame);
}

function field(name: string, value: string): string {
  const lines = value.split(/\r\n|\r|\n/);
  return lines.map((line) => `${name}: ${line}\n`).join('');
}

/** A line break would start a field of its own; readers drop an id that holds NUL. */
function oneLine(value: string): string {
  return value.replace(/[\r\n\0]+/g, ' ');
}

/** Writes what the reader takes at once and queues the rest, up to its limits. */
class StreamSender {
  readonly #stream: ResponseStream;
  readonly #options: Required<Pick<SsePushOptions, 'queue' | 'overflow' | 'onDrop'>>;
  readonly #queue: FrameQueue;
  #blocked = false;
  #ending = false;

  constructor(
    stream: ResponseStream,
    options: Required<Pick<SsePushOptions, 'queue' | 'overflow' | 'onDrop'>>,
  ) {
    this.#stream = stream;
    this.#options = options;
    this.#queue = new FrameQueue(options.queue);
  }

  send(frame: SseFrame): boolean {
    if (this.#ending || this.#stream.closed) return true;
    const chunk = toChunk(frame);
    if (this.#blocked) this.#enqueue(chunk);
    else this.#write(chunk);
    return !this.#blocked;
  }

  async drained(): Promise<void> {
    while (this.#blocked && !this.#stream.closed) await this.#stream.drained();
  }

  /** Ends the stream once everything sent has been written. */
  end(): void {
    this.#ending = true;
    if (!this.#blocked) this.#stream.end();
  }

  #enqueue(given: Chunk): void {
    // The limit is in bytes, and text of some languages takes two or more for a character.
    const chunk = typeof given === 'string' ? Buffer.from(given) : given;
    if (this.#options.overflow === 'close' && !this.#queue.fits(chunk)) {
      this.#stream.destroy();
      return;
    }
    const dropped = this.#queue.push(chunk);
    if (dropped > 0) this.#options.onDrop(dropped);
  }

  #write(chunk: Chunk): void {
    if (this.#stream.write(chunk)) return;
    this.#blocked = true;
    void this.#stream.drained().then(() => this.#flush());
  }

  #flush(): void {
    this.#blocked = false;
    while (!this.#blocked) {
      const chunk = this.#queue.shift();
      if (chunk === undefined) break;
      this.#write(chunk);
    }
    if (this.#ending && !this.#blocked) this.#stream.end();
  }
}

/** Lets the source send whenever it likes, and tells it to stop when the stream is over. */
function pumpPush(
  context: RequestContext,
  stream: ResponseStream,
  source: SseSource,
  options: SsePushOptions,
): void {
  const { subscribe, queue = DEFAULT_QUEUE, overflow = 'drop-oldest' } = options;
  const onDrop = (frames: number) => {
    context.get('kit')?.metrics?.http.droppedFrames.inc(frames);
    options.onDrop?.(frames);
  };
  const sender = new StreamSender(stream, { queue, overflow, onDrop });
  try {
    const stop = subscribe({
      ...source,
      send: (frame) => sender.send(frame),
      drained: () => sender.drained(),
      end: () => sender.end(),
    });
    if (stream.signal.aborted) stop();
    else stream.signal.addEventListener('abort', stop, { once: true });
  } catch (error) {
    context.get('logger').error({ err: error }, 'stream source failed');
    stream.destroy();
  }
}

/** Frames that wait for a slow reader; never holds more than its limits allow. */
export class FrameQueue {
  readonly #limits: QueueLimits;
  readonly #frames: Chunk[] = [];
  #bytes = 0;

  constructor(limits: QueueLimits) {
    this.#limits = limits;
  }

  get length(): number {
    return this.#frames.length;
  }

  get bytes(): number {
    return this.#bytes;
  }

  fits(chunk: Chunk): boolean {
    return this.length < this.#limits.frames && this.#bytes + chunk.length <= this.#limits.bytes;
  }

  /** Adds the newest frame. Returns how many were lost to make room: the oldest, or a frame larger than the queue. */
  push(chunk: Chunk): number {
    if (chunk.length > this.#limits.bytes) return 1;
    let dropped = 0;
    for (; !this.fits(chunk); dropped += 1) this.shift();
    this.#frames.push(chunk);
    this.#bytes += chunk.length;
    return dropped;
  }

  shift(): Chunk | undefined {
    const chunk = this.#frames.shift();
    this.#bytes -= chunk?.length ?? 0;
    return chunk;
  }
}

export interface ReceivedEvent {
  /** The last id the stream named, in this event or before it. */
  id: string;
  /** `message` when the stream names none. */
  event: string;
  data: string;
}

interface ReadSseOptions {
  /** Called with the text of each comment line. */
  onComment?: (comment: string) => void;
  /** Called when the server names a reconnection time in milliseconds. */
  onRetry?: (milliseconds: number) => void;
  /** The most one event may hold, in characters; default 8 Mi. */
  maxEventLength?: number;
}

type Bytes = AsyncIterable<Uint8Array>;
/** A response, of whichever fetch, or the bytes themselves. */
type ByteSource = { readonly body: Bytes | null } | Bytes;

const DEFAULT_MAX_EVENT_LENGTH = 8 * 1024 * 1024;

/**
 * Reads server-sent events as the HTML standard tells browsers to. Takes hold of the stream when called: Node cancels a body
 * that nobody has started to read as soon as its Response is garbage collected. Whoever never iterates must abort the
 * request: `return()` before the first event leaves the stream open.
 */
export function readSse(
  source: ByteSource,
  options: ReadSseOptions = {},
): AsyncGenerator<ReceivedEvent, void, undefined> {
  const bytes = bytesOf(source)[Symbol.asyncIterator]();
  return readEvents({ [Symbol.asyncIterator]: () => bytes }, options);
}

async function* readEvents(
  source: Bytes,
  { onComment, onRetry, maxEventLength: limit = DEFAULT_MAX_EVENT_LENGTH }: ReadSseOptions,
): AsyncGenerator<ReceivedEvent, void, undefined> {
  const events: ReceivedEvent[] = [];
  let lastId = '';
  const parser = createParser({
    onComment,
    onRetry,
    maxBufferSize: limit,
    onEvent({ id = lastId, event = 'message', data }) {
      lastId = id;
      events.push({ id, event, data });
    },
    onError({ type }) {
      if (type === 'max-buffer-size-exceeded')
        throw new Error(`The event stream sent an event of more than ${limit} characters.`);
    },
  });
  const decoder = new TextDecoder();
  let endsWithCr = false;
  for await (const bytes of source) {
    const text = decoder.decode(bytes, { stream: true });
    parser.feed(text);
    if (text !== '') endsWithCr = text.endsWith('\r');
    yield* events.splice(0);
  }
  // The parser holds a last CR back, as an LF might follow.
  if (endsWithCr) parser.feed('\n');
  yield* events;
}

function bytesOf(source: ByteSource): Bytes {
  if (!('body' in source)) return source;
  if (source.body === null) throw new Error('The response has no body to read events from.');
  return source.body;
}
