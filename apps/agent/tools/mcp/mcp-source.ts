import { isDeepStrictEqual } from 'node:util';
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

interface Opened {
  server: McpServerConfig;
  connection: McpConnection;
  tools: Tool[];
  state: McpServerState;
}

export interface McpSources {
  tools: Tool[];
  states: McpServerState[];
  opened: readonly Opened[];
  /** Asks those that did not answer no more. */
  stopTrying(): void;
  close(): Promise<void>;
}

export interface McpSourceOptions {
  logger: Log;
  /** Those so far: a server whose settings are the same keeps its connection, and with it the calls under way. */
  before?: McpSources | undefined;
  /** Told when a server answers that did not; without it none is tried again. */
  onAnswer?: () => void;
}

type Log = { warn(fields: object, message: string): void };

const LONGEST_NAME = 64;
const FIRST_RETRY_MS = 1000;
const LONGEST_RETRY_MS = 300_000;

/** Connects to all servers at once. One that does not answer is named, left out and tried again; the others are there all the same. */
export async function openMcpSources(
  servers: readonly McpServerConfig[],
  { logger, before, onAnswer }: McpSourceOptions,
): Promise<McpSources> {
  before?.stopTrying();
  const kept = new Map(servers.map((server) => [server, before?.opened.find(isOf(server))?.connection]));
  const gone = before?.opened.filter(({ connection }) => ![...kept.values()].includes(connection)) ?? [];
  await Promise.all(gone.map(({ connection }) => connection.close()));
  const opened = await Promise.all(servers.map((server) => openOne(server, kept.get(server), logger)));
  const failed = opened.filter(({ state }) => state.state === 'failed');
  const retries = onAnswer ? failed.map(({ connection }) => tryAgain(connection, onAnswer)) : [];
  const stopTrying = () => {
    for (const stop of retries) stop();
  };
  return {
    tools: opened.flatMap(({ tools }) => tools),
    states: opened.map(({ state }) => state),
    opened,
    stopTrying,
    async close() {
      stopTrying();
      await Promise.all(opened.map(({ connection }) => connection.close()));
    },
  };
}

function isOf(server: McpServerConfig): (opened: Opened) => boolean {
  return (opened) => isDeepStrictEqual(opened.server, server);
}

async function openOne(
  server: McpServerConfig,
  kept: McpConnection | undefined,
  logger: Log,
): Promise<Opened> {
  const connection = kept ?? (await newConnection(server));
  try {
    const heads = await connection.tools();
    const tools = heads.map((head) => toTool(server, head, connection));
    const names = tools.map(({ name }) => name);
    return { server, connection, tools, state: { name: server.name, state: 'connected', tools: names } };
  } catch (error) {
    logger.warn({ err: error, server: server.name }, 'an MCP server cannot be used');
    const state: McpServerState = { name: server.name, state: 'failed', tools: [], reason: messageOf(error) };
    return { server, connection, tools: [], state };
  }
}

/** The protocol's library is heavy: an agent with no MCP server never loads it. */
async function newConnection(server: McpServerConfig): Promise<McpConnection> {
  const module = await import('./mcp-connection.ts');
  return new module.McpConnection(server);
}

/** Asks a server, less and less often, until it answers or is no longer wanted. */
function tryAgain(connection: McpConnection, onAnswer: () => void): () => void {
  let timer: NodeJS.Timeout | undefined;
  let stopped = false;
  const wait = (delayMs: number) => {
    timer = setTimeout(() => void ask(delayMs), delayMs).unref();
  };
  const ask = async (delayMs: number) => {
    const answers = await connection.tools().then(
      () => true,
      () => false,
    );
    if (stopped) return;
    if (answers) onAnswer();
    else wait(Math.min(delayMs * 2, LONGEST_RETRY_MS));
  };
  wait(FIRST_RETRY_MS);
  return () => {
    stopped = true;
    clearTimeout(timer);
  };
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
