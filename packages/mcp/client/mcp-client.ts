import { isDeepStrictEqual } from 'node:util';
import { hasPlainNames } from '@trunkline/llm';
import { errorMessage, untilAborted } from '@trunkline/std';
import type {
  McpCallResult,
  McpServerConfig,
  McpServerError,
  McpSession,
  McpTool,
  ProgramOptions,
  SessionOptions,
} from './session.ts';

export interface McpClientOptions<Server extends McpServerConfig = McpServerConfig> extends ProgramOptions {
  /** How we introduce ourselves to servers. */
  clientName: string;
  logger: { warn(fields: object, message: string): void };
  /** The file or section that configures the server; error texts name it. */
  configuredIn?: (server: Server) => string;
  /** Leaves out tools that the configuration does not let through. */
  isOffered?: (server: Server, tool: string) => boolean;
  /** Tools that the server had before a restart, until it has answered. */
  storedTools?: (server: Server) => readonly McpTool[];
}

const FIRST_RETRY_MS = 1000;
const MAX_RETRY_MS = 60_000;
/** For each of connecting and listing: programs may have to download themselves first. */
const CONNECT_MS = 30_000;
const CALL_MS = 60_000;
const PING_MS = 5000;
const PROBE_MS = 20_000;

/**
 * The client of one server. It reconnects when the server is down or goes away: at once when a tool is called, else
 * after a delay that doubles. Tools stay listed while the server is away.
 */
export class McpClient<Server extends McpServerConfig = McpServerConfig> {
  readonly server: Server;
  readonly #options: McpClientOptions<Server>;
  readonly #onTools: (client: McpClient<Server>) => void;
  readonly #closing = new AbortController();
  #tools: readonly McpTool[];
  #isConfirmed = false;
  #isStarted = false;
  #error: string | undefined = 'it has not answered yet';
  #stderr: string | undefined;
  #session: McpSession | undefined;
  #connecting: Promise<McpSession> | undefined;
  #isRefreshing = false;
  #isStale = false;
  #failures = 0;
  #logged: object | undefined;
  #timer: NodeJS.Timeout | undefined;

  /** Calls `onTools` when the server answers first, and when its tools change. */
  constructor(
    server: Server,
    options: McpClientOptions<Server>,
    onTools: (client: McpClient<Server>) => void = () => undefined,
  ) {
    this.server = server;
    this.#options = options;
    this.#onTools = onTools;
    this.#tools = this.#offered(options.storedTools?.(server) ?? []);
  }

  get tools(): readonly McpTool[] {
    return this.#tools;
  }

  /** Whether the tools come from the server itself, not from the store. */
  get isConfirmed(): boolean {
    return this.#isConfirmed;
  }

  get isStarted(): boolean {
    return this.#isStarted;
  }

  /** Why the server cannot be used now. */
  get error(): string | undefined {
    return this.#error;
  }

  /** The end of what its program wrote to stderr before it died; for the operator alone. */
  get stderr(): string | undefined {
    return this.#stderr;
  }

  get callTimeoutMs(): number {
    return this.server.timeoutMs ?? CALL_MS;
  }

  /** Resolves after the first attempt, whatever came of it; further ones follow by themselves. */
  async start(): Promise<void> {
    this.#isStarted = true;
    // `#lose` has recorded the failure and planned the next attempt.
    await this.#connect().catch(() => undefined);
  }

