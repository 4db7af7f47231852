export { McpClient, type McpClientOptions, probeMcpServer } from './client/mcp-client.ts';
export { McpClients, type McpClientsOptions, type McpServerState, toTools } from './client/mcp-clients.ts';
export type { McpCallResult, McpServerConfig, McpServerError, McpTool } from './client/session.ts';
export type {
  McpEndpointOptions,
  McpToolEvent,
  ServedResult,
  ServedTool,
  ServedToolContext,
} from './server/endpoint.ts';
export { defineServedTool, mountMcpEndpoint } from './server/mount-endpoint.ts';
