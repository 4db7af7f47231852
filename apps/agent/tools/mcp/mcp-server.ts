import { Server } from '@modelcontextprotocol/sdk/server/index.js';
import { WebStandardStreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/webStandardStreamableHttp.js';
import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js';
import { CallToolRequestSchema, ListToolsRequestSchema } from '@modelcontextprotocol/sdk/types.js';
import type { RunningTool, Tool } from '@trunkline/llm';
import { z } from 'zod';

export interface McpHandlerOptions {
  name: string;
  version: string;
  /** Asked with each request, so that a change of the configuration counts at once. Tools that wait for a person are left out. */
  tools: () => readonly Tool[];
}

/** Serves the agent's tools to MCP clients over streamable HTTP; each request stands for itself. */
export function createMcpHandler(options: McpHandlerOptions): (request: Request) => Promise<Response> {
  return async (request) => {
    const server = serverFor(options);
    const transport = new WebStandardStreamableHTTPServerTransport({ enableJsonResponse: true });
    await server.connect(transport as Transport);
    try {
      return await transport.handleRequest(request);
    } finally {
      await server.close();
    }
  };
}

function serverFor({ name, version, tools }: McpHandlerOptions): Server {
  const server = new Server({ name, version }, { capabilities: { tools: {} } });
  const running = () => tools().filter((tool): tool is RunningTool => tool.execute !== undefined);
  server.setRequestHandler(ListToolsRequestSchema, () => ({ tools: running().map(describe) }));
  server.setRequestHandler(CallToolRequestSchema, async ({ params }, { signal, requestId }) => {
    const tool = running().find((each) => each.name === params.name);
    const text =
      tool === undefined
        ? `Error: there is no tool ${params.name}.`
        : await run(tool, params.arguments ?? {}, signal, String(requestId));
    return { content: [{ type: 'text', text }], isError: /^Error:/.test(text) };
  });
  return server;
}

function describe({ name, description, input }: RunningTool) {
  const { $schema: _named, ...inputSchema } = z.toJSONSchema(input, { io: 'input', unrepresentable: 'any' });
  return { name, description, inputSchema: { ...inputSchema, type: 'object' as const } };
}

async function run(
  tool: RunningTool,
  input: unknown,
  signal: AbortSignal,
  toolCallId: string,
): Promise<string> {
  const parsed = await tool.input.safeParseAsync(input);
  if (!parsed.success) return `Error: the arguments do not fit: ${z.prettifyError(parsed.error)}`;
  try {
    return await tool.execute(parsed.data, { signal, sessionId: 'mcp', toolCallId });
  } catch (error) {
    return `Error: ${error instanceof Error ? error.message : String(error)}`;
  }
}
