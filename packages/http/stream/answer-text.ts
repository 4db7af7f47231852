import { RESPONSE_ALREADY_SENT } from '@hono/node-server/utils/response';
import type { RequestContext } from '../app/context.ts';

/** Writes the answer straight to the connection: a web response costs more than most requests do. */
export function answerText(
  context: RequestContext,
  text: string,
  headers: Readonly<Record<string, string>>,
): Response {
  const { outgoing } = context.env;
  const length = Buffer.byteLength(text);
  outgoing.writeHead(200, { ...context.get('standardHeaders'), ...headers, 'content-length': length });
  outgoing.end(text);
  return RESPONSE_ALREADY_SENT;
}
