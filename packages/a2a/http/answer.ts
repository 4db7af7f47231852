import type { AppEnv } from '@trunkline/http';
import type { Context } from 'hono';

/** Writes the answer straight to the connection: a web response would cost more than most requests here do. */
export function answerText(context: Context<AppEnv>, text: string, contentType: string): Response {
  const { outgoing } = context.env;
  outgoing.writeHead(200, {
    ...context.var.standardHeaders,
    ...Object.fromEntries(context.res.headers),
    'content-type': contentType,
    'content-length': Buffer.byteLength(text),
  });
  outgoing.end(text);
  return new Response(null, { headers: { 'x-hono-already-sent': 'true' } });
}
