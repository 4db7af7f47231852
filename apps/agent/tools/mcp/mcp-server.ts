import { Server } from '@modelcontextprotocol/sdk/server/index.js';
import { WebStandardStreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/webStandardStreamableHttp.js';
import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js';
import { CallToolRequestSchema, ListToolsRequestSchema } from '@modelcontextprotocol/sdk/types.js';
import type { Principal } from '@trunkline/identity';
import type { RunningTool, Tool } from '@trunkline/llm';
import type { TurnEvent } from '@trunkline/loop';
import { z } from 'zod';
import { withoutQuestions } from '../../turns/human-tools.ts';
import { operatorScope } from '../../turns/memory-scope.ts';

export interface McpHandlerOptions {
  name: string;
  version: string;
  /** Asked with each request, so that a change of the configuration counts at once. Tools that wait for a person are left out. */
  tools: () => readonly Tool[];
  /** Time of one call, unless the tool has a limit of its own. */
  toolTimeoutMs: () => number;
  /** Told of each call, as of those of turns. */
  observe(sessionId: string, event: TurnEvent): void;
}

/** All calls of MCP clients show under this name. */
const SESSION = 'mcp';

/** Serves the agent's tools to MCP clients over streamable HTTP; each request stands for itself. */
export function createMcpHandler(
  options: McpHandlerOptions,
): (request: Request, principal: Principal) => Promise<Response> {
  return async (request, principal) => {
    const server = serverFor(options, principal, request.signal);
    const transport = new WebStandardStreamableHTTPServerTransport({ enableJsonResponse: true });
    await server.connect(transport as Transport);
    try {
      return await transport.handleRequest(request);
    } finally {
      await server.close();
    }
  };
}

function serverFor(options: McpHandlerOptions, principal: Principal, left: AbortSignal): Server {
  const { name, version, tools } = options;
  const server = new Server({ name, version }, { capabilities: { tools: {} } });
  const running = () => withoutQuestions(tools());
  server.setRequestHandler(ListToolsRequestSchema, () => ({ tools: running().map(describe) }));
  server.setRequestHandler(CallToolRequestSchema, async ({ params }, { signal }) => {
    const tool = running().find((each) => each.name === params.name);
    const text =
      tool === undefined
        ? `Error: there is no tool ${params.name}.`
        : await told(
            tool,
            params.arguments ?? {},
            { principal, signal: AbortSignal.any([signal, left]) },
            options,
          );
    return { content: [{ type: 'text', text }], isError: isFailure(text) };
  });
  return server;
}

function describe({ name, description, input }: RunningTool) {
  const { $schema: _named, ...inputSchema } = z.toJSONSchema(input, { io: 'input', unrepresentable: 'any' });
  return { name, description, inputSchema: { ...inputSchema, type: 'object' as const } };
}

/** Runs a call with its beginning and its end told. */
async function told(
  tool: RunningTool,
  input: unknown,
  caller: Pick<Run, 'principal' | 'signal'>,
  { observe, toolTimeoutMs }: McpHandlerOptions,
): Promise<string> {
  const { name } = tool;
  const toolCallId = crypto.randomUUID();
  const start = performance.now();
  observe(SESSION, { type: 'tool-start', toolCallId, name, input });
  const result = await run(tool, input, {
    ...caller,
    toolCallId,
    limitMs: tool.timeoutMs ?? toolTimeoutMs(),
  });
  const durationMs = Math.round(performance.now() - start);
  observe(SESSION, { type: 'tool-end', toolCallId, name, result, failed: isFailure(result), durationMs });
  return result;
}

interface Run {
  principal: Principal;
  signal: AbortSignal;
  toolCallId: string;
  limitMs: number;
}

/** Runs a call until it is done, its time is up or its client has left; whatever happens, the result is a text. */
async function run(
  tool: RunningTool,
  input: unknown,
  { principal, signal, toolCallId, limitMs }: Run,
): Promise<string> {
  const parsed = await tool.input.safeParseAsync(input);
  if (!parsed.success) return `Error: the arguments do not fit: ${z.prettifyError(parsed.error)}`;
  const limit = AbortSignal.timeout(limitMs);
  const ended = AbortSignal.any([signal, limit]);
  const stopped = new Promise<never>((_, reject) => {
    ended.addEventListener('abort', () => reject(ended.reason), { once: true });
    if (ended.aborted) reject(ended.reason);
  });
  try {
    // Only the operator gets here.
    const context = { signal: ended, sessionId: SESSION, toolCallId, principal, scope: operatorScope };
    const work = tool.execute(parsed.data, context);
    return await Promise.race([work, stopped]);
  } catch (error) {
    if (limit.aborted) return `Error: ${tool.name} took longer than ${limitMs / 1000} s and was stopped.`;
    return `Error: ${error instanceof Error ? error.message : String(error)}`;
  }
}

function isFailure(text: string): boolean {
  return text.startsWith('Error:');
}
