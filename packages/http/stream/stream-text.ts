import { RESPONSE_ALREADY_SENT } from '@hono/node-server/utils/response';
import type { RequestContext } from '../app/context.ts';
import { pumpPull } from './pump-pull.ts';
import { openResponseStream } from './response-stream.ts';

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
  return RESPONSE_ALREADY_SENT;
}
