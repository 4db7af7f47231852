import { defineErrors, describeRoute, validate } from '@trunkline/http';
import type { Hono } from 'hono';
import type { McpServers } from '../mcp/mcp-client.ts';
import { openMcpLink } from '../mcp/mcp-link.ts';
import { isEnabled } from '../mcp/trust.ts';
import { type McpServer, mcpServerSchema } from '../workspace/schema/mcp-server.ts';
import type { SwitchboardEnv } from './guards.ts';

const errors = defineErrors({
  server_unknown: [404, ({ name }: { name: string }) => `There is no MCP server ${name}.`],
  server_failed: [502, ({ words }: { words: string }) => `The server cannot be used: ${words}`],
});

export interface McpRoutes {
  list: () => readonly McpServer[];
  servers: McpServers;
}

/** The MCP servers of the workspace, and a trial of one that is not there yet; the write API changes them. */
export function mountMcpServers(app: Hono<SwitchboardEnv>, { list, servers }: McpRoutes): void {
  // Values of variables may be secrets: only their names are shown.
  const shown = (server: McpServer) => ({
    ...server,
    ...(server.transport === 'stdio' && { env: Object.keys(server.env) }),
    enabled: isEnabled(server),
    error: servers.errorOf(server.name) ?? null,
  });
  app.get('/api/mcp-servers', describeRoute({ summary: 'The MCP servers' }), (context) =>
    context.json({ success: true, data: list().map(shown) }),
  );
  const one = describeRoute({ summary: 'An MCP server', errors: [errors.server_unknown] });
  app.get('/api/mcp-servers/:name', one, (context) => {
    const name = context.req.param('name');
    const server = list().find((entry) => entry.name === name);
    if (server === undefined) throw errors.server_unknown({ name });
    return context.json({ success: true, data: shown(server) });
  });
  const trial = describeRoute({
    summary: 'Connects to a server and lists its tools',
    errors: [errors.server_failed],
  });
  app.post('/api/mcp-servers/test', trial, validate('json', mcpServerSchema), async (context) => {
    const link = await openMcpLink(context.req.valid('json')).catch((cause: unknown) => {
      throw errors.server_failed(
        { words: cause instanceof Error ? cause.message : String(cause) },
        { cause },
      );
    });
    await link.close();
    const tools = link.tools.map(({ name, description }) => ({ name, description }));
    return context.json({ success: true, data: { tools } });
  });
}
