import { type AppEnv, describeRoute, validate } from '@trunkline/http';
import type { Hono } from 'hono';
import type { z } from 'zod';
import { mcpServerSection } from '../setup/config-schema.ts';
import type { createMcpHandler, McpHandlerOptions } from '../tools/mcp/mcp-server.ts';
import type { McpServerState } from '../tools/mcp/mcp-source.ts';
import { consoleErrors } from './console/errors.ts';

export interface McpRoutes extends McpHandlerOptions {
  /** Whether the agent's tools are offered to MCP clients. */
  isServing(): boolean;
  servers(): readonly McpServerState[];
  /** Connects to a server to see whether it answers, and leaves it again. */
  tryServer(server: z.output<typeof mcpServerSection>): Promise<McpServerState | undefined>;
}

/** The agent's tools for MCP clients, and the servers that it takes tools from. */
export function mountMcp(app: Hono<AppEnv>, routes: McpRoutes): void {
  const handle = lazyHandler(routes);
  app.all('/mcp', describeRoute({ summary: 'The tools of the agent for MCP clients' }), (context) => {
    if (!routes.isServing()) throw consoleErrors.not_loaded({ what: 'The MCP server (mcp.serve)' });
    return handle(context.req.raw, context.get('principal'));
  });
  app.get('/api/mcp/servers', describeRoute({ summary: 'MCP servers that give tools' }), (context) =>
    context.json({ servers: routes.servers() }),
  );
  app.post(
    '/api/mcp/servers/test',
    describeRoute({ summary: 'See whether an MCP server answers' }),
    validate('json', mcpServerSection),
    async (context) => context.json({ server: await routes.tryServer(context.req.valid('json')) }),
  );
}

/** The protocol's library is heavy: it is loaded with the first client. */
function lazyHandler(options: McpHandlerOptions): ReturnType<typeof createMcpHandler> {
  let loading: Promise<ReturnType<typeof createMcpHandler>> | undefined;
  return async (request, principal) => {
    loading ??= import('../tools/mcp/mcp-server.ts').then((module) => module.createMcpHandler(options));
    return (await loading)(request, principal);
  };
}
