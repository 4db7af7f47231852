import { setTimeout as delay } from 'node:timers/promises';
import { isDeepStrictEqual } from 'node:util';
import { hasPlainNames } from '@trunkline/llm';
import { errorMessage, untilAborted, withTimeout } from '@trunkline/std';
import type { McpPrompt, McpResource } from './catalogue.ts';
import { connect, limitOf, type McpClientOptions, sessionOptions } from './connect.ts';
import type { McpContent } from './content.ts';
import type { SignIn } from './oauth.ts';
import type { CallOptions, CallOutcome } from './running-calls.ts';
import type { McpLogEntry } from './server-requests.ts';
import type { McpSession } from './session.ts';
import type { McpServerConfig, McpServerError, McpTool } from './types.ts';

const FIRST_RETRY_MS = 1000;
const MAX_RETRY_MS = 60_000;
/** For each of connecting and listing: programs may have to download themselves first. */
const CONNECT_MS = 30_000;
const CALL_MS = 60_000;
const MAX_CALL_MS = 10 * 60_000;
const PING_MS = 5000;
const SIGN_IN_MS = 30_000;
const LIST_MS = 20_000;
/** Listings because of a change within this time, before the next waits so long. */
const MOST_RELISTED = 10;
const RELIST_MS = 1000;
/** Before a call is made again that has not reached the server, or that may be repeated. */
const REPEAT_PAUSES_MS = [200, 800];
/** Lines of a server's log that are kept for the operator. */
const MAX_LOG = 50;

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
  #listedAt: number[] = [];
  #failures = 0;
  #logged: object | undefined;
  #timer: NodeJS.Timeout | undefined;
  #needsSignIn = false;
  #hasResources = false;
  #prompts: Promise<McpPrompt[]> | undefined;
  readonly #log: McpLogEntry[] = [];
  readonly #sampledAt: number[] = [];

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

  /** The server does not let us in before somebody has signed in. */
  get needsSignIn(): boolean {
    return this.#needsSignIn;
  }

  get hasResources(): boolean {
    return this.#hasResources;
  }

  /** The newest warnings and errors of the server's own log; for the operator alone. */
  get log(): readonly McpLogEntry[] {
    return this.#log;
  }

  get callTimeoutMs(): number {
    return this.server.timeoutMs ?? CALL_MS;
  }

  /** For a call that reports progress. */
  get maxCallMs(): number {
    return Math.max(this.callTimeoutMs, MAX_CALL_MS);
  }

  /** Resolves after the first attempt, whatever came of it; further ones follow by themselves. */
  async start(): Promise<void> {
    this.#isStarted = true;
    // `#lose` has recorded the failure and planned the next attempt.
    await this.#connect().catch(() => undefined);
  }

  /** Calls a tool; the outcome is a question where the server asks a person and `mayAsk` allows it. */
  async call(
    tool: string,
    input: Record<string, unknown>,
    options: Omit<CallOptions, 'timeoutMs' | 'maxMs'>,
  ): Promise<CallOutcome> {
    const limits = { ...options, timeoutMs: this.callTimeoutMs, maxMs: this.maxCallMs };
    const { readOnly = false, idempotent = false } = this.#tools.find(({ name }) => name === tool) ?? {};
    const work = (session: McpSession) => session.call(tool, input, limits);
    // What an untrusted server says of itself must not have a call made twice.
    return await this.#use(options.signal, work, this.server.trusted === true && (readOnly || idempotent));
  }

  /** Answers the question of a call; undefined if the call no longer waits. */
  async answer(...given: Parameters<McpSession['answer']>): Promise<CallOutcome | undefined> {
    return await this.#session?.answer(...given);
  }

  /** Listed once for a connection, and again when the server says that they changed; none while it is away. */
  async prompts(signal: AbortSignal): Promise<readonly McpPrompt[]> {
    if (this.#session === undefined) return [];
    this.#prompts ??= this.#listPrompts(this.#session);
    return await untilAborted(this.#prompts, signal);
  }

  /** A list that failed is asked for again. */
  #listPrompts(session: McpSession): Promise<McpPrompt[]> {
    const listed = session.listPrompts(limitOf(LIST_MS, this.#closing.signal)());
    listed.catch(() => {
      if (this.#prompts === listed) this.#prompts = undefined;
    });
    return listed;
  }

  async prompt(name: string, given: Record<string, string>, signal: AbortSignal): Promise<McpContent> {
    return await this.#use(signal, (session) => session.prompt(name, given, limitOf(LIST_MS, signal)()));
  }

  async resources(signal: AbortSignal): Promise<McpResource[]> {
    return await this.#use(signal, (session) => session.listResources(limitOf(LIST_MS, signal)()));
  }

  async readResource(uri: string, signal: AbortSignal): Promise<McpContent> {
    const limit = limitOf(this.callTimeoutMs, signal)();
    return await this.#use(signal, (session) => session.readResource(uri, limit));
  }

  /** Starts a sign-in. Undefined if it turned out that none is needed. */
  async beginSignIn(signal: AbortSignal): Promise<SignIn | undefined> {
    const signIn = await (await this.#oauth()).begin(limitOf(SIGN_IN_MS, signal)());
    if (signIn === undefined) await this.#reconnect();
    return signIn;
  }

  /** Ends a sign-in with the code that the browser brought, and connects. */
  async finishSignIn(code: string, signIn: SignIn, signal: AbortSignal): Promise<void> {
    await (await this.#oauth()).finish(code, signIn, limitOf(SIGN_IN_MS, signal)());
    await this.#reconnect();
  }

  /** Forgets the tokens and what we registered as. */
  async signOut(): Promise<void> {
    (await this.#oauth()).forget();
    await this.#reconnect();
  }

  async #oauth() {
    const { url, name } = this.server;
    const { oauth } = this.#options;
    if (oauth === undefined || url === undefined) throw new Error(`Nobody can sign in to ${name}.`);
    const { McpOAuth } = await import('./oauth.ts');
    return new McpOAuth({ ...this.server, url }, oauth);
  }

  async #reconnect(): Promise<void> {
    await Promise.allSettled([this.#connecting]);
    const session = this.#session;
    this.#session = undefined;
    this.#failures = 0;
    await session?.close();
    await this.start();
  }

  /** Work that may have reached the server before the connection broke is done again only if it is repeatable. */
  async #use<Result>(
    signal: AbortSignal,
    work: (session: McpSession) => Promise<Result>,
    isRepeatable = true,
  ): Promise<Result> {
    for (let attempt = 0; ; attempt += 1) {
      let session: McpSession | undefined;
      try {
        session = await this.#connected(signal);
        return await work(session);
      } catch (error) {
        if (signal.aborted) throw error;
        this.#closing.signal.throwIfAborted();
        const { failureOf, mayRepeat } = await import('./failures.ts');
        const failure = failureOf(error);
        if (failure === 'timed-out' && session !== undefined) void this.#check(session);
        else if (failure !== 'answered' && session !== undefined) await this.#drop(session, error);
        const pauseMs = REPEAT_PAUSES_MS[attempt];
        if (pauseMs === undefined || !mayRepeat(failure, session !== undefined, isRepeatable)) throw error;
        // The attempts of one call count once.
        this.#failures = Math.max(0, this.#failures - 1);
        const pause = delay(failure === 'forgotten' ? 0 : pauseMs, undefined, { ref: false });
        await untilAborted(pause, AbortSignal.any([signal, this.#closing.signal]));
      }
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
      const options = await sessionOptions(this.server, this.#options);
      let session: McpSession | undefined;
      let lost: Error | undefined;
      let isStale = false;
      const opened = await connect(this.server, limitOf(CONNECT_MS, closing), {
        ...options,
        sampledAt: this.#sampledAt,
        onLost: (reason) => {
          lost = reason;
          if (session !== undefined && this.#session === session) this.#lose(reason);
        },
        onToolsChanged: () => {
          isStale = true;
          if (session !== undefined) void this.#refresh(session);
        },
        onPromptsChanged: () => {
          this.#prompts = undefined;
        },
        onLog: (entry) => {
          this.#log.push(entry);
          this.#log.splice(0, this.#log.length - MAX_LOG);
        },
        onResourceUpdated: (uri) => this.#options.onResourceUpdated?.(this.server, uri),
      });
      if (lost !== undefined) throw lost;
      session = opened.session;
      this.#session = session;
      this.#error = undefined;
      this.#stderr = undefined;
      this.#failures = 0;
      this.#logged = undefined;
      this.#needsSignIn = false;
      this.#hasResources = session.hasResources;
      this.#prompts = undefined;
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
        const options = { timeoutMs: CONNECT_MS, signal: this.#closing.signal };
        // The SDK's listener stays at the signal, and keeps the list as long as that lives.
        const tools = await withTimeout(options, (signal) => session.listTools(signal));
        if (this.#session === session) this.#accept(tools);
        await this.#restAfterListing();
      }
    } catch (error) {
      await this.#drop(session, error);
    } finally {
      this.#isRefreshing = false;
    }
    // The connection was made anew meanwhile, and its tools changed too.
    if (this.#isStale && this.#session !== undefined && this.#session !== session)
      await this.#refresh(this.#session);
  }

  /** A server that changes its tools without end is listed once a second, after a few times at once. */
  async #restAfterListing(): Promise<void> {
    const now = Date.now();
    this.#listedAt = [...this.#listedAt, now].filter((time) => now - time < RELIST_MS).slice(-MOST_RELISTED);
    if (this.#listedAt.length < MOST_RELISTED) return;
    await untilAborted(delay(RELIST_MS, undefined, { ref: false }), this.#closing.signal);
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
    const { stderr, needsSignIn = false } = error as McpServerError;
    this.#error = errorMessage(error);
    this.#stderr = stderr;
    this.#needsSignIn = needsSignIn;
    const failure = {
      server: this.server.name,
      reason: this.#error,
      ...(stderr !== undefined && { stderr }),
    };
    if (!isDeepStrictEqual(failure, this.#logged))
      this.#options.logger.warn(failure, 'failed to reach MCP server; retrying');
    this.#logged = failure;
    // Also where a person has to sign in: another service may store new tokens meanwhile.
    const delay = Math.min(FIRST_RETRY_MS * 2 ** this.#failures++, MAX_RETRY_MS);
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => void this.start(), delay).unref();
  }
}
