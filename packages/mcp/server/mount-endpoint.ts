import { type AppEnv, describeRoute } from '@trunkline/http';
import type { ToolContext } from '@trunkline/llm';
import type { Hono } from 'hono';
import type { z } from 'zod';
import type { McpEndpoint } from './endpoint.ts';

export interface ServedToolContext extends ToolContext {
  /** Reports progress to a client that asked for it; `step` only grows. */
  progress(step: number, message: string): Promise<void>;
}

export interface ServedResult {
  text: string;
  failed?: boolean;
  meta?: Record<string, unknown>;
}

/** A tool for MCP clients. Every running tool of an agent is one; a failure starts with `Error:`. */
export interface ServedTool<Input = unknown> {
  name: string;
  description: string;
  input: z.ZodType<Input>;
  readOnly?: boolean;
  /** It deals with things beyond this service, such as the web. */
  openWorld?: boolean;
  timeoutMs?: number;
  /** A call goes on when its client's connection breaks, for the result can be found elsewhere. */
  survivesDisconnect?: boolean;
  execute(input: Input, context: ServedToolContext): Promise<string | ServedResult>;
}

export type McpToolEvent =
  | { type: 'tool-start'; toolCallId: string; name: string; input: unknown }
  | {
      type: 'tool-end';
      toolCallId: string;
      name: string;
      result: string;
      failed: boolean;
      durationMs: number;
    };

export interface McpEndpointOptions {
  name: string;
  version: string;
  instructions?: string;
  /** Asked with each request, so that a change of the configuration counts at once. */
  tools: () => readonly ServedTool[];
  /** Limit of a call, unless the tool has its own. */
  toolTimeoutMs: () => number;
  /** Whose memories tools read and write. */
  scope?: string;
  onToolEvent?: (event: McpToolEvent) => void;
}

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
