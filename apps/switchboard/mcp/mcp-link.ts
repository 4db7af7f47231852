// Loaded with the first server: the library is among the largest of this service.
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { SSEClientTransport, SseError } from '@modelcontextprotocol/sdk/client/sse.js';
import { getDefaultEnvironment, StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import {
  StreamableHTTPClientTransport,
  StreamableHTTPError,
} from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js';
import { ErrorCode, McpError } from '@modelcontextprotocol/sdk/types.js';
import type { McpServer } from '../workspace/schema/mcp-server.ts';
import { isOffered } from './trust.ts';

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
  /** Whether a failed call was answered by the server, which then is still there. */
  isAnswer(error: unknown): boolean;
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
      isAnswer,
      async close() {
        client.onclose = () => undefined;
        await client.close();
      },
    };
  } catch (error) {
    await client.close();
    throw inWords(error, server);
  }
}

/** A server on the web answers with a status, which the library puts into a field and not into its words. */
function inWords(error: unknown, server: McpServer): unknown {
  if (!(error instanceof StreamableHTTPError || error instanceof SseError) || server.transport === 'stdio')
    return error;
  const refused = error.code === 401 || error.code === 403;
  const advice = refused
    ? `set its key under headers in mcp-servers.d/${server.name}.yaml`
    : `see whether ${server.url} is its address for the transport ${server.transport}`;
  return new Error(`The server answered ${error.code}: ${advice}.`, { cause: error });
}

function transportOf(server: McpServer): Transport {
  if (server.transport === 'stdio') {
    const { command, args, env } = server;
    const environment = { ...getDefaultEnvironment(), ...env };
    return new StdioClientTransport({ command, args, env: environment, stderr: 'ignore' });
  }
  const url = new URL(server.url);
  const requestInit = { headers: server.headers };
  if (server.transport === 'sse') return new SSEClientTransport(url, { requestInit }) as Transport;
  return new StreamableHTTPClientTransport(url, { requestInit }) as Transport;
}

function isAnswer(error: unknown): boolean {
  return (
    error instanceof McpError &&
    error.code !== ErrorCode.ConnectionClosed &&
    error.code !== ErrorCode.RequestTimeout
  );
}

function textOf(content: unknown): string {
  if (!Array.isArray(content)) return '';
  return content
    .map((part: { text?: string; type?: string }) => part.text ?? `[${part.type ?? 'part'}]`)
    .join('\n');
}
