import { isDeepStrictEqual } from 'node:util';
import type { RunningTool } from '@trunkline/llm';
import type { McpClientOptions } from './connect.ts';
import { McpClient } from './mcp-client.ts';
import type { SignIn } from './oauth.ts';
import { type ToolClient, toTools } from './tools.ts';
import type { McpServerConfig } from './types.ts';

export interface McpClientsOptions<Server extends McpServerConfig> extends McpClientOptions<Server> {
  /** Called with a client whose tools changed, and without one when clients were added or removed. */
  onChange?: (client?: McpClient<Server>) => void;
}

export interface McpServerState {
  name: string;
  /** `sign-in`: it lets us in once somebody has signed in. */
  state: 'connected' | 'failed' | 'sign-in';
  /** As agents call them. */
  tools: string[];
  /** Why it failed. */
  reason?: string;
  /** For the operator alone, see `McpClient`. */
  stderr?: string;
  log?: string[];
}

const MAX_SIGN_INS = 20;
/** A person has this long at the page of the server. */
const SIGN_IN_MS = 10 * 60_000;

interface PendingSignIn extends SignIn {
  server: string;
  expiresAt: number;
}

/** The clients of all configured servers. */
export class McpClients<Server extends McpServerConfig = McpServerConfig> {
  readonly #options: McpClientsOptions<Server>;
  readonly #clients = new Map<string, McpClient<Server>>();
  readonly #signIns = new Map<string, PendingSignIn>();
  #queue: Promise<void> = Promise.resolve();
  #isClosed = false;

  constructor(options: McpClientsOptions<Server>) {
    this.#options = options;
  }

  get(name: string): McpClient<Server> | undefined {
    return this.#clients.get(name);
  }

  [Symbol.iterator](): Iterator<McpClient<Server>> {
    return this.#clients.values();
  }

  get tools(): RunningTool[] {
    return [...this].flatMap(toTools);
  }

  get states(): McpServerState[] {
    return [...this].map(stateOf);
  }

  /** Adds servers with their stored tools; `configure` connects to them. */
  add(servers: readonly Server[]): void {
    const { onChange } = this.#options;
    for (const server of servers) {
      if (this.#clients.has(server.name)) continue;
      this.#clients.set(server.name, new McpClient(server, this.#options, onChange));
    }
    onChange?.();
  }

  /**
   * Replaces the servers, and resolves when each new one has been tried. Those whose settings are the same keep their
   * connection, and with it the calls under way.
   */
  configure(servers: readonly Server[]): Promise<void> {
    this.#queue = this.#queue.then(() => this.#reconcile(servers));
    return this.#queue;
  }

  /** The address at which a browser signs in to the server; undefined if it turned out that nobody has to. */
  async beginSignIn(name: string, signal: AbortSignal): Promise<string | undefined> {
    const signIn = await this.#clients.get(name)?.beginSignIn(signal);
    if (signIn === undefined) return undefined;
    for (const [state, { expiresAt }] of this.#signIns)
      if (expiresAt < Date.now() || this.#signIns.size >= MAX_SIGN_INS) this.#signIns.delete(state);
    this.#signIns.set(signIn.state, { ...signIn, server: name, expiresAt: Date.now() + SIGN_IN_MS });
    return signIn.url;
  }

  /** Ends the sign-in that the browser comes back from, and gives the server's name; undefined if none has this state. */
  async finishSignIn(state: string, code: string, signal: AbortSignal): Promise<string | undefined> {
    const signIn = this.#signIns.get(state);
    this.#signIns.delete(state);
    if (signIn === undefined || signIn.expiresAt < Date.now()) return undefined;
    const client = this.#clients.get(signIn.server);
    await client?.finishSignIn(code, signIn, signal);
    return client?.server.name;
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    await Promise.all([...this].map((client) => client.close()));
    await this.#queue;
  }

  async #reconcile(servers: readonly Server[]): Promise<void> {
    if (this.#isClosed) return;
    const wanted = new Map(servers.map((server) => [server.name, server]));
    if (wanted.size < servers.length)
      this.#options.logger.warn(
        { names: servers.map(({ name }) => name) },
        'MCP servers share a name; the last is used',
      );
    const gone = [...this].filter(({ server }) => !isDeepStrictEqual(server, wanted.get(server.name)));
    for (const { server } of gone) this.#clients.delete(server.name);
    await Promise.all(gone.map((client) => client.close()));
    this.add([...wanted.values()]);
    await Promise.all([...this].filter(({ isStarted }) => !isStarted).map((client) => client.start()));
  }
}

type StatedClient = ToolClient & Pick<McpClient, 'error' | 'stderr' | 'needsSignIn' | 'log'>;

function stateOf(client: StatedClient): McpServerState {
  const { server, error, stderr, needsSignIn } = client;
  const { name } = server;
  if (error !== undefined)
    return {
      name,
      state: needsSignIn ? 'sign-in' : 'failed',
      tools: [],
      reason: error,
      ...(stderr !== undefined && { stderr }),
    };
  const tools = toTools(client).map((tool) => tool.name);
  const log = client.log.map(({ level, text }) => `${level}: ${text}`);
  return { name, state: 'connected', tools, ...(log.length > 0 && { log }) };
}
