import type { ServerResponse } from 'node:http';
import type { OpenStream, RequestContext } from '../app/context.ts';

export interface ResponseStreamOptions {
  headers: Readonly<Record<string, string>>;
  /** How long a reader may take nothing while bytes wait for it. */
  stallMs?: number;
}

export interface ResponseStream extends OpenStream {
  /** False when the reader lags: wait for `drained()` before writing more. */
  write(chunk: string | Uint8Array): boolean;
  /** Resolves when the reader has caught up, and also when the stream is over. */
  drained(): Promise<void>;
  /** Ends at once and drops what the reader has not taken. */
  destroy(): void;
  readonly closed: boolean;
  /** Bytes wait for the reader. */
  readonly lagging: boolean;
  /** Aborted when the reader leaves or the server stops. */
  readonly signal: AbortSignal;
}

const DEFAULT_STALL_MS = 60_000;

/** Tells the Node adaptor that the response was written past it. */
export function alreadySent(): Response {
  return new Response(null, { headers: { 'x-hono-already-sent': 'true' } });
}

/** Writes straight to the socket's response: one buffer, no web stream per client. */
export function openResponseStream(context: RequestContext, options: ResponseStreamOptions): ResponseStream {
  const { outgoing } = nodeBindings(context);
  const controller = new AbortController();
  const stream = createStream(outgoing, controller, options.stallMs ?? DEFAULT_STALL_MS);
  if (outgoing.destroyed) controller.abort();
  else register(context, stream, controller);
  const set = Object.fromEntries(context.res.headers);
  outgoing.writeHead(200, { ...context.var.standardHeaders, ...set, ...options.headers });
  outgoing.flushHeaders();
  return stream;
}

/** Known to the server and the metrics for as long as the connection lasts. */
function register(context: RequestContext, stream: ResponseStream, controller: AbortController): void {
  const { outgoing, streams } = context.env;
  const gauge = context.var.metrics?.http.openStreams;
  streams.add(stream);
  gauge?.inc();
  outgoing.once('close', () => {
    streams.delete(stream);
    gauge?.dec();
    controller.abort();
  });
}

function nodeBindings(context: RequestContext): RequestContext['env'] {
  if (context.env?.outgoing === undefined || context.env.streams === undefined) {
    throw new Error('A stream needs a real connection: start the app with serve().');
  }
  return context.env;
}

function createStream(
  outgoing: ServerResponse,
  controller: AbortController,
  stallMs: number,
): ResponseStream {
  let stallTimer: NodeJS.Timeout | undefined;
  const destroy = () => {
    controller.abort();
    outgoing.destroy();
  };
  const forgetStall = () => {
    clearTimeout(stallTimer);
    stallTimer = undefined;
  };
  outgoing.on('drain', forgetStall);
  outgoing.once('close', forgetStall);
  return {
    write(chunk) {
      if (isOver(outgoing)) return true;
      const accepted = outgoing.write(chunk);
      if (!accepted) stallTimer ??= setTimeout(destroy, stallMs).unref();
      return accepted;
    },
    drained: () => drained(outgoing),
    end() {
      controller.abort();
      if (!isOver(outgoing)) outgoing.end();
    },
    destroy,
    get closed() {
      return isOver(outgoing);
    },
    get lagging() {
      return outgoing.writableNeedDrain;
    },
    signal: controller.signal,
  };
}

function isOver(outgoing: ServerResponse): boolean {
  return outgoing.destroyed || outgoing.writableEnded;
}

function drained(outgoing: ServerResponse): Promise<void> {
  if (isOver(outgoing) || !outgoing.writableNeedDrain) return Promise.resolve();
  return new Promise((resolve) => {
    const done = () => {
      outgoing.off('drain', done);
      outgoing.off('close', done);
      resolve();
    };
    outgoing.once('drain', done);
    outgoing.once('close', done);
  });
}
