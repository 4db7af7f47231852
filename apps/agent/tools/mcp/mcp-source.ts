import { defineTool, type Tool } from '@trunkline/llm';
import { inputOfJsonSchema } from '@trunkline/tools';
import type { McpConnection, McpServerConfig, McpToolHead } from './mcp-connection.ts';

export interface McpServerState {
  name: string;
  state: 'connected' | 'failed';
  tools: string[];
  /** Why it failed. */
  reason?: string;
}

export interface McpSources {
  tools: Tool[];
  states: McpServerState[];
  close(): Promise<void>;
}

type Log = { warn(fields: object, message: string): void };

const LONGEST_NAME = 64;

/** Connects to all servers at once. One that does not answer is named and left out; the others are there all the same. */
export async function openMcpSources(servers: readonly McpServerConfig[], logger: Log): Promise<McpSources> {
  const opened = await Promise.all(servers.map((server) => openOne(server, logger)));
  return {
    tools: opened.flatMap(({ tools }) => tools),
    states: opened.map(({ state }) => state),
    async close() {
      await Promise.all(opened.map(({ connection }) => connection.close()));
    },
  };
}

async function openOne(server: McpServerConfig, logger: Log) {
  // The protocol's library is heavy: an agent with no MCP server never loads it.
  const { McpConnection } = await import('./mcp-connection.ts');
  const connection = new McpConnection(server);
  try {
    const heads = await connection.tools();
    const tools = heads.map((head) => toTool(server, head, connection));
    const state: McpServerState = {
      name: server.name,
      state: 'connected',
      tools: tools.map(({ name }) => name),
    };
    return { connection, tools, state };
  } catch (error) {
    logger.warn({ err: error, server: server.name }, 'an MCP server cannot be used');
    const state: McpServerState = { name: server.name, state: 'failed', tools: [], reason: messageOf(error) };
    return { connection, tools: [], state };
  }
}

function toTool(server: McpServerConfig, head: McpToolHead, connection: McpConnection): Tool {
  return defineTool({
    name: `${server.name}_${head.name}`.replace(/[^A-Za-z0-9_-]/g, '_').slice(0, LONGEST_NAME),
    description: head.description ?? `${head.name} of ${server.name}`,
    input: inputOfJsonSchema(head.inputSchema),
    timeoutMs: (server.timeout_s ?? 60) * 1000 + 20_000,
    async execute(input, { signal }) {
      try {
        const { text, failed } = await connection.call(head.name, input, signal);
        return failed ? failure(text) : text || '(no output)';
      } catch (error) {
        if (signal.aborted) throw error;
        return `Error: the MCP server ${server.name} gave no answer: ${messageOf(error)}`;
      }
    },
  });
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

function failure(text: string): string {
  if (text.startsWith('Error:')) return text;
  return `Error: ${text || 'the tool failed without saying why'}`;
}
