import { answerText, type RequestContext, type RouteContext, type SseSubscriber, sse } from '@trunkline/http';
import type { Dialect } from '../dialects/dialect.ts';
import type { Feed, FeedOutlet } from '../engine/feed.ts';
import type { EmittedEvent } from '../engine/live-task.ts';
import { A2aError } from '../errors/a2a-error.ts';
import { lastStatus, type Task } from '../protocol/model.ts';

const keepaliveMs = 25_000;
const wholeStream = {
  'content-type': 'text/event-stream; charset=utf-8',
  'cache-control': 'no-cache',
  'x-accel-buffering': 'no',
};

type Wrap = (frame: string) => string;

/** Writes a feed as server-sent events, each numbered so that a reader can come back where it was. */
export function openStream(context: RequestContext, feed: Feed, dialect: Dialect, wrap: Wrap): Response {
  return feed.complete ? sendWhole(context, feed, dialect, wrap) : sendLive(context, feed, dialect, wrap);
}

/** Nothing more will come: all frames go out in one piece, however many they are. */
function sendWhole(context: RequestContext, feed: Feed, dialect: Dialect, wrap: Wrap): Response {
  let text = '';
  const write = (sequence: number, frame: string) => {
    text += frameText(sequence, wrap(frame));
  };
  feed.open(createOutlet(dialect, feed.place, { write, end: () => undefined }));
  return answerText(context, text, wholeStream);
}

function sendLive(context: RequestContext, feed: Feed, dialect: Dialect, wrap: Wrap): Response {
  const { socket } = context.env.outgoing;
  // The head of the answer and the frames that are there already go out as one packet.
  socket?.cork();
  process.nextTick(() => socket?.uncork());
  return sse(context, {
    keepaliveMs,
    overflow: 'close',
    subscribe(subscriber) {
      feed.open(createOutlet(dialect, feed.place, gatherFrames(subscriber, wrap)));
      return () => feed.close();
    },
  });
}

interface FrameWriter {
  write(sequence: number, frame: string): void;
  end(): void;
}

/** Frames that come before the event loop turns are written at once. */
function gatherFrames(subscriber: SseSubscriber, wrap: Wrap): FrameWriter {
  let waiting = '';
  const flush = () => {
    if (waiting === '') return;
    const text = waiting;
    waiting = '';
    subscriber.send(Buffer.from(text));
  };
  return {
    write(sequence, frame) {
      if (waiting === '') process.nextTick(flush);
      waiting += frameText(sequence, wrap(frame));
    },
    end() {
      flush();
      subscriber.end();
    },
  };
}

function frameText(sequence: number, data: string): string {
  return `id: ${sequence}\ndata: ${data}\n\n`;
}

function createOutlet(dialect: Dialect, place: TaskPlace, { write, end }: FrameWriter): FeedOutlet {
  return {
    task(task, sequence) {
      write(sequence, JSON.stringify(dialect.taskFrame(task)));
      if (closesWithStatus(dialect, task)) {
        write(sequence, JSON.stringify(dialect.eventFrame(task, lastStatus(task))));
      }
    },
    event: (emitted) => write(emitted.sequence, encodeOnce(emitted, dialect, place)),
    end,
  };
}

type TaskPlace = Feed['place'];

/** Readers of 0.3 wait for a frame that says it is the last, also when the task had settled before. */
function closesWithStatus(dialect: Dialect, task: Task): boolean {
  return dialect.version === '0.3' && task.state !== 'working';
}

function encodeOnce({ event, encoded }: EmittedEvent, dialect: Dialect, place: TaskPlace): string {
  const frame = encoded[dialect.name] ?? JSON.stringify(dialect.eventFrame(place, event));
  encoded[dialect.name] = frame;
  return frame;
}

/**
 * Refuses a body that does not say it is JSON. A page of another site can send plain text, forms and bodies without
 * any type, and no others.
 */
export function requireJson(context: RequestContext): void {
  const declared = context.req.header('content-type') ?? '';
  if (declared === 'application/json') return;
  const type = (declared.split(';')[0] ?? '').trim().toLowerCase();
  if (type === 'application/json' || /^application\/[\w.-]+\+json$/.test(type)) return;
  const words =
    'Incompatible content types: the body must be application/json, another type is not supported';
  throw new A2aError('CONTENT_TYPE_NOT_SUPPORTED', words);
}

/** The version comes in a header, or as a parameter where headers cannot be set. */
export function versionHeader(context: RouteContext): string | undefined {
  return context.req.header('a2a-version') ?? context.req.query('A2A-Version');
}

export function callExtensions(context: RequestContext): string[] {
  const header = context.req.header('a2a-extensions') ?? context.req.header('x-a2a-extensions');
  if (header === undefined) return [];
  return header.split(',').map((uri) => uri.trim());
}
