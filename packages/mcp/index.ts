export { McpClient, type McpClientOptions, probeMcpServer } from './client/mcp-client.ts';
export { McpClients, type McpClientsOptions, type McpServerState, toTools } from './client/mcp-clients.ts';
export type { McpCallResult, McpServerConfig, McpServerError, McpTool } from './client/session.ts';
export {
  defineServedTool,
  type McpEndpointOptions,
  type McpToolEvent,
  mountMcpEndpoint,
  type ServedResult,
  type ServedTool,
  type ServedToolContext,
} from './server/mount-endpoint.ts';
