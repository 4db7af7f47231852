// Loaded with the first server: the SDK is among the largest libraries of a service.
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { SSEClientTransport, SseError } from '@modelcontextprotocol/sdk/client/sse.js';
import { getDefaultEnvironment, StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import {
  StreamableHTTPClientTransport,
  StreamableHTTPError,
} from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import type { RequestOptions } from '@modelcontextprotocol/sdk/shared/protocol.js';
import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js';
import {
  type CallToolResult,
  CallToolResultSchema,
  type ElicitResult,
  ErrorCode,
  McpError,
  PromptListChangedNotificationSchema,
  ToolListChangedNotificationSchema,
} from '@modelcontextprotocol/sdk/types.js';
import { redact } from '@trunkline/config';
import type { Sandbox } from '@trunkline/sandbox';
import { errorMessage, untilAborted } from '@trunkline/std';
import {
  listPrompts,
  listResources,
  listTools,
  type McpPrompt,
  type McpResource,
  NO_TIMEOUT,
  promptContent,
} from './catalogue.ts';
import { contentOf, type McpContent, resourceContent } from './content.ts';
import { failureOf } from './failures.ts';
import { createServerFetch } from './http-fetch.ts';
import type { OAuthSession } from './oauth.ts';
import { ProcessTransport } from './process-transport.ts';
import { type AnswerOptions, type CallOptions, type CallOutcome, RunningCalls } from './running-calls.ts';
import { capabilitiesFor, handleServerRequests, type McpLogEntry, type Sample } from './server-requests.ts';
import type { McpServerConfig, McpServerError, McpTool } from './types.ts';

/** Where programs of servers run. */
export interface ProgramOptions {
  /** Without it programs run as the service does. */
  sandbox?: Sandbox | undefined;
  /** Folders that programs may change. */
  writable?: readonly string[] | undefined;
  /** Given by tests. */
  platform?: NodeJS.Platform | undefined;
}

export interface SessionOptions extends ProgramOptions {
  clientName: string;
  /** The file or section that configures the server; error texts name it. */
  configuredIn: string;
  /** Ends connecting. */
  signal: AbortSignal;
  /** The sign-in at the server, for servers with an address. */
  oauth?: OAuthSession | undefined;
  sample?: Sample | undefined;
  /** When the server used the model through earlier sessions; this one adds to it. */
  sampledAt?: number[];
  onLost?: (reason: Error) => void;
  onToolsChanged?: () => void;
  onPromptsChanged?: () => void;
  onLog?: (entry: McpLogEntry) => void;
  onResourceUpdated?: (uri: string) => void;
}

/** One initialized connection to a server. */
export interface McpSession {
  /** Whether the server has resources to read. */
  readonly hasResources: boolean;
  listTools(signal: AbortSignal): Promise<McpTool[]>;
  listPrompts(signal: AbortSignal): Promise<McpPrompt[]>;
  prompt(name: string, given: Record<string, string>, signal: AbortSignal): Promise<McpContent>;
  listResources(signal: AbortSignal): Promise<McpResource[]>;
  readResource(uri: string, signal: AbortSignal): Promise<McpContent>;
  call(tool: string, input: Record<string, unknown>, options: CallOptions): Promise<CallOutcome>;
  /** Answers the question of a call; undefined if it no longer waits. */
  answer(key: string, answer: ElicitResult, options: AnswerOptions): Promise<CallOutcome | undefined>;
  /** Rejects if the server does not answer at all. */
  ping(timeout: number): Promise<void>;
  close(): Promise<void>;
}

const MAX_STDERR = 4000;
const MAX_ERROR = 2000;
const END_SESSION_MS = 1000;
/** How programs complain about files that the sandbox does not show or does not let them change. */
const MISSING_FILE =
  /ENOENT|EROFS|EACCES|No such file|not found|Read-only file system|Permission denied|Cannot find module/i;

export async function openSession(server: McpServerConfig, options: SessionOptions): Promise<McpSession> {
  const { clientName, signal, configuredIn, sample, sampledAt = [], onLog, onResourceUpdated } = options;
  const calls = new RunningCalls();
  const requests = { server, calls, sample, sampledAt, onLog, onResourceUpdated };
  const client = new Client(
    { name: clientName, version: '0.1.0' },
    { capabilities: capabilitiesFor(requests) },
  );
  handleServerRequests(client, requests);
  const transport = transportOf(server, options);
  const stderr = stderrOf(transport, configuredIn);
  const explain = (error: unknown) =>
    explained(error, { server, stderr, configuredIn, oauth: options.oauth });
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
  client.setNotificationHandler(PromptListChangedNotificationSchema, () => options.onPromptsChanged?.());
  await prepare(client, server, signal);
  const asked = <Result>(work: Promise<Result>, until: AbortSignal): Promise<Result> =>
    untilAborted(work, until).catch(async (error: unknown) => {
      throw await explain(reasonOf(error, until));
    });
  return {
    hasResources: client.getServerCapabilities()?.resources !== undefined,
    listTools: (until) => asked(listTools(client, until), until),
    listPrompts: (until) => asked(listPrompts(client, until), until),
    prompt: (name, given, until) => asked(promptContent(client, name, given, until), until),
    listResources: (until) => asked(listResources(client, until), until),
    async readResource(uri, until) {
      const limits = { signal: until, timeout: NO_TIMEOUT };
      const { contents } = await asked(client.readResource({ uri }, limits), until);
      return resourceContent(contents);
    },
    async call(name, input, limits) {
      try {
        return await calls.run(limits, async (until, onprogress) => {
          const params = { name, arguments: input };
          const sent = { signal: until, timeout: NO_TIMEOUT, onprogress };
          const result = limits.needsTask
            ? await callAsTask(client, params, sent)
            : await client.request({ method: 'tools/call', params }, CallToolResultSchema, sent);
          const { text, files } = contentOf(result);
          return { text, failed: result.isError === true, ...(files.length > 0 && { files }) };
        });
      } catch (error) {
        if (limits.signal.aborted) throw error;
        throw await explain(error);
      }
    },
    answer: (key, answer, given) =>
      calls.answer(key, answer, given).catch(async (error: unknown) => {
        throw given.signal.aborted ? error : await explain(error);
      }),
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

/** Begins a task, asks how it goes until it is done, and gives its result. */
async function callAsTask(
  client: Client,
  params: { name: string; arguments: Record<string, unknown> },
  options: RequestOptions & { onprogress: (told?: { message?: string }) => void },
): Promise<CallToolResult> {
  const { tasks } = client.experimental;
  for await (const message of tasks.callToolStream(params, CallToolResultSchema, { ...options, task: {} })) {
    if (message.type === 'result') return message.result;
    if (message.type === 'error') throw message.error;
    const { statusMessage } = message.task;
    options.onprogress(statusMessage === undefined ? {} : { message: statusMessage });
  }
  throw new McpError(ErrorCode.InternalError, 'The task ended without a result');
}

/** Asks for warnings alone, and for changes of the resources that the operator names. Neither is needed to go on. */
async function prepare(client: Client, { subscribe = [] }: McpServerConfig, signal: AbortSignal) {
  const { logging, resources } = client.getServerCapabilities() ?? {};
  const limits = { signal, timeout: NO_TIMEOUT };
  const wishes = [
    ...(logging === undefined ? [] : [client.setLoggingLevel('warning', limits)]),
    ...(resources?.subscribe ? subscribe.map((uri) => client.subscribeResource({ uri }, limits)) : []),
  ];
  await Promise.allSettled(wishes.map((wish) => untilAborted(wish, signal)));
}

/** The SDK turns the reason of an abort into an error of its own. */
function reasonOf(error: unknown, signal: AbortSignal): unknown {
  if (!signal.aborted) return error;
  const isLimit = signal.reason instanceof DOMException && signal.reason.name === 'TimeoutError';
  if (!isLimit) return signal.reason;
  // As of a slow call: the server may be there. The class puts its code before the words.
  const message = 'The server did not answer in time';
  return Object.assign(new McpError(ErrorCode.RequestTimeout, message), { message });
}

/** The SDK reports only by a message that it gave up on the stream of a streamable HTTP server. */
function isStreamLost(error: Error): boolean {
  return error instanceof SseError || /^Maximum reconnection attempts/.test(error.message);
}

function transportOf(
  server: McpServerConfig,
  {
    sandbox,
    writable = [],
    platform = process.platform,
    oauth,
  }: Pick<SessionOptions, keyof ProgramOptions | 'oauth'>,
): Transport {
  const { name, command, args = [], env = {}, url, headers = {} } = server;
  const transport = server.transport ?? (command === undefined ? 'http' : 'stdio');
  if (transport === 'stdio' && command !== undefined) {
    if (sandbox !== undefined && platform !== 'win32')
      return new ProcessTransport({ name, command, args, env, sandbox, settings: server.sandbox, writable });
    const environment = { ...getDefaultEnvironment(), ...env };
    const program = { command, args: [...args], env: environment, stderr: 'pipe' as const };
    return new PlainTransport(program, async () => {
      await sandbox?.checkPlain({ command, isolate: server.sandbox !== 'off' });
    });
  }
  if (url === undefined) throw new Error(`the MCP server ${name} needs a command or a url.`);
  const send = createServerFetch(url);
  const options = {
    requestInit: { headers: { ...headers } },
    fetch: oauth?.isSignedIn ? oauth.authorised(send) : send,
  };
  if (transport === 'sse') return new SSEClientTransport(new URL(url), options) as Transport;
  return new StreamableHTTPClientTransport(new URL(url), options) as Transport;
}

/** Windows finds programs such as npx.cmd only by the SDK's way of starting them, which knows no sandbox. */
class PlainTransport extends StdioClientTransport {
  readonly #check: () => Promise<void>;

  constructor(program: ConstructorParameters<typeof StdioClientTransport>[0], check: () => Promise<void>) {
    super(program);
    this.#check = check;
  }

  override async start(): Promise<void> {
    await this.#check();
    await super.start();
  }
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

interface ExplainOptions extends Pick<SessionOptions, 'configuredIn' | 'oauth'> {
  server: McpServerConfig;
  stderr: () => string;
}

async function explained(error: unknown, options: ExplainOptions): Promise<McpServerError> {
  // The end of stderr arrives after the end of the process.
  await new Promise((resolve) => setImmediate(resolve));
  const { env = {}, headers = {}, oauth } = options.server;
  const values = [
    ...Object.values(env),
    ...Object.values(headers),
    ...(options.oauth?.secrets ?? []),
    ...(oauth?.clientSecret === undefined ? [] : [oauth.clientSecret]),
  ];
  const secrets = values.flatMap((value) => [value, value.split(' ').at(-1) ?? value]);
  const hide = (text: string) => String(redact(text, secrets));
  const stderr = hide(options.stderr());
  return Object.assign(
    new Error(hide(explanation(error, options)), { cause: error }),
    stderr !== '' && { stderr },
    needsSignIn(error, options) && { needsSignIn: true },
  );
}

/** A server that has a key under headers does not ask for a sign-in. */
function needsSignIn(error: unknown, { server, oauth }: ExplainOptions): boolean {
  if (oauth === undefined || hasKey(server)) return false;
  return (error instanceof StreamableHTTPError || error instanceof SseError) && error.code === 401;
}

function hasKey({ headers = {} }: McpServerConfig): boolean {
  return Object.keys(headers).some((name) => name.toLowerCase() === 'authorization');
}

function explanation(error: unknown, options: ExplainOptions): string {
  const { server, configuredIn } = options;
  const { command, url, transport = 'http' } = server;
  if (needsSignIn(error, options)) {
    const how = options.oauth?.canBegin
      ? 'sign in to it'
      : "add it to the agent under the same name and address and sign in on the agent's page Connections";
    return `The server wants a sign-in: ${how}, or set its key under headers in ${configuredIn}.`;
  }
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
