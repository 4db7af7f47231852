// Loaded with the first server: the SDK is among the largest libraries of a service.
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { SSEClientTransport, SseError } from '@modelcontextprotocol/sdk/client/sse.js';
import { getDefaultEnvironment, StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import {
  StreamableHTTPClientTransport,
  StreamableHTTPError,
} from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js';
import {
  ErrorCode,
  ListToolsResultSchema,
  McpError,
  ToolListChangedNotificationSchema,
} from '@modelcontextprotocol/sdk/types.js';
import { redact } from '@trunkline/config';
import type { Sandbox, SandboxSettings } from '@trunkline/sandbox';
import { errorMessage, untilAborted } from '@trunkline/std';
import { ProcessTransport } from './process-transport.ts';

/** An MCP server: a program that speaks over its standard streams, or an address. */
export interface McpServerConfig {
  name: string;
  /** Without it: `stdio` for a command, `http` (streamable HTTP) for a url. */
  transport?: 'stdio' | 'http' | 'sse' | undefined;
  command?: string | undefined;
  args?: readonly string[] | undefined;
  /** All that the program gets of the environment beside HOME, PATH and the like. */
  env?: Readonly<Record<string, string>> | undefined;
  /** What its program may reach; by default the network, and no files but its own and the system's. */
  sandbox?: SandboxSettings | undefined;
  url?: string | undefined;
  headers?: Readonly<Record<string, string>> | undefined;
  /** Limit of one tool call. */
  timeoutMs?: number | undefined;
  /** The operator believes what the server says of its tools: which only read, and which stay within it. */
  trusted?: boolean | undefined;
}

export interface McpTool {
  name: string;
  description: string;
  inputSchema: object;
  readOnly?: boolean;
  destructive?: boolean;
  /** False: its results come from the server itself, not from the world. */
  openWorld?: boolean;
}

export interface McpCallResult {
  text: string;
  failed: boolean;
}

/** Where programs of servers run. */
export interface ProgramOptions {
  /** Without it programs run as the service does. */
  sandbox?: Sandbox | undefined;
  /** Folders that programs may change. */
  writable?: readonly string[] | undefined;
}

export interface SessionOptions extends ProgramOptions {
  clientName: string;
  /** The file or section that configures the server; error texts name it. */
  configuredIn: string;
  /** Ends connecting. */
  signal: AbortSignal;
  onLost?: (reason: Error) => void;
  onToolsChanged?: () => void;
}

/** One initialized connection to a server. */
export interface McpSession {
  listTools(signal: AbortSignal): Promise<McpTool[]>;
  call(
    tool: string,
    input: Record<string, unknown>,
    options: { signal: AbortSignal; timeout: number },
  ): Promise<McpCallResult>;
  /** Rejects if the server does not answer at all. */
  ping(timeout: number): Promise<void>;
  close(): Promise<void>;
}

/** The reason for whoever may know that the server exists; `stderr` is for the operator. Neither has secrets of the configuration. */
export interface McpServerError extends Error {
  stderr?: string;
}

/** `answered`: the server is there. `forgotten`: it lost the session before it did anything. */
export type CallFailure = 'answered' | 'timed-out' | 'forgotten' | 'lost';

const MAX_TOOLS = 1000;
const MAX_PAGES = 100;
const MAX_STDERR = 4000;
const MAX_ERROR = 2000;
const MAX_DESCRIPTION = 8000;
const MAX_RESULT = 200_000;
const END_SESSION_MS = 1000;
/** How programs complain about files that the sandbox does not show or does not let them change. */
const MISSING_FILE =
  /ENOENT|EROFS|EACCES|No such file|not found|Read-only file system|Permission denied|Cannot find module/i;
/** The session has limits of its own; the SDK's default of 60 s must not undercut them. */
const NO_TIMEOUT = 2 ** 31 - 1;

export async function openSession(server: McpServerConfig, options: SessionOptions): Promise<McpSession> {
  const { clientName, signal } = options;
  const client = new Client({ name: clientName, version: '0.1.0' });
  const { configuredIn } = options;
  const transport = transportOf(server, options);
  const stderr = stderrOf(transport, configuredIn);
  const explain = (error: unknown) => explained(error, { server, stderr, configuredIn });
  try {
    await untilAborted(client.connect(transport, { signal, timeout: NO_TIMEOUT }), signal);
  } catch (error) {
    await client.close();
    throw await explain(reasonOf(error, signal));
  }
  let isClosing = false;
  const lose = async (error: unknown) => {
    if (isClosing) return;
    isClosing = true;
    const reason = await explain(error);
    await client.close();
    options.onLost?.(reason);
  };
  client.onclose = () => void lose(new McpError(ErrorCode.ConnectionClosed, 'Connection closed'));
  client.onerror = (error) => isStreamLost(error) && void lose(error);
  client.setNotificationHandler(ToolListChangedNotificationSchema, () => options.onToolsChanged?.());
  return {
    listTools: (until) =>
      untilAborted(listTools(client, until), until).catch(async (error) => {
        throw await explain(reasonOf(error, until));
      }),
    async call(name, input, limits) {
      try {
        const result = await client.callTool({ name, arguments: input }, undefined, limits);
        return { text: plainText(result), failed: result.isError === true };
      } catch (error) {
        if (limits.signal.aborted) throw error;
        throw await explain(error);
      }
    },
    async ping(timeout) {
      await client.ping({ timeout }).catch((error: unknown) => {
        if (failureOf(error) !== 'answered') throw error;
      });
    },
    async close() {
      if (!isClosing) await endSession(transport);
      isClosing = true;
      await client.close();
    },
  };
}

export function failureOf(error: unknown): CallFailure {
  const cause = error instanceof Error && error.cause instanceof Error ? error.cause : error;
  if (cause instanceof McpError) {
    if (cause.code === ErrorCode.RequestTimeout) return 'timed-out';
    return cause.code === ErrorCode.ConnectionClosed ? 'lost' : 'answered';
  }
  if (!(cause instanceof StreamableHTTPError)) return 'lost';
  // Some servers say "not initialized" where the protocol asks for status 404.
  const isForgotten =
    cause.code === 404 || (cause.code === 400 && /session|initialized/i.test(cause.message));
  return isForgotten ? 'forgotten' : 'lost';
}

/** The SDK turns the reason of an abort into an error of its own. */
function reasonOf(error: unknown, signal: AbortSignal): unknown {
  if (!signal.aborted) return error;
  const isLimit = signal.reason instanceof DOMException && signal.reason.name === 'TimeoutError';
  return isLimit ? new Error('The server did not answer in time') : signal.reason;
}

/** The SDK reports only by a message that it gave up on the stream of a streamable HTTP server. */
function isStreamLost(error: Error): boolean {
  return error instanceof SseError || /^Maximum reconnection attempts/.test(error.message);
}

function transportOf(server: McpServerConfig, { sandbox, writable = [] }: ProgramOptions): Transport {
  const { name, command, args = [], env = {}, url, headers = {} } = server;
  const transport = server.transport ?? (command === undefined ? 'http' : 'stdio');
  if (transport === 'stdio' && command !== undefined) {
    // Windows finds programs such as npx.cmd only by the SDK's way of starting them.
    if (sandbox !== undefined && process.platform !== 'win32')
      return new ProcessTransport({ name, command, args, env, sandbox, settings: server.sandbox, writable });
    const environment = { ...getDefaultEnvironment(), ...env };
    return new StdioClientTransport({ command, args: [...args], env: environment, stderr: 'pipe' });
  }
  if (url === undefined) throw new Error(`the MCP server ${name} needs a command or a url.`);
  const options = { requestInit: { headers: { ...headers } } };
  if (transport === 'sse') return new SSEClientTransport(new URL(url), options) as Transport;
  return new StreamableHTTPClientTransport(new URL(url), options) as Transport;
}

/** Lets a streamable HTTP server forget the session. One that does not take part forgets it in its own time. */
async function endSession(transport: Transport): Promise<void> {
  if (!(transport instanceof StreamableHTTPClientTransport)) return;
  await Promise.allSettled([untilAborted(transport.terminateSession(), AbortSignal.timeout(END_SESSION_MS))]);
}

function stderrOf(transport: Transport, configuredIn: string): () => string {
  if (transport instanceof StdioClientTransport) return keepTail(transport);
  if (!(transport instanceof ProcessTransport)) return () => '';
  const tail = keepTail(transport);
  return () => {
    const text = tail();
    if (!transport.isolated || !MISSING_FILE.test(text)) return text;
    return `${text}\n(It runs in a sandbox. What it lacks can be named under sandbox in ${configuredIn}.)`;
  };
}

/** Reads what the program writes to stderr and keeps the end of it. */
function keepTail({ stderr }: Pick<StdioClientTransport, 'stderr'>): () => string {
  let tail = '';
  stderr?.on('data', (chunk: Buffer) => {
    tail = (tail + chunk.toString('utf8')).slice(-MAX_STDERR);
  });
  return () => tail.trim();
}

/** Not `client.listTools`, which keeps the output schemas of the last page only, and refuses a list for one bad schema. */
async function listTools(client: Client, signal: AbortSignal): Promise<McpTool[]> {
  const tools: McpTool[] = [];
  let cursor: string | undefined;
  for (let page = 0; page < MAX_PAGES && tools.length < MAX_TOOLS; page += 1) {
    const request = { method: 'tools/list' as const, params: cursor === undefined ? {} : { cursor } };
    const result = await client.request(request, ListToolsResultSchema, { signal, timeout: NO_TIMEOUT });
    for (const { name, description = '', inputSchema, annotations } of result.tools)
      tools.push({
        name,
        description: description.slice(0, MAX_DESCRIPTION),
        inputSchema,
        ...(annotations?.readOnlyHint === true && { readOnly: true }),
        ...(annotations?.destructiveHint === true && { destructive: true }),
        ...(annotations?.openWorldHint === false && { openWorld: false }),
      });
    cursor = result.nextCursor;
    if (cursor === undefined) break;
  }
  return tools.slice(0, MAX_TOOLS);
}

interface ExplainOptions extends Pick<SessionOptions, 'configuredIn'> {
  server: McpServerConfig;
  stderr: () => string;
}

async function explained(error: unknown, options: ExplainOptions): Promise<McpServerError> {
  // The end of stderr arrives after the end of the process.
  await new Promise((resolve) => setImmediate(resolve));
  const { env = {}, headers = {} } = options.server;
  const values = [...Object.values(env), ...Object.values(headers)];
  const secrets = values.flatMap((value) => [value, value.split(' ').at(-1) ?? value]);
  const hide = (text: string) => String(redact(text, secrets));
  const stderr = hide(options.stderr());
  return Object.assign(
    new Error(hide(explanation(error, options)), { cause: error }),
    stderr !== '' && { stderr },
  );
}

function explanation(error: unknown, { server, configuredIn }: ExplainOptions): string {
  const { command, url, transport = 'http' } = server;
  const message = errorMessage(error).slice(0, MAX_ERROR);
  if ((error instanceof StreamableHTTPError || error instanceof SseError) && error.code !== undefined) {
    const refused = error.code === 401 || error.code === 403;
    const advice = refused
      ? `set its key under headers in ${configuredIn}`
      : `see whether ${url} is its address for the transport ${transport}`;
    return `The server answered ${error.code}: ${advice}.`;
  }
  const { code, cause } = (error ?? {}) as { code?: unknown; cause?: unknown };
  if (code === 'ENOENT') return `Cannot start ${command}: there is no such program. Check ${configuredIn}.`;
  if (cause instanceof Error) return `Cannot reach ${url}: ${message}`;
  return message;
}

interface Content {
  type?: string;
  text?: string;
  mimeType?: string;
  resource?: { text?: string; uri?: string };
}

function plainText({ content, structuredContent }: Record<string, unknown>): string {
  const parts = Array.isArray(content) ? (content as Content[]).map(partText) : [];
  const text = parts.filter((part) => part !== '').join('\n');
  const whole = text === '' && structuredContent !== undefined ? JSON.stringify(structuredContent) : text;
  if (whole.length <= MAX_RESULT) return whole;
  return `${whole.slice(0, MAX_RESULT)}\n[${whole.length - MAX_RESULT} more characters were cut off]`;
}

function partText({ type, text, mimeType, resource }: Content): string {
  if (type === 'text') return text ?? '';
  if (type === 'resource') return resource?.text ?? resource?.uri ?? '';
  return `[${type ?? 'part'}${mimeType === undefined ? '' : ` ${mimeType}`}]`;
}
