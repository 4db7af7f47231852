export type { McpPrompt } from './client/catalogue.ts';
export { probeMcpServer } from './client/connect.ts';
export type { McpContent } from './client/content.ts';
export { McpClient } from './client/mcp-client.ts';
export { McpClients, type McpClientsOptions, type McpServerState } from './client/mcp-clients.ts';
export type { OAuthOptions } from './client/oauth.ts';
export { createSampler } from './client/sampler.ts';
export { askingAtOnce, toTools } from './client/tools.ts';
export type { McpServerConfig, McpServerError, McpTool } from './client/types.ts';
export { defineServedTool, mountMcpEndpoint } from './server/mount-endpoint.ts';
export type {
  McpEndpointOptions,
  McpToolEvent,
  ServedQuestion,
  ServedResources,
  ServedResult,
  ServedTool,
  ServedToolContext,
} from './server/served.ts';
