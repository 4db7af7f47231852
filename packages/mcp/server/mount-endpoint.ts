import { type AppEnv, describeRoute } from '@trunkline/http';
import type { Hono } from 'hono';
import type { McpEndpoint, McpEndpointOptions, ServedTool } from './endpoint.ts';

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
  app.all('/mcp', describeRoute({ summary: options.summary }), async (context) => {
    options.assertEnabled?.();
    return (await endpoint()).handle(context.req.raw, context.get('principal'));
  });
  return async () => (await loading)?.close();
}

/** Declares a tool so that the type of its input follows from its schema. */
export function defineServedTool<Input>(tool: ServedTool<Input>): ServedTool {
  return tool as ServedTool;
}
