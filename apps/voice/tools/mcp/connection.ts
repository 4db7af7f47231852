import { createMCPClient } from '@ai-sdk/mcp';
import { defineTool, type Tool } from '@trunkline/llm';
import { z } from 'zod';
import type { McpServer } from './schema.ts';

type Client = Awaited<ReturnType<typeof createMCPClient>>;
type Definition = Awaited<ReturnType<Client['listTools']>>['tools'][number];

/** An open line to an MCP server, with the tools it offers. */
export interface McpConnection {
  tools: readonly Tool[];
  close(): Promise<void>;
}

const connectMs = 10_000;
const callMs = 60_000;

export async function connectMcp(
  server: McpServer,
  onError: (error: unknown) => void,
  stopping: AbortSignal,
): Promise<McpConnection> {
  const limit = () => AbortSignal.any([AbortSignal.timeout(connectMs), stopping]);
  const client = await createMCPClient({
    transport: await transportOf(server),
    initializationOptions: { signal: limit() },
    onUncaughtError: onError,
    clientName: 'trunkline-voice',
  });
  try {
    const { tools } = await client.listTools({ options: { signal: limit() } });
    return { tools: tools.map((tool) => toolOf(client, server.name, tool)), close: () => client.close() };
  } catch (error) {
    await client.close();
    throw error;
  }
}

async function transportOf(server: McpServer) {
  if (server.transport !== 'stdio') {
    const { transport: type, url, headers } = server;
    return { type, url, ...(headers && { headers }) };
  }
  const { StdioMCPTransport } = await import('@ai-sdk/mcp/mcp-stdio');
  const { command, args, env } = server;
  return new StdioMCPTransport({ command, stderr: 'ignore', ...(args && { args }), ...(env && { env }) });
}

/** Named after its server, as several may offer one of the same name. */
function toolOf(client: Client, server: string, definition: Definition): Tool {
  const { name, description, inputSchema, annotations } = definition;
  return defineTool({
    name: `${server}_${name}`,
    description: description ?? name,
    input: inputOf(inputSchema),
    timeoutMs: callMs,
    readOnly: annotations?.readOnlyHint === true,
    async execute(input, { signal }) {
      const result = await client.callTool({ name, arguments: input, options: { signal } });
      const text = textOf(result.content);
      return result.isError === true && !/^error:/i.test(text) ? `Error: ${text}` : text;
    },
  });
}

const anything = z.record(z.string(), z.unknown());

/** A schema that cannot be turned into a check is left to the server to check. */
function inputOf(schema: Definition['inputSchema']): z.ZodType<Record<string, unknown>> {
  try {
    const parsed = z.fromJSONSchema(schema as Parameters<typeof z.fromJSONSchema>[0]);
    return parsed as z.ZodType<Record<string, unknown>>;
  } catch {
    return anything;
  }
}

function textOf(content: unknown): string {
  if (!Array.isArray(content)) return JSON.stringify(content) ?? '';
  const texts = content.map((part: { type?: unknown; text?: unknown }) =>
    part.type === 'text' && typeof part.text === 'string' ? part.text : `[${String(part.type)}]`,
  );
  return texts.join('\n');
}
