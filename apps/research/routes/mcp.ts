import { type AppEnv, describeRoute } from '@trunkline/http';
import type { Hono } from 'hono';
import type { McpDeps } from '../interfaces/mcp-server.ts';
import type { McpSessions } from '../interfaces/mcp-sessions.ts';

/** The MCP server at `/mcp`; gives what ends its sessions. */
export function mountMcp(app: Hono<AppEnv>, deps: McpDeps): () => Promise<void> {
  let loading: Promise<McpSessions> | undefined;
  // The protocol's library is heavy: it is loaded with the first client.
  const sessions = () => {
    loading ??= import('../interfaces/mcp-sessions.ts').then(({ McpSessions }) => new McpSessions(deps));
    return loading;
  };
  app.all(
    '/mcp',
    describeRoute({ summary: 'The tools search and deep_research for MCP clients (streamable HTTP)' }),
    async (c) => (await sessions()).handle(c.req.raw),
  );
  return async () => (await loading)?.close();
}
