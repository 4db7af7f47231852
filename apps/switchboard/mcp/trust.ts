import type { McpServer } from '../workspace/schema/mcp-server.ts';

/** What of a community comes in only when the operator says so; what is trusted unless the operator says no. */
export function isEnabled({ trust, enabled }: McpServer): boolean {
  return enabled ?? trust !== 'community';
}

/** Agents have the tools of servers that name them (or `*`) under grants; those of built-in servers without grants all have. */
export function isGranted({ trust, grants }: McpServer, agent: string): boolean {
  if (grants === undefined) return trust === 'builtin';
  return grants.includes(agent) || grants.includes('*');
}

/** Which of its tools the entry of a server lets through. */
export function isOffered({ allowedTools, excludeTools = [] }: McpServer, tool: string): boolean {
  return (allowedTools === undefined || allowedTools.includes(tool)) && !excludeTools.includes(tool);
}
