import { RESPONSE_ALREADY_SENT } from '@hono/node-server/utils/response';
import type { RequestContext } from '../app/context.ts';
import { pumpPull } from '../stream/pump-pull.ts';
import { openResponseStream, type ResponseStream } from '../stream/response-stream.ts';
import { formatSseFrame, toChunk } from './frame.ts';
import { pumpPush } from './pump-push.ts';
import type { SsePullOptions, SsePushOptions, SseSharedOptions } from './types.ts';

const DEFAULT_KEEPALIVE_MS = 15_000;
const KEEPALIVE_FRAME = Buffer.from(formatSseFrame({ comment: 'keepalive' }));

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
  return RESPONSE_ALREADY_SENT;
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
    if (!stream.lagging) stream.write(KEEPALIVE_FRAME);
  }, everyMs).unref();
  stream.signal.addEventListener('abort', () => clearInterval(timer), { once: true });
}
