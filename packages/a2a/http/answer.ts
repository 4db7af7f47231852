import type { AppEnv } from '@trunkline/http';
import type { Context } from 'hono';

/** Tells the Node adaptor that the answer was written past it. */
const alreadySent = 'x-hono-already-sent';

/** Writes the answer straight to the connection: a web response would cost more than most requests here do. */
export function answerText(
  context: Context<AppEnv>,
  text: string,
  headers: Readonly<Record<string, string>>,
): Response {
  // Made first, as it holds what middleware has set so far.
  const response = context.body(null, 200, { [alreadySent]: 'true' });
  const { [alreadySent]: _, ...before } = Object.fromEntries(response.headers);
  context.env.outgoing.writeHead(200, {
    ...context.get('standardHeaders'),
    ...before,
    ...headers,
    'content-length': Buffer.byteLength(text),
  });
  context.env.outgoing.end(text);
  return response;
}
