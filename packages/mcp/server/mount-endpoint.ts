import { type AppEnv, describeRoute } from '@trunkline/http';
import type { Context, Hono } from 'hono';
import { z } from 'zod';
import type { McpEndpoint } from './endpoint.ts';
import type { McpEndpointOptions, ServedTool } from './served.ts';

const rpcBody = z.object({
  jsonrpc: z.literal('2.0'),
  id: z.union([z.string(), z.number()]).optional(),
  method: z.string().describe('initialize, tools/list, tools/call and the others'),
  params: z.looseObject({}).optional(),
});

export interface McpRouteOptions extends McpEndpointOptions {
  summary: string;
  /** Throws if the endpoint is switched off. */
  assertEnabled?: () => void;
}

/** Serves tools at `/mcp` over streamable HTTP; returns what ends the sessions. */
export function mountMcpEndpoint(app: Hono<AppEnv>, options: McpRouteOptions): () => Promise<void> {
  let loading: Promise<McpEndpoint> | undefined;
  // The SDK is large: it is loaded with the first client.
  const endpoint = () => {
    loading ??= import('./endpoint.ts').then((module) => new module.McpEndpoint(options));
    return loading;
  };
  const handle = async (context: Context<AppEnv>) => {
    options.assertEnabled?.();
    const response = await (await endpoint()).handle(context.req.raw, context.get('principal'));
    if (response.headers.get('content-type')?.startsWith('text/event-stream')) endWithAccess(context);
    return response;
  };
  const { summary } = options;
  const headers = { 'Mcp-Session-Id': 'The session, as the answer to initialize named it.' };
  app.post('/mcp', describeRoute({ summary, headers, body: rpcBody }), handle);
  const stream = { summary: `${summary}: what the server sends by itself`, mediaType: 'text/event-stream' };
  app.get('/mcp', describeRoute({ ...stream, headers }), handle);
  app.delete('/mcp', describeRoute({ summary: `${summary}: end the session`, headers, status: 204 }), handle);
  // Other methods: the protocol names its own refusal.
  app.all('/mcp', handle);
  return async () => (await loading)?.close();
}

/**
 * A stream stays open for hours: it ends when its caller loses access, and when the service stops. One that answers a call
 * has the time then that requests under way have.
 */
function endWithAccess(context: Context<AppEnv>): void {
  const { outgoing, streams } = context.env ?? {};
  if (outgoing === undefined || streams === undefined) return;
  // The client has left: there will be no other `close` to forget the stream at.
  if (outgoing.destroyed) return;
  const stream = { end: () => outgoing.destroy() };
  const stillStands = context.get('stillStands');
  const isAnswer = context.req.method === 'POST';
  const forget = isAnswer ? streams.wait(stream, stillStands) : streams.add(stream, stillStands);
  outgoing.once('close', forget);
}

/** Declares a tool so that the type of its input follows from its schema. */
export function defineServedTool<Input>(tool: ServedTool<Input>): ServedTool {
  return tool as ServedTool;
}
