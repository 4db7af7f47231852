import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { SSEClientTransport } from '@modelcontextprotocol/sdk/client/sse.js';
import { getDefaultEnvironment, StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js';
import type { McpServer } from '../workspace/schema/mcp-server.ts';

export interface McpTool {
  name: string;
  description: string;
  inputSchema: object;
}

/** What a trial gives a server to answer. */
const trialMs = 8000;

export interface LinkOptions {
  /** Tells that the server went away. */
  onLost?: () => void;
  /** How long each of connecting and listing may take. */
  timeoutMs?: number;
}

/** A connection to one MCP server. */
export interface McpLink {
  tools: readonly McpTool[];
  call(
    tool: string,
    input: Record<string, unknown>,
    signal: AbortSignal,
  ): Promise<{ text: string; failed: boolean }>;
  close(): Promise<void>;
}

/** Connects and lists the tools that the entry lets through. */
export async function openMcpLink(
  server: McpServer,
  { onLost, timeoutMs: timeout = trialMs }: LinkOptions = {},
): Promise<McpLink> {
  const client = new Client({ name: 'switchboard', version: '0.1.0' });
  try {
    await client.connect(transportOf(server), { timeout });
    const { tools } = await client.listTools({}, { timeout });
    client.onclose = () => onLost?.();
    return {
      tools: tools
        .filter(({ name }) => isOffered(server, name))
        .map(({ name, description = '', inputSchema }) => ({ name, description, inputSchema })),
      async call(name, input, signal) {
        const result = await client.callTool({ name, arguments: input }, undefined, { signal });
        return { text: textOf(result.content), failed: result.isError === true };
      },
      async close() {
        client.onclose = () => undefined;
        await client.close();
      },
    };
  } catch (error) {
    await client.close();
    throw error;
  }
}

function transportOf(server: McpServer): Transport {
  if (server.transport === 'sse') return new SSEClientTransport(new URL(server.url)) as Transport;
  const { command, args, env } = server;
  return new StdioClientTransport({
    command,
    args,
    env: { ...getDefaultEnvironment(), ...env },
    stderr: 'ignore',
  });
}

function isOffered({ allowedTools, excludeTools = [] }: McpServer, tool: string): boolean {
  return (allowedTools === undefined || allowedTools.includes(tool)) && !excludeTools.includes(tool);
}

function textOf(content: unknown): string {
  if (!Array.isArray(content)) return '';
  return content
    .map((part: { text?: string; type?: string }) => part.text ?? `[${part.type ?? 'part'}]`)
    .join('\n');
}