  async call(tool: string, input: Record<string, unknown>, signal: AbortSignal): Promise<McpCallResult> {
    const limits = { signal, timeout: this.callTimeoutMs };
    const session = await this.#connected(signal);
    try {
      return await session.call(tool, input, limits);
    } catch (error) {
      if (signal.aborted) throw error;
      this.#closing.signal.throwIfAborted();
      const { failureOf } = await import('./session.ts');
      const failure = failureOf(error);
      if (failure === 'lost' || failure === 'forgotten') await this.#drop(session, error);
      if (failure === 'timed-out') void this.#check(session);
      if (failure !== 'forgotten') throw error;
      return await (await this.#connected(signal)).call(tool, input, limits);
    }
  }

  async close(): Promise<void> {
    this.#closing.abort(new Error(`the connection to the MCP server ${this.server.name} is closed.`));
    clearTimeout(this.#timer);
    await Promise.allSettled([this.#connecting]);
    await this.#session?.close();
  }

  async #connected(signal: AbortSignal): Promise<McpSession> {
    this.#closing.signal.throwIfAborted();
    return this.#session ?? (await untilAborted(this.#connect(), signal));
  }

  #connect(): Promise<McpSession> {
    clearTimeout(this.#timer);
    this.#connecting ??= this.#open().finally(() => {
      this.#connecting = undefined;
    });
    return this.#connecting;
  }

  async #open(): Promise<McpSession> {
    const closing = this.#closing.signal;
    try {
      closing.throwIfAborted();
      const options = sessionOptions(this.server, this.#options);
      let session: McpSession | undefined;
      let lost: Error | undefined;
      let isStale = false;
      const opened = await openListed(this.server, limitOf(CONNECT_MS, closing), {
        ...options,
        onLost: (reason) => {
          lost = reason;
          if (session !== undefined && this.#session === session) this.#lose(reason);
        },
        onToolsChanged: () => {
          isStale = true;
          if (session !== undefined) void this.#refresh(session);
        },
      });
      if (lost !== undefined) throw lost;
      session = opened.session;
      this.#session = session;
      this.#error = undefined;
      this.#stderr = undefined;
      this.#failures = 0;
      this.#logged = undefined;
      this.#accept(opened.tools);
      if (isStale) void this.#refresh(session);
      return session;
    } catch (error) {
      this.#lose(error);
      throw error;
    }
  }

  /** Lists again; a change during the listing is followed by one more. */
  async #refresh(session: McpSession): Promise<void> {
    this.#isStale = true;
    if (this.#isRefreshing) return;
    this.#isRefreshing = true;
    try {
      while (this.#isStale && this.#session === session) {
        this.#isStale = false;
        const tools = await session.listTools(limitOf(CONNECT_MS, this.#closing.signal)());
        if (this.#session === session) this.#accept(tools);
      }
    } catch (error) {
      await this.#drop(session, error);
    } finally {
      this.#isRefreshing = false;
    }
  }

  /** A call may take too long because the tool is slow or because the server is gone. */
  async #check(session: McpSession): Promise<void> {
    await session.ping(PING_MS).catch((error: unknown) => this.#drop(session, error));
  }

  #accept(listed: readonly McpTool[]): void {
    const tools = this.#offered(listed);
    const isNew = !this.#isConfirmed || !isDeepStrictEqual(tools, this.#tools);
    this.#tools = tools;
    this.#isConfirmed = true;
    if (!isNew) return;
    const odd = listed.filter((tool) => !this.#isPlain(tool)).map(({ name }) => name);
    if (odd.length > 0)
      this.#options.logger.warn(
        { server: this.server.name, tools: odd, advice: 'mark the server as trusted to offer them' },
        'left out MCP tools with odd names of parameters',
      );
    this.#onTools(this);
  }

  #offered(tools: readonly McpTool[]): readonly McpTool[] {
    const { isOffered = () => true } = this.#options;
    return tools.filter((tool) => isOffered(this.server, tool.name) && this.#isPlain(tool));
  }

  /** Names of parameters reach the model as they are, so those of a server without trust must hold no sentence. */
  #isPlain({ inputSchema }: McpTool): boolean {
    return this.server.trusted === true || hasPlainNames(inputSchema);
  }

  async #drop(session: McpSession, error: unknown): Promise<void> {
    if (this.#session !== session) return;
    this.#lose(error);
    await session.close();
  }

  #lose(error: unknown): void {
    this.#session = undefined;
    if (this.#closing.signal.aborted) return;
    const { stderr } = error as McpServerError;
    this.#error = errorMessage(error);
    this.#stderr = stderr;
    const failure = {
      server: this.server.name,
      reason: this.#error,
      ...(stderr !== undefined && { stderr }),
    };
    if (!isDeepStrictEqual(failure, this.#logged))
      this.#options.logger.warn(failure, 'failed to reach MCP server; retrying');
    this.#logged = failure;
    const delay = Math.min(FIRST_RETRY_MS * 2 ** this.#failures++, MAX_RETRY_MS);
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => void this.start(), delay).unref();
  }
}

/** Connects once, lists the tools and leaves; rejects with the reason for the operator. */
export async function probeMcpServer<Server extends McpServerConfig>(
  server: Server,
  options: Pick<McpClientOptions<Server>, SharedOptions | 'isOffered'>,
): Promise<McpTool[]> {
  const { session, tools } = await openListed(server, limitOf(PROBE_MS), sessionOptions(server, options));
  await session.close();
  return tools.filter(({ name }) => options.isOffered?.(server, name) ?? true);
}

type SharedOptions = 'clientName' | 'configuredIn' | keyof ProgramOptions;

function sessionOptions<Server extends McpServerConfig>(
  server: Server,
  { clientName, configuredIn, sandbox, writable }: Pick<McpClientOptions<Server>, SharedOptions>,
): Pick<SessionOptions, SharedOptions> {
  return {
    clientName,
    configuredIn: configuredIn?.(server) ?? `the configuration of ${server.name}`,
    sandbox,
    writable,
  };
}

/** Gives connecting and listing the whole limit each. */
async function openListed(
  server: McpServerConfig,
  limit: () => AbortSignal,
  options: Omit<SessionOptions, 'signal'>,
): Promise<{ session: McpSession; tools: McpTool[] }> {
  const { openSession } = await import('./session.ts');
  const session = await openSession(server, { ...options, signal: limit() });
  try {
    return { session, tools: await session.listTools(limit()) };
  } catch (error) {
    await session.close();
    throw error;
  }
}

function limitOf(timeoutMs: number, closing?: AbortSignal): () => AbortSignal {
  return () => AbortSignal.any([AbortSignal.timeout(timeoutMs), ...(closing ? [closing] : [])]);
}
